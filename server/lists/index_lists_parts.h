/* SPDX-License-Identifier: Apache-2.0
 * What the files of the lists share. */
#ifndef PML_INDEX_LISTS_PARTS_H
#define PML_INDEX_LISTS_PARTS_H

#include "index_cells.h"
#include "index_lists.h"

#include "common/rows/knn_near.h"

#define PML_LISTS_NEIGHBOURS 16u                 /* that an item votes for, beside itself */
#define PML_LISTS_CELLS 8u                       /* that it votes in */
#define PML_LISTS_PIECE 64u                      /* items that a thread takes at once */
#define PML_LISTS_PARTS 4096u                    /* of an item's vote */
#define PML_LISTS_OF_CELL (4u * PML_LISTS_PARTS) /* parts of a cell's: it votes like four items */

/* A *guest* is a public row that votes for items, but is none. */
struct pml_lists_slot {
    struct pml_rows rows; /* a slice of the gallery's, ascending by item number */
    unsigned reach;       /* neighbours of each item */
    uint32_t *neighbours; /* nearest first, as places in the slice */
    struct pml_rows guests;
    unsigned guest_reach;       /* items that each votes for */
    uint32_t *guest_neighbours; /* likewise */
};

struct pml_lists_gallery {
    struct pml_rows rows; /* of all slots */
    uint32_t *origins;    /* row of the source that each was */
    uint32_t *neighbours; /* of all slots */
    size_t neighbour_count;
    struct pml_rows guests;     /* ordered by slot, when each has one */
    uint32_t *guest_neighbours; /* of all slots */
    struct pml_lists_slot *slots;
    size_t slot_count;
};

/* The neighbours of items and guests among the items of the nearest clusters, until `looked_at` were looked at; with 0 the
 * neighbours of the guests among all items, exactly. Returns PML_DONE or PML_NO_MEMORY. */
static inline pml_outcome pml_lists_near(const struct pml_lists_slot *slot, size_t looked_at, unsigned threads,
                                         const struct pml_progress *progress)
{
    const struct pml_knn_side items = {&slot->rows, slot->reach, slot->neighbours};
    const struct pml_knn_side guests = {&slot->guests, slot->guest_reach, slot->guest_neighbours};
    return pml_knn_near(&items, &guests, looked_at, threads, progress);
}

/* What an item's vote for itself (r = 0) and for its r-th neighbour weighs, 1/(r + 4): a multiple of 4 … 20 makes these
 * whole, and sums exact. A cell's vote for its nearest item (r = 0) and those after it weighs the same, rounded down. */
static inline uint64_t pml_lists_vote(unsigned r)
{
    return 232792560u / (r + 4);
}

/* A row that votes in a cell, with the part of its vote that the cell gets, in 2^-12. */
struct pml_lists_voter {
    uint32_t row, part;
};

/* Rows, items or guests of one slot, by the cells that they vote in. */
struct pml_lists_voters {
    const struct pml_rows *rows;
    const struct pml_slot_cells *cells;
    struct pml_lists_voter *votes; /* PML_LISTS_CELLS of each row: `row` is the cell here; part 0: none */
    size_t *starts;                /* voters of cell j: voters[starts[j]] … voters[starts[j+1] − 1], ascending */
    struct pml_lists_voter *voters;
};

/* Fills all of it. Returns PML_DONE or PML_NO_MEMORY. Free it in any case. */
pml_outcome pml_lists_voters_make(struct pml_lists_voters *voters, const struct pml_rows *rows,
                                  const struct pml_slot_cells *cells, unsigned threads);
void pml_lists_voters_free(struct pml_lists_voters *voters);

#endif
