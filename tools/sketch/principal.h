/* SPDX-License-Identifier: Apache-2.0
 * The directions in which public rows extend most, that both kinds of sketches are made of. */
#ifndef PML_PRINCIPAL_H
#define PML_PRINCIPAL_H

#include "common/rows/moments.h"

/* Leaves `wanted` ≤ columns orthonormal directions, the largest first, and some more behind them. `moments` is the caller's,
 * zeroed, and holds the sample that was looked at. Both are the caller's to free, after a failure too. Returns PML_DONE or
 * PML_NO_MEMORY. */
pml_outcome pml_principal_directions(struct pml_moments *moments, struct pml_directions *directions,
                                     const struct pml_rows *rows, size_t wanted, struct pml_generator *generator,
                                     unsigned threads, const struct pml_progress *progress);

#endif
