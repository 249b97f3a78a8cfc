/* SPDX-License-Identifier: Apache-2.0
 * Spherical k-means: clusters of rows by cosine (SPEC 5.3). */
#ifndef PML_KMEANS_H
#define PML_KMEANS_H

#include "rows.h"

struct pml_kmeans {
    int8_t *centres;    /* clusters × columns, owned by the caller */
    uint32_t *clusters; /* per row its first-ranked centre (SPEC 5.3), owned by the caller */
    size_t distinct;    /* when there are fewer distinct rows than clusters: centres from here on repeat those before */
};

/* k-means++ from the seed, then Lloyd's iterations until nothing changes, at most 25. All in integers, so the result
 * does not depend on the number of threads. A centre that loses all its rows restarts at the row farthest from its own
 * centre. rows->count ≥ 1, clusters ≥ 1. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_kmeans(const struct pml_rows *rows, size_t clusters, uint64_t seed, unsigned threads,
                       const struct pml_progress *progress, struct pml_kmeans *result);

/* The first-ranked of the centres (SPEC 5.3) for each row, as k-means ends with. Returns PML_DONE or
 * PML_NO_MEMORY. */
pml_outcome pml_kmeans_assign(const struct pml_rows *rows, const struct pml_rows *centres, unsigned threads,
                              uint32_t *clusters);

#endif
