/* SPDX-License-Identifier: Apache-2.0
 * The descent of t-SNE for given affinities. */
#ifndef PML_MAP_DESCENT_H
#define PML_MAP_DESCENT_H

#include "map_graph.h"
#include "map_methods.h"

/* Moves `places`, of 2 per row, so that Student's kernel between them fits the symmetric matrix `joint` of sum 1. Writes
 * the Kullback-Leibler divergence that is left. The number of threads never changes a bit. */
pml_outcome pml_map_descend(const struct pml_map_sparse *joint, const struct pml_map_options *options, double *places,
                            double *divergence);

#endif
