/* SPDX-License-Identifier: Apache-2.0
 * Reads the system's monotonic clock, because somebody may set the time of day. */
#define _POSIX_C_SOURCE 200809L
#include "clock.h"

#include <time.h>

double pml_clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Apple's conditions, and those of POSIX threads on Windows, take no clock, but can wait for a duration. */
#if defined(__APPLE__) || defined(_WIN32)

void pml_clock_condition(pthread_cond_t *condition)
{
    pthread_cond_init(condition, NULL);
}

bool pml_clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, double seconds)
{
    const struct timespec duration = {.tv_sec = (time_t)seconds,
                                      .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    return pthread_cond_timedwait_relative_np(condition, lock, &duration) != 0;
}

#else

void pml_clock_condition(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

bool pml_clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, double seconds)
{
    const double end = pml_clock_now() + seconds;
    const struct timespec until = {.tv_sec = (time_t)end, .tv_nsec = (long)(1e9 * (end - (double)(time_t)end))};
    return pthread_cond_timedwait(condition, lock, &until) != 0;
}

#endif
