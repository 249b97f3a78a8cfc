/* SPDX-License-Identifier: Apache-2.0
 * Neighbour lists follow a change of the rows. */
#ifndef PML_KNN_CHANGE_H
#define PML_KNN_CHANGE_H

#include "rows.h"

#define PML_KNN_NEW UINT32_MAX

struct pml_knn_change {
    const struct pml_rows *rows; /* after the change, in ascending item order */
    const uint32_t *was;         /* of each row: its place before, ascending among the kept ones, or PML_KNN_NEW */
    size_t before_count;         /* rows before */
    const uint32_t *before;      /* their lists: `reach` places each, nearest first */
    unsigned reach;              /* neighbours per list, before and after; less than both counts */
    size_t looked_at; /* 0: exact. Else rows that lost a neighbour look among so many rows of the clusters nearest
                                  * to them, when they are too many to look at all rows */
    unsigned threads;
    const struct pml_progress *progress; /* may be NULL */
};

/* lists[i·reach …]: the neighbours of row i after the change. Exact, from lists that were: the same as pml_knn finds. A
 * new row is compared with all others, and so is a row that lost a neighbour, unless new ones took its place. Rows that
 * were kept have the values that they had. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_knn_change(const struct pml_knn_change *change, uint32_t *lists);

#endif
