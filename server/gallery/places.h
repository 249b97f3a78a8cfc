/* SPDX-License-Identifier: Apache-2.0
 * The places of a slot's items (SPEC 8.2), in memory: the nearest of them, and which page has an item's candidate. */
#ifndef PML_PLACES_H
#define PML_PLACES_H

#include "common/bytes.h"
#include "server/store/name.h"

#include <privatemail.h>

struct pml_page {
    uint64_t first; /* item */
    struct pml_name name;
};

/* A zeroed struct is empty and may be freed. */
struct pml_places {
    uint32_t slot, dimensions, iterations; /* k, T */
    uint32_t count, page_count;
    uint64_t *items;    /* ascending */
    float *values;      /* k per item */
    uint16_t *payloads; /* bytes of each item's */
    struct pml_page *pages;
    struct pml_kdtree *tree; /* NULL where there are few items, or nobody searches */
};

/* Room for so many items and pages; the fields before them are set. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_places_allocate(struct pml_places *places);
void pml_places_free(struct pml_places *places);

/* Whether a page begins at this item, when the one before has so many items already (0: there is none before). */
bool pml_page_begins(uint64_t item, size_t items);

/* Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_places_write(const struct pml_places *places, struct pml_bytes *bytes);

/* Whether bytes begin as places do. Returns PML_DONE, PML_DAMAGED, or PML_OTHER_VERSION with a message. */
pml_outcome pml_places_begin(const uint8_t *bytes, size_t size, struct pml_message *message);

/* Reads them, and prepares them for searching. Returns PML_DONE, PML_NO_MEMORY, PML_DAMAGED when the bytes are none, or
 * PML_OTHER_VERSION with a message. Free them in any case. */
pml_outcome pml_places_read(const uint8_t *bytes, size_t size, struct pml_places *places, struct pml_message *message);

struct pml_near {
    double distance; /* squared */
    uint64_t item;
    size_t row; /* of the caller */
};

/* For qsort: nearest first, ties by smaller item. */
int pml_near_order(const void *left, const void *right);

/* The `wanted` items that are nearest to the place, in this order; all of them when there are fewer. The caller frees `near`,
 * also after PML_NO_MEMORY. */
pml_outcome pml_places_nearest(const struct pml_places *places, const double *place, size_t wanted,
                               struct pml_near **near, size_t *count);

/* The page that has the candidate of this item, which is one of the slot's. */
const struct pml_page *pml_places_page(const struct pml_places *places, uint64_t item);

#endif
