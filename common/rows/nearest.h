/* SPDX-License-Identifier: Apache-2.0
 * The first-ranked of many rows (SPEC 5.3): larger score first, ties by smaller index. */
#ifndef PML_NEAREST_H
#define PML_NEAREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list of `length` entries, best first. It does not depend on the order in which rows are offered. */
struct pml_nearest {
    int64_t *scores;
    uint32_t *indices;
    unsigned length;
};

void pml_nearest_clear(const struct pml_nearest *nearest);

/* What pml_nearest_offer does with a row that may belong into the list. */
void pml_nearest_insert(const struct pml_nearest *nearest, int64_t score, uint32_t index);

/* Returns whether the row may have entered the list. Most rows do not, and that is decided here without a call. */
static inline bool pml_nearest_offer(const struct pml_nearest *nearest, int64_t score, uint32_t index)
{
    const bool reaches = score >= nearest->scores[nearest->length - 1];
    if (reaches)
        pml_nearest_insert(nearest, score, index);
    return reaches;
}

/* The same list for real scores. It has room for `length` ≥ 1 entries and holds `held`, 0 at first. */
struct pml_best {
    double *scores;
    uint32_t *indices;
    unsigned length, held;
};

void pml_best_offer(struct pml_best *best, double score, uint32_t index);

/* The most frequent label of rows nearest[0 … count−1], of equally frequent ones that of the first. count ≥ 1. */
int32_t pml_nearest_majority(const int32_t *labels, const uint32_t *nearest, size_t count);

#endif
