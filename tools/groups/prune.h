/* SPDX-License-Identifier: Apache-2.0
 * Chooses the edges of a graph that are most likely wrong, given its eigenvectors: robust spectral clustering
 * (Bojchevski, Matkovic, Günnemann, 2017). Removing them makes the sum of the smallest eigenvalues smaller. */
#ifndef PML_PRUNE_H
#define PML_PRUNE_H

#include "spectrum.h"

/* A chosen edge, and how much the sum is expected to gain by its removal. */
struct pml_suspect {
    uint32_t edge;
    double score;
};

/* The largest score first, then the smaller edge. */
void pml_suspects_sort(struct pml_suspect *suspects, size_t count);

/* Chooses at most `most` edges, the best one first, and says how many. Every node keeps at least half of its edges. For
 * the plain Laplacian and that of walks: algorithm 1, edges by score (lemmas 4.1 and 5.1). For the symmetric one:
 * algorithm 2, greedily (corollary 5.4). `chosen` has room for `most`. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_prune(const struct pml_group_graph *graph, const struct pml_spectrum *spectrum, pml_laplacian laplacian,
                      size_t most, struct pml_suspect *chosen, size_t *count);

/* The second of both. `limits` says how many edges each node may lose; it is used up. */
pml_outcome pml_prune_symmetric(const struct pml_group_graph *graph, const struct pml_spectrum *spectrum,
                                uint32_t *limits, size_t most, struct pml_suspect *chosen, size_t *count);

#endif
