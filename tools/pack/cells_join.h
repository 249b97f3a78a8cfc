/* SPDX-License-Identifier: Apache-2.0
 * Joins clusters of rows to cells of about equal weight. */
#ifndef PML_CELLS_JOIN_H
#define PML_CELLS_JOIN_H

#include "common/message.h"

#include <stddef.h>
#include <stdint.h>

/* Rows, the cluster of each, and the nearest others of each: lists[i·stride … + neighbours − 1]. */
struct pml_cluster_graph {
    const uint32_t *clusters, *lists;
    size_t rows, cluster_count;
    unsigned neighbours, stride;
};

/* Two clusters are linked as often as a row of one is among the nearest of a row of the other. Joins, again and again,
 * the two with most links per row of the lighter (of equals the lighter pair, then the first), as long as they
 * weigh no more than 1.15 times an average cell together; when no two do, that limit rises by 5 %. Ends with
 * min(cell_count, cluster_count) cells, numbered by their first cluster; cells[c] is that of cluster c. Needs
 * 4 bytes × cluster_count² of memory. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_cells_join(const struct pml_cluster_graph *graph, size_t cell_count, uint32_t *cells);

#endif
