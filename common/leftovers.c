/* SPDX-License-Identifier: Apache-2.0
 * Deletes temporary files when a signal ends the process. It allocates nothing where it runs in a signal handler. */
#include "leftovers.h"
#include "system.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

enum { NAME_MAX_SIZE = 4096 }; /* longer paths cannot be opened */

static char names[PML_LEFTOVERS][NAME_MAX_SIZE];
static volatile sig_atomic_t there[PML_LEFTOVERS];

void pml_leftover_set(enum pml_leftover which, const char *path)
{
    there[which] = 0;
    if (!path || strlen(path) >= NAME_MAX_SIZE)
        return;
    atomic_signal_fence(memory_order_seq_cst);
    strcpy(names[which], path);
    atomic_signal_fence(memory_order_seq_cst);
    there[which] = 1;
}

void pml_leftovers_remove(void)
{
    for (int i = 0; i < PML_LEFTOVERS; i++) {
        if (there[i])
            (void)pml_system_remove(PML_HERE, names[i]);
    }
}
