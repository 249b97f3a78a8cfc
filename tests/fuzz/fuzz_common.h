/* SPDX-License-Identifier: Apache-2.0
 * What the fuzz targets share. */
#ifndef FUZZ_COMMON_H
#define FUZZ_COMMON_H

#include "base/base.h"
#include "golden/vectors.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that must hold for every input. */
static inline void demand(bool holds)
{
    if (!holds)
        abort();
}

/* A copy that ends where its allocation ends, so that a read beyond it is seen. Free with free(). */
static inline uint8_t *exact_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    demand(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

static inline int fuzz_entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(37 * i + 11);
    return 0;
}

static inline int fuzz_persist(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes;
    return size == PML_BUDGET_SIZE ? 0 : -1;
}

static inline bool all_zero(const void *bytes, size_t size)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < size; i++)
        if (p[i] != 0)
            return false;
    return true;
}

#endif
