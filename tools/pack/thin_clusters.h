/* SPDX-License-Identifier: Apache-2.0
 * Joins clusters of too few rows to others, so that no centre reveals a single row. */
#ifndef PML_THIN_CLUSTERS_H
#define PML_THIN_CLUSTERS_H

#include "common/rows/kmeans.h"

#include <stdbool.h>

/* Rows from number `public_count` on are of a gallery: nobody may read them from a pack. The others are public, so whoever
 * has the pack may know them all, and could take them out of a mean. So a mean that rows of the gallery are in needs enough
 * of *these*. Returns how many of members[0 … count−1] may be in a mean, and moves these to the front:
 *
 *   all, when `least` different ones are of the gallery, or when none is and `least` are different;
 *   else the public ones, when `least` of these are different;
 *   else 0: no mean of them may be published. */
size_t pml_rows_open(const struct pml_rows *rows, size_t public_count, uint32_t *members, size_t count, size_t least);

/* A cluster is thin when no mean of its rows may be published, or when this mean has no direction. Every thin cluster
 * joins the one whose centre is nearest to its own, in the order of their numbers, until none is thin or one is
 * left. `clusters` holds what pml_kmeans made of these rows, `count` of them. Afterwards `distinct` says how many are
 * left; their centres come first and are the means of their rows, as far as pml_rows_open says; each row is given the first-ranked of these centres
 * (SPEC 5.3). `thin` says whether the only one that is left is thin. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_clusters_thicken(const struct pml_rows *rows, size_t public_count, size_t least, size_t count,
                                 unsigned threads, struct pml_kmeans *clusters, bool *thin);

/* How many of the rows members[0 … count−1] are different, counted up to `least`. Moves those found to the front. */
size_t pml_rows_different(const struct pml_rows *rows, uint32_t *members, size_t count, size_t least);

#endif
