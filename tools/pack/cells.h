/* SPDX-License-Identifier: Apache-2.0
 * The prototypes of one slot, and the cells they belong to (SPEC 5.4). */
#ifndef PML_CELLS_H
#define PML_CELLS_H

#include "common/rows/rows.h"

#include <stdbool.h>

#define PML_CELL_NEIGHBOURS 8u /* of a row: a good cell holds a row together with these */
#define PML_JOINED_MAX 4096u   /* prototypes of a slot that can be joined to cells */
#define PML_CELL_SOFT_ROWS 36u /* soft prototypes are for cells of fewer rows: with more, plain means find more */

struct pml_cell_plan {
    size_t cells, prototypes; /* of the slot; 2 ≤ cells ≤ prototypes, and these ≤ PML_JOINED_MAX where not equal */
    size_t public_count;      /* rows from here on are of the gallery (thin_clusters.h) */
    size_t rows_per_prototype; /* no prototype is the mean of fewer different rows, unless the slot has fewer */
    bool soft;                 /* where cells have few rows, those beside a cluster count too (soft_prototypes.h) */
    unsigned rounds;           /* in which cells are refined (cells_refine.h) for … */
    double share;              /* … lists of this share */
    uint64_t seed;
    unsigned threads;
    const struct pml_progress *progress; /* may be NULL */
    /* Neighbours of each row, list_length ≥ PML_CELL_NEIGHBOURS of them, if they are known, otherwise NULL. */
    const uint32_t *lists;
    unsigned list_length;
};

/* The caller owns all of it. */
struct pml_cells {
    int8_t *prototypes;      /* plan.prototypes × columns */
    uint32_t *of_prototypes; /* the cell of each */
    uint32_t *of_rows;       /* the cell of each row */
    size_t distinct;         /* of the prototypes; those from here on repeat them, cells from here on are empty */
    bool thin;               /* the slot has too few different rows: its only prototype is the mean of them */
};

/* Clusters the rows, as many clusters as prototypes or as the rows are enough for (thin_clusters.h), and joins clusters
 * to cells (cells_join.h) where there are fewer cells. Then refines the cells. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_cells_build(const struct pml_rows *rows, const struct pml_cell_plan *plan, struct pml_cells *result);

#endif
