/* SPDX-License-Identifier: Apache-2.0
 * Graphs of neighbours: rows are nodes, and an edge joins two rows when one is among the nearest of the other. */
#ifndef PML_GROUP_GRAPH_H
#define PML_GROUP_GRAPH_H

#include "common/message.h"

#include <stddef.h>
#include <stdint.h>

struct pml_group_edge {
    uint32_t ends[2]; /* ends[0] < ends[1] */
    double weight;    /* more than 0 */
};

struct pml_group_graph {
    size_t nodes, count;
    struct pml_group_edge *edges; /* `count`, ascending by their ends, no two alike */
    size_t *starts;               /* nodes + 1: the edges of node i are incident[starts[i] … starts[i + 1]) */
    uint32_t *incident;
};

/* An edge of weight 1 for each row and each of its `neighbours`, as pml_knn lists them. Then pairs drawn at random from
 * the seed, `noise` times as many as there are edges, become edges too if they are none. nodes ≥ 2. Returns PML_DONE or
 * PML_NO_MEMORY. */
pml_outcome pml_group_graph_join(const uint32_t *lists, size_t nodes, unsigned neighbours, double noise, uint64_t seed,
                                 struct pml_group_graph *graph);

/* Takes over the edges, which are as described above, and finds which belong to which node; `edges` may be NULL when
 * out of memory. Returns PML_DONE or PML_NO_MEMORY; frees them then. */
pml_outcome pml_group_graph_finish(struct pml_group_edge *edges, size_t count, size_t nodes,
                                   struct pml_group_graph *graph);

/* A zeroed struct may be freed. */
void pml_group_graph_free(struct pml_group_graph *graph);

/* The end of an edge that is not `node`. */
static inline uint32_t pml_group_edge_other(const struct pml_group_edge *edge, uint32_t node)
{
    return edge->ends[edge->ends[0] == node];
}

/* Numbers the connected components from 0 in the order of their first nodes, without the edges whose `removed` is not 0;
 * it may be NULL. Writes one number per node and how many there are. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_group_graph_components(const struct pml_group_graph *graph, const uint8_t *removed,
                                       uint32_t *components, size_t *count);

#endif
