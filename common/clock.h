/* SPDX-License-Identifier: Apache-2.0
 * Time that never jumps, and waiting by it. */
#ifndef PML_CLOCK_H
#define PML_CLOCK_H

#include <pthread.h>

double pml_clock_now(void); /* seconds */

/* A condition for pml_clock_wait. */
void pml_clock_condition(pthread_cond_t *condition);

/* Waits for the condition, `seconds` at the most; 0, or not when the time is over. */
int pml_clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, double seconds);

#endif
