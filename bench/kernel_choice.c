/* SPDX-License-Identifier: Apache-2.0
 * Finds kernels by name, among those that this CPU can run. */
#include "kernel_choice.h"

#include <string.h>

/* The linker gives calls of the dispatch to the second and the dispatch itself the first name (--wrap). */
const struct pml_kernels *__real_pml_kernels_among(size_t count);
const struct pml_kernels *__wrap_pml_kernels_among(size_t count);

static size_t limit = PML_KERNEL_COUNT;

const struct pml_kernels *__wrap_pml_kernels_among(size_t count)
{
    return __real_pml_kernels_among(count < limit ? count : limit);
}

size_t kernel_choices(const struct pml_kernels *choices[PML_KERNEL_COUNT])
{
    size_t count = 0;
    for (size_t among = 1; among <= PML_KERNEL_COUNT; among++) {
        const struct pml_kernels *best = __real_pml_kernels_among(among);
        if (count == 0 || choices[count - 1] != best)
            choices[count++] = best;
    }
    return count;
}

const struct pml_kernels *kernel_named(const char *name)
{
    const struct pml_kernels *choices[PML_KERNEL_COUNT];
    const size_t count = kernel_choices(choices);
    for (size_t i = 0; name && i < count; i++)
        if (strcmp(choices[i]->name, name) == 0)
            return choices[i];
    return name ? NULL : choices[count - 1];
}

void kernel_limit(const struct pml_kernels *highest)
{
    for (limit = 1; limit < PML_KERNEL_COUNT && __real_pml_kernels_among(limit) != highest;)
        limit++;
}
