/* SPDX-License-Identifier: Apache-2.0
 * Prototypes that are weighted means: rows near a cluster count too, not only those in it. */
#ifndef PML_SOFT_PROTOTYPES_H
#define PML_SOFT_PROTOTYPES_H

#include "common/rows/rows.h"

/* With few rows per cluster, the mean of its rows is a noisy estimate of where the queries of its cell are. So every
 * prototype becomes the mean of all rows that have it among their 8 nearest prototypes. A row counts in full for the
 * nearest, and for one that is d times as far d⁻³ times as much. A prototype that is nearest to fewer than `least`
 * different rows stays as it is; where rows of the gallery (thin_clusters.h) would count at all, these must be rows of the
 * gallery. `prototypes`: count × rows->columns. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_prototypes_soften(const struct pml_rows *rows, size_t public_count, size_t least, unsigned threads,
                                  int8_t *prototypes, size_t count);

#endif
