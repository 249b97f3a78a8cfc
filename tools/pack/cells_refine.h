/* SPDX-License-Identifier: Apache-2.0
 * Refines cells: rows move to the cell whose list would bring most of their neighbours. */
#ifndef PML_CELLS_REFINE_H
#define PML_CELLS_REFINE_H

#include "common/rows/rows.h"

/* What to refine. The caller owns all of it. */
struct pml_refining {
    const struct pml_rows *rows;   /* of one slot */
    size_t public_count;           /* rows from here on are of the gallery (thin_clusters.h) */
    int8_t *prototypes;            /* prototype_count × rows->columns; these move */
    const uint32_t *of_prototypes; /* the cell of each, below cell_count; this stays */
    size_t prototype_count, cell_count;
    size_t rows_per_prototype; /* as in cells.h */
    double share;              /* of the slot in a list, above 0 */
    unsigned rounds, threads;
};

/* K-means gives a row to the cell whose centre is nearest. A server does not list the rows of a cell: it lists those that
 * most likely are near its queries (SPEC 6.5). So each round does three things:
 *
 *   1. Every row votes in its 8 nearest cells for itself and its 16 nearest rows, weighted as an item of SPEC 6.5. A cell
 *      lists the rows that most votes are for, ties by smaller number, as many as the share is of all rows.
 *   2. Of its 8 nearest cells, every row chooses the one whose list holds most of itself and its neighbours, weighted by
 *      1/(r + 4) as in votes; of equal ones the nearest. Within that cell it goes to the nearest prototype.
 *   3. Every prototype becomes the mean of the rows that came to it, as far as it may be published (thin_clusters.h). Where
 *      it may not, the prototype stays as it was.
 *
 * All of it is in integers, so the result does not depend on the number of threads. Beyond 16,384 rows, neighbours are
 * those among some 8,192 rows of the nearest clusters (common/rows/knn_near.h). Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_cells_refine(const struct pml_refining *refining);

#endif
