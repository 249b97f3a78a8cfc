/* SPDX-License-Identifier: Apache-2.0
 * Which kernels to measure. */
#ifndef BENCH_KERNEL_CHOICE_H
#define BENCH_KERNEL_CHOICE_H

#include "base/kernels.h"

/* The sets of the one list that this CPU runs, the slowest first. Returns how many. */
size_t kernel_choices(const struct pml_kernels *choices[PML_KERNEL_COUNT]);

/* The one of this name; NULL stands for the best. NULL when there is none of it here. */
const struct pml_kernels *kernel_named(const char *name);

/* From now on the dispatch takes none above this one, for code that does not let its caller choose: the pack builder, which
 * asks once. */
void kernel_limit(const struct pml_kernels *highest);

#endif
