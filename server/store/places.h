/* SPDX-License-Identifier: Apache-2.0
 * The places of a gallery's items in memory, slot by slot, and the nearest of them (SPEC 6.5). */
#ifndef PML_PLACES_H
#define PML_PLACES_H

#include <privatemail.h>

/* Zero is empty. Filled by pml_places_allocate, `count` times pml_places_put, pml_places_group; constant from then on. */
struct pml_places {
    size_t count, put;
    unsigned dimensions;              /* k */
    size_t starts[PML_SLOTS_MAX + 1]; /* items of slot s are those from starts[s] up to starts[s+1] − 1 */
    uint64_t *items;                  /* within a slot ascending */
    float *values;                    /* k an item */
    struct pml_kdtree **trees;        /* of each slot; NULL where there are few */
    uint16_t *slots;                  /* of the items as they were put; gone once they are grouped */
};

/* −1 without memory. */
int pml_places_allocate(struct pml_places *places, size_t count, unsigned dimensions);

/* Items come in ascending order; slot < PML_SLOTS_MAX. */
void pml_places_put(struct pml_places *places, uint64_t item, uint32_t slot, const float *place);

/* −1 without memory. */
int pml_places_group(struct pml_places *places);
void pml_places_free(struct pml_places *places);

/* Squared; the terms are added in the order of the coordinates. */
double pml_places_distance(const float *left, const double *right, unsigned dimensions);

struct pml_near {
    double distance; /* squared */
    uint64_t item;
};

/* The `wanted` items of the slot that are nearest to the place, nearest first, ties by smaller item; all of them when
 * there are fewer. `near` is the caller's to free. −1 without memory. */
int pml_places_nearest(const struct pml_places *places, uint32_t slot, const double *place, size_t wanted,
                       struct pml_near **near, size_t *count);

#endif
