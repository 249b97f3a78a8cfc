/* SPDX-License-Identifier: Apache-2.0
 * When a signal ends the process, half-written files, locks and the progress bar are removed first. A limit on the size of
 * files does not end the process; it is an error like a full disk. */
#define _XOPEN_SOURCE 700
#include "command.h"

#include "common/leftovers.h"

#include <signal.h>
#include <string.h>

static void tidy_up(int number)
{
    pml_leftovers_remove();
    progress_interrupted();
    raise(number); /* has its usual effect as soon as this returns: SA_RESETHAND */
}

void interrupts_watch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = tidy_up;
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    signal(SIGXFSZ, SIG_IGN);
}
