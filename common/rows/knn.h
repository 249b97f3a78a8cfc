/* SPDX-License-Identifier: Apache-2.0
 * The exact nearest neighbours among rows (SPEC 5.3). */
#ifndef PML_KNN_H
#define PML_KNN_H

#include "rows.h"

/* lists[i·K …]: the K nearest of row i, nearest first: larger score first, ties by smaller index, never i itself.
 * 1 ≤ K < count. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_knn(const struct pml_rows *rows, unsigned neighbours, unsigned threads,
                    const struct pml_progress *progress, uint32_t *lists);

/* The bandwidth is the median, over all rows, of the distance between unit vectors to the last neighbour of the list (for
 * an even number of rows the mean of the two in the middle). When that is 0, it is the smallest distance that is not 0,
 * or 0 when there is none. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_knn_bandwidth(const struct pml_rows *rows, unsigned neighbours, const uint32_t *lists,
                              double *bandwidth);

#endif
