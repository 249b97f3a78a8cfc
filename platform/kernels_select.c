/* SPDX-License-Identifier: Apache-2.0
 * Chooses among the kernels of the one list (core/kernels.h) by what the CPU can do. No state: asked anew each time. */
#include "privatemail_platform.h"

#include "../core/kernels.h"

const struct pml_kernels *pml_platform_kernels(void)
{
    return &pml_kernels_portable;
}
