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
#define PML_LISTS_LOOKED_AT 2048u

/* A gallery ordered by slot, then by item number, with the neighbours of every item in its slot. */
struct pml_lists_gallery;

struct pml_lists_source {
    const struct pml_rows *rows; /* of the gallery */
    const uint32_t *slots;       /* slot of each row */
    size_t slot_count;
    const uint64_t *items;         /* number of each row, all different */
    const struct pml_rows *voters; /* public rows that vote too; NULL: none */
    const uint32_t *voter_slots;   /* slot that each votes in, or PML_LISTS_NO_SLOT; NULL: each votes in every slot */
    const uint32_t *known;         /* NULL: neighbours are found. Else as pml_lists_gallery_neighbours reads them out */
    size_t exact, looked_at;       /* 0: as above */
    unsigned threads;
    const struct pml_progress *progress; /* may be NULL */
};

#define PML_LISTS_NO_SLOT UINT32_MAX
#define PML_SHARE_UNIT 1000000u /* the share of all */

/* Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_lists_gallery_make(struct pml_lists_gallery **gallery, const struct pml_lists_source *source);
void pml_lists_gallery_free(struct pml_lists_gallery *gallery);

/* The neighbours of all items, slot after slot, in a slot by item number: of each of N_s items min(16, N_s − 1), nearest
 * first, as places in this order of the slot. `count`: how many there are in all. They live as long as the gallery. */
const uint32_t *pml_lists_gallery_neighbours(const struct pml_lists_gallery *gallery, size_t *count);

/* The rows of the source, those first that most voters have among their nearest: what a fixed download would hold.
 * Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_lists_popular(const struct pml_lists_gallery *gallery, uint32_t *order);

/* Row i is in the lists of the cells cells[starts[i]] … cells[starts[i+1] − 1] of its slot, ascending. */
struct pml_cell_lists {
    size_t *starts;
    uint32_t *cells;
};

/* wanted[s] is how many items a cell of slot s lists; all of fewer. The pack has the gallery's slots and columns, and cells.
 * Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_lists_make(struct pml_cell_lists *lists, const struct pml_lists_gallery *gallery, const pml_pack *pack,
                           const uint32_t *wanted, unsigned threads, const struct pml_progress *progress);
void pml_lists_free(struct pml_cell_lists *lists);

/* Items that a cell of a slot with `items` items lists: round(F·items), at least 1; none of none. `share` is in millionths. */
size_t pml_lists_wanted(size_t items, uint32_t share);

/* The same of every slot of a gallery. */
void pml_lists_wanted_each(const struct pml_lists_gallery *gallery, uint32_t share, uint32_t *wanted);

#endif
