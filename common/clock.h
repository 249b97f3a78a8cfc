/* SPDX-License-Identifier: Apache-2.0
 * Time that never jumps, and waiting by it. */
#ifndef PML_CLOCK_H
#define PML_CLOCK_H

#include <pthread.h>
#include <stdbool.h>

double pml_clock_now(void); /* seconds */

/* Initialises a condition for pml_clock_wait. */
void pml_clock_condition(pthread_cond_t *condition);

/* Waits for the condition, at most `seconds`. Returns true when the time is over. */
bool pml_clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, double seconds);

#endif
