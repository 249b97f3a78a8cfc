/* SPDX-License-Identifier: Apache-2.0
 * The largest eigenvalues of a symmetric matrix that is only known by what it does to a vector (Lanczos 1950). For few
 * vectors that stand out; ARPACK is for those that do not. */
#ifndef PML_MAP_LANCZOS_H
#define PML_MAP_LANCZOS_H

#include "common/message.h"

#include <stddef.h>
#include <stdint.h>

/* out = matrix·in */
typedef pml_outcome (*pml_map_apply_fn)(void *context, const double *in, double *out);

/* Fills values[0 … wanted−1], the largest first, and the vectors of length 1, one behind the other, each with its largest
 * entry positive. Vectors of values that are nothing beside the first are zeros. wanted ≤ 4, wanted ≤ size. Returns
 * PML_DONE, PML_NO_MEMORY, or what `apply` returned. */
pml_outcome pml_map_lanczos(pml_map_apply_fn apply, void *context, size_t size, size_t wanted, uint64_t seed,
                            double *values, double *vectors);

#endif
