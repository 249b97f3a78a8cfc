/* SPDX-License-Identifier: Apache-2.0
 * Lists of a chosen share (SPEC 6.5): for every cell the items that are most likely among the nearest of a query that
 * falls into it. Same gallery, same lists, whatever the order of its rows and the number of threads. */
#ifndef PML_INDEX_LISTS_H
#define PML_INDEX_LISTS_H

#include "common/message.h"
#include "common/rows/rows.h"

#include <privatemail_public.h>

/* Up to so many items of a slot their neighbours are found exactly; beyond that among so many items, those of the
 * nearest clusters. */
#define PML_LISTS_EXACT 60000u
#define PML_LISTS_LOOKED_AT 8192u

/* A gallery ordered by slot, then by item number, with the neighbours of every item in its slot. */
struct pml_lists_gallery;

struct pml_lists_source {
    const struct pml_rows *rows; /* of the gallery */
    const uint32_t *slots;       /* slot of each row */
    size_t slot_count;
    const uint64_t *items;         /* number of each row, all different */
    const struct pml_rows *voters; /* public rows that vote too; NULL: none */
    const uint32_t *voter_slots;   /* slot that each votes in, or PML_LISTS_NO_SLOT; NULL: each votes in every slot */
    size_t exact, looked_at;       /* 0: as above */
    unsigned threads;
    const struct pml_progress *progress; /* may be NULL */
};

#define PML_LISTS_NO_SLOT UINT32_MAX

/* Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_lists_gallery_make(struct pml_lists_gallery **gallery, const struct pml_lists_source *source);
void pml_lists_gallery_free(struct pml_lists_gallery *gallery);

/* The rows of the source, those first that most voters have among their nearest: what a fixed download would hold.
 * Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_lists_popular(const struct pml_lists_gallery *gallery, uint32_t *order);

/* Row i is in the lists of the cells cells[starts[i]] … cells[starts[i+1] − 1] of its slot, ascending. */
struct pml_cell_lists {
    size_t *starts;
    uint32_t *cells;
};

/* `share` is in millionths (store.h); the pack has the gallery's slots and columns, and cells. Returns PML_DONE or
 * PML_NO_MEMORY. */
pml_outcome pml_lists_make(struct pml_cell_lists *lists, const struct pml_lists_gallery *gallery, const pml_pack *pack,
                           uint32_t share, unsigned threads, const struct pml_progress *progress);
void pml_lists_free(struct pml_cell_lists *lists);

/* Items that a cell of a slot with `items` items lists: round(F·items), at least 1; none of none. */
size_t pml_lists_wanted(size_t items, uint32_t share);

#endif
