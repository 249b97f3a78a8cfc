/* SPDX-License-Identifier: Apache-2.0
 * Where k-means starts. */
#ifndef PML_KMEANS_START_H
#define PML_KMEANS_START_H

#include "rows.h"

/* k-means++: the first centre is any row; each further one a row drawn in proportion to 1 − cosine to its nearest
 * centre. Stops when every row is a centre; centres->count says how many there are.
 * Reports progress up to one half; the rest is for what follows. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_kmeans_start(const struct pml_rows *rows, size_t clusters, uint64_t seed, unsigned threads,
                             const struct pml_progress *progress, struct pml_rows *centres);

#endif
