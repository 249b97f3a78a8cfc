/* SPDX-License-Identifier: Apache-2.0
 * What the files of the lists share. */
#ifndef PML_INDEX_LISTS_PARTS_H
#define PML_INDEX_LISTS_PARTS_H

#include "index_lists.h"

#define PML_LISTS_NEIGHBOURS 16u /* that an item votes for, beside itself */
#define PML_LISTS_PIECE 64u      /* items that a thread takes at once */

struct pml_lists_slot {
    struct pml_rows rows; /* a slice of the gallery's, ascending by item number */
    unsigned reach;       /* neighbours of each item */
    uint32_t *neighbours; /* nearest first, as places in the slice; NULL: to be found through the cells */
};

struct pml_lists_gallery {
    struct pml_rows rows; /* of all slots */
    uint32_t *origins;    /* row of the source that each was */
    uint32_t *neighbours; /* of all slots that have them */
    struct pml_lists_slot *slots;
    size_t slot_count, looked_at;
};

/* The items of one slot by their cells. */
struct pml_lists_members {
    const struct pml_lists_slot *slot;
    const pml_pack *pack;
    uint32_t number;     /* of the slot */
    uint32_t cell_count; /* m */
    uint32_t *inverse;   /* of the slot's prototypes … */
    uint32_t *cell_of;   /* … and their cells */
    uint32_t prototypes; /* M */
    uint32_t *cells;     /* cell of each item */
    uint32_t *starts;    /* items of cell j: grouped[starts[j]] … grouped[starts[j+1] − 1], ascending */
    uint32_t *grouped;
    uint32_t *neighbours; /* slot->neighbours, or those found through the cells */
};

struct pml_lists_ranked {
    uint64_t votes;
    int64_t score;
    uint32_t index;
};

/* For qsort: more votes, larger score, smaller index first. */
int pml_lists_by_rank(const void *left, const void *right);

static inline const int8_t *pml_lists_row(const struct pml_lists_members *members, size_t index)
{
    return members->slot->rows.values + index * members->slot->rows.columns;
}

/* How near an item is to each cell: its score (SPEC 5.3) with the nearest of the cell's prototypes; INT64_MIN for a cell
 * without one. */
void pml_lists_scores(const struct pml_lists_members *members, size_t index, int64_t *scores);

/* The same for one cell. */
int64_t pml_lists_score(const struct pml_lists_members *members, size_t index, uint32_t cell);

/* Cells, starts and grouped; inverse is filled. −1 without memory. */
int pml_lists_members_make(struct pml_lists_members *members, const struct pml_lists_slot *slot, const pml_pack *pack,
                           uint32_t number, unsigned threads);
void pml_lists_members_free(struct pml_lists_members *members);

/* Neighbours among the items of the nearest cells, until `looked_at` were looked at. −1 without memory. */
int pml_lists_search(struct pml_lists_members *members, size_t looked_at, unsigned threads,
                     const struct pml_progress *progress);

#endif
