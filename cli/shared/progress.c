/* SPDX-License-Identifier: Apache-2.0
 * A progress bar on stderr, if that is a terminal. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The percentage that is shown, so that a line is written only when it changes; −1: none. */
static volatile sig_atomic_t shown = -1;

void progress_show(void *context, const char *stage, double done)
{
    static char last_stage[32];
    char name[32];
    int percent = done >= 1.0 ? 100 : done > 0.0 ? (int)(done * 100.0) : 0;
    (void)context;
    if (!isatty(STDERR_FILENO))
        return;
    snprintf(name, sizeof name, "%s", stage ? stage : "");
    bool same_stage = strcmp(name, last_stage) == 0;
    if (same_stage && percent == shown)
        return;
    snprintf(last_stage, sizeof last_stage, "%s", name);
    shown = percent;
    fprintf(stderr, "\r%-30s [%-20.*s] %3d %%", name, percent / 5, "####################", percent);
    fflush(stderr);
}

void progress_end(void)
{
    if (shown < 0)
        return;
    shown = -1;
    fprintf(stderr, "\r%60s\r", "");
    fflush(stderr);
}

void progress_interrupted(void)
{
    static const char blank[] = "\r                                                            \r";
    if (shown >= 0)
        (void)!write(STDERR_FILENO, blank, sizeof blank - 1);
}
