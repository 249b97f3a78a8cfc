/* SPDX-License-Identifier: Apache-2.0
 * A progress bar on stderr, if that is a terminal. */
#include "command.h"

#include "common/system.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The percentage that is shown, so that a line is written only when it changes; −1: none. */
static volatile sig_atomic_t shown = -1;

void progress_show(void *context, const char *stage, double done)
{
    static char last_stage[32];
    char name[32];
    int percent = done >= 1.0 ? 100 : done > 0.0 ? (int)(done * 100.0) : 0;
    (void)context;
    if (!pml_system_is_terminal(PML_ERRORS))
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
        pml_system_print(PML_ERRORS, blank);
}
