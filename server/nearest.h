/* SPDX-License-Identifier: Apache-2.0
 * The first-ranked of many rows (SPEC 5.3): larger score first, ties by smaller index. */
#ifndef PML_NEAREST_H
#define PML_NEAREST_H

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

/* Most rows do not belong into the list: that is decided here, without a call. */
static inline void pml_nearest_offer(const struct pml_nearest *nearest, int64_t score, uint32_t index)
{
    if (score >= nearest->scores[nearest->length - 1])
        pml_nearest_insert(nearest, score, index);
}

#endif
