/* SPDX-License-Identifier: Apache-2.0
 * Random walks on the graph of neighbours that end at landmarks. */
#ifndef PML_MAP_WALKS_H
#define PML_MAP_WALKS_H

#include "map_graph.h"

/* A symmetric graph with positive weights; a walk goes to a neighbour in proportion to its weight. */
struct pml_map_walks {
    struct pml_map_sparse graph;
    float *reached;      /* per entry the sum of the weights of its row up to it */
    uint32_t *landmarks; /* rows, ascending */
    uint32_t *number;    /* of each row among the landmarks; UINT32_MAX: it is none */
    size_t count;        /* of landmarks */
    uint64_t seed;
};

/* Makes the graph, with weights e^(−d²/mean of the last neighbours' d²), and chooses the landmarks: at random, at least 2
 * in each component. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_map_walks_make(struct pml_map_walks *walks, const struct pml_rows *rows, unsigned neighbours,
                               size_t landmarks, uint64_t seed, unsigned threads, const struct pml_progress *progress);
void pml_map_walks_free(struct pml_map_walks *walks);

/* Where `count` walks from a row end: numbers of landmarks. The first step is always taken, so a walk from a landmark may
 * end there again. The same seed and row give the same ends. */
void pml_map_walks_take(const struct pml_map_walks *walks, size_t row, size_t count, uint32_t *ends);

/* The chances of these ends, exactly: walks from the row that end at each landmark (Dirichlet's problem on the graph,
 * Grady 2006). Only for tests and small graphs, with LAPACKE: rows × landmarks numbers. Returns PML_DONE, PML_NO_MEMORY or
 * PML_REFUSED. */
struct pml_matrix;
pml_outcome pml_map_walks_solve(const struct pml_map_walks *walks, struct pml_matrix *chances);

#endif
