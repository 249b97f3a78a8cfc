/* SPDX-License-Identifier: Apache-2.0
 * Affinities of rows: how likely one row would choose another as its neighbour, with as many choices as the perplexity. */
#ifndef PML_MAP_AFFINITY_H
#define PML_MAP_AFFINITY_H

#include "map_graph.h"

/* shares[j] ∝ e^(−b·squares[j]), Σ = 1, with b such that the perplexity 2^entropy is `perplexity` (1 < perplexity <
 * count). Where no b is that large, because too many distances are equal, all of the nearest share alike. */
void pml_map_affinities(const double *squares, size_t count, double perplexity, double *shares);

/* The joint affinities of all rows: of each row's 3·perplexity nearest, made symmetric, with sum 1. Returns PML_DONE or
 * PML_NO_MEMORY. */
pml_outcome pml_map_joint(const struct pml_rows *rows, double perplexity, unsigned threads,
                          const struct pml_progress *progress, struct pml_map_sparse *joint);

/* Divides all values by their sum. */
void pml_map_normalise(struct pml_map_sparse *joint);

#endif
