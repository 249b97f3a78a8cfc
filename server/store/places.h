/* SPDX-License-Identifier: Apache-2.0
 * The places of a gallery's items in memory, slot by slot, and the nearest of them (SPEC 6.5). */
#ifndef PML_PLACES_H
#define PML_PLACES_H

#include "common/message.h"

#include <privatemail.h>

/* A zeroed struct is empty and may be freed. Filled by pml_places_allocate, `count` times pml_places_put, pml_places_group; constant from then on. */
struct pml_places {
    size_t count, put;
    unsigned dimensions;              /* k */
    size_t starts[PML_SLOTS_MAX + 1]; /* items of slot s are those from starts[s] up to starts[s+1] − 1 */
    uint64_t *items;                  /* within a slot ascending */
    float *values;                    /* k per item */
    struct pml_kdtree **trees;        /* of each slot; NULL where there are few */
    uint16_t *slots;                  /* of the items as they were put; gone once they are grouped */
};

/* Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_places_allocate(struct pml_places *places, size_t count, unsigned dimensions);

/* Items come in ascending order; slot < PML_SLOTS_MAX. */
void pml_places_put(struct pml_places *places, uint64_t item, uint32_t slot, const float *place);

/* Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_places_group(struct pml_places *places);
void pml_places_free(struct pml_places *places);

/* Squared; the terms are added in the order of the coordinates. */
double pml_places_distance(const float *left, const double *right, unsigned dimensions);

struct pml_near {
    double distance; /* squared */
    uint64_t item;
    size_t row; /* of the caller */
};

/* For qsort: nearest first, ties by smaller item. */
int pml_near_order(const void *left, const void *right);

/* The `wanted` items of the slot that are nearest to the place, in this order; all of them when there are fewer. The
 * caller frees `near`, also after PML_NO_MEMORY. */
pml_outcome pml_places_nearest(const struct pml_places *places, uint32_t slot, const double *place, size_t wanted,
                               struct pml_near **near, size_t *count);

#endif
