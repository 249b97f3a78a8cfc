/* SPDX-License-Identifier: Apache-2.0
 * The exact nearest neighbours among rows (SPEC 5.3). */
#ifndef PML_KNN_H
#define PML_KNN_H

#include "rows.h"

/* lists[i·K …]: the K nearest of row i, nearest first: larger score first, ties by smaller index, never i itself.
 * 1 ≤ K ≤ 64, K < count. −1 without memory. */
int pml_knn(const struct pml_rows *rows, unsigned neighbours, unsigned threads, const struct pml_progress *progress,
            uint32_t *lists);

/* The median over all rows of the distance, between unit vectors, to the last neighbour of the list (of an even number
 * the mean of the two in the middle). When that is 0, the smallest distance that is not; 0 when there is none. −1
 * without memory. */
double pml_knn_bandwidth(const struct pml_rows *rows, unsigned neighbours, const uint32_t *lists);

#endif
