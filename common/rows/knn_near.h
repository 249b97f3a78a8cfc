/* SPDX-License-Identifier: Apache-2.0
 * Neighbours among many rows, as far as they are in the clusters nearest to a row. All are not compared with all: of a
 * million rows each is compared with thousands. How many neighbours are missed depends on the rows: of 100,000 made rows of
 * 64 features, each compared with 2,048, all of 16 neighbours were found in clear clusters and 27 % in plain noise. */
#ifndef PML_KNN_NEAR_H
#define PML_KNN_NEAR_H

#include "rows.h"

#define PML_KNN_NEAR_MAX 128u /* neighbours */

/* Rows that want neighbours: lists[i·reach …] are the places of the items nearest to row i, nearest first, ties by smaller
 * place. A reach of 0 wants none. */
struct pml_knn_side {
    const struct pml_rows *rows;
    unsigned reach; /* at most PML_KNN_NEAR_MAX; of items less than there are, of guests at most as many */
    uint32_t *lists;
};

/* The neighbours of items, never an item itself, and of guests, among the items of the nearest clusters, until `looked_at`
 * were looked at. With a `looked_at` of 0 all items are, and only guests get lists. Reports progress over the items.
 * Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_knn_near(const struct pml_knn_side *items, const struct pml_knn_side *guests, size_t looked_at,
                         unsigned threads, const struct pml_progress *progress);

/* About how many clusters that makes of `items` items. Comparing so many rows with all items costs as much as finding the
 * clusters of all items. */
size_t pml_knn_near_clusters(size_t items, size_t looked_at);

#endif
