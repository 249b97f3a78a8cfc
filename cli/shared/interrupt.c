/* SPDX-License-Identifier: Apache-2.0
 * When an interrupt ends the process, half-written files, locks and the progress bar are removed first. */
#include "command.h"

#include "common/leftovers.h"
#include "common/system.h"

static void tidy_up(void)
{
    pml_leftovers_remove();
    progress_interrupted();
}

void interrupts_watch(void)
{
    pml_system_on_interrupt(tidy_up);
}
