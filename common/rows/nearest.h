/* SPDX-License-Identifier: Apache-2.0
 * The first-ranked of many rows (SPEC 5.3): larger score first, ties by smaller index. */
#ifndef PML_NEAREST_H
#define PML_NEAREST_H

#include <stdbool.h>
#include <stdint.h>

/* A list of `length` places, best first. It does not matter in which order rows are offered. */
struct pml_nearest {
    int64_t *scores;
    uint32_t *indices;
    unsigned length;
};

void pml_nearest_clear(const struct pml_nearest *nearest);

/* What pml_nearest_offer does with a row that belongs into the list. */
void pml_nearest_insert(const struct pml_nearest *nearest, int64_t score, uint32_t index);

/* Whether the row may have come into the list. Most do not: that is decided here, without a call. */
static inline bool pml_nearest_offer(const struct pml_nearest *nearest, int64_t score, uint32_t index)
{
    const bool reaches = score >= nearest->scores[nearest->length - 1];
    if (reaches)
        pml_nearest_insert(nearest, score, index);
    return reaches;
}

#endif
