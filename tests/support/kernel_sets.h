/* SPDX-License-Identifier: Apache-2.0
 * The kernel sets that this CPU runs, found as the dispatch finds them; and what a dot product is. */
#ifndef TEST_KERNEL_SETS_H
#define TEST_KERNEL_SETS_H

#include "base/kernels.h"
#include "privacy/draws.h"

struct kernel_sets {
    const struct pml_kernels *of[PML_KERNEL_COUNT];
    size_t count;
};

static inline struct kernel_sets kernel_sets_of_cpu(void)
{
    struct kernel_sets sets = {.count = 0};
    for (size_t among = 1; among <= PML_KERNEL_COUNT; among++) {
        const struct pml_kernels *best = pml_kernels_among(among);
        if (sets.count == 0 || sets.of[sets.count - 1] != best)
            sets.of[sets.count++] = best;
    }
    return sets;
}

static inline int64_t plain_dot(const int8_t *a, const int8_t *b, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (int64_t)a[i] * b[i];
    return sum;
}

#endif
