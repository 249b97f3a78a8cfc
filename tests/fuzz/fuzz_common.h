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

/* The shortest head of a CBOR item, below 2^32. */
static inline uint8_t *put_head(uint8_t *at, unsigned major, uint32_t value)
{
    const unsigned extra = value < 24 ? 0 : value < 256 ? 1 : value < 65536 ? 2 : 4;
    *at++ = (uint8_t)(major << 5 | (extra == 0 ? value : extra == 1 ? 24 : extra == 2 ? 25 : 26));
    for (unsigned i = 0; i < extra; i++)
        *at++ = (uint8_t)(value >> 8 * (extra - 1 - i));
    return at;
}

/* SPEC 3: the header of an answer of version 2. */
static inline uint8_t *put_answer_header(uint8_t *at, const uint8_t *id, uint32_t slots, uint32_t sketch)
{
    at = put_head(put_head(put_head(at, 4, 5), 0, 2), 2, PML_ID_SIZE);
    memcpy(at, id, PML_ID_SIZE);
    return put_head(put_head(put_head(at + PML_ID_SIZE, 0, slots), 0, sketch), 0, 1);
}

/* SPEC 3.2: a list up to the bytes of its candidates; class −1 − `below`. */
static inline uint8_t *put_list_head(uint8_t *at, uint32_t slot, uint32_t count, uint32_t form, uint32_t below,
                                     uint32_t size)
{
    at = put_head(put_head(put_head(put_head(at, 4, 5), 0, slot), 0, count), 0, form);
    return put_head(put_head(at, 1, below), 2, size);
}

enum { ANSWER_HEADER_MAX = 40, LIST_HEAD_MAX = 32 };

#endif
