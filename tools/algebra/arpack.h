/* SPDX-License-Identifier: Apache-2.0
 * The largest eigenvalues of large symmetric matrices by ARPACK. Only in builds with ARPACK. */
#ifndef PML_ARPACK_H
#define PML_ARPACK_H

#include "common/message.h"

#include <stdbool.h>
#include <stddef.h>

/* Loads the library; call it before the other function. Returns whether it is there. Not for several threads at once. */
bool pml_arpack_start(void);

/* out = matrix·in. Returns PML_DONE, or another outcome, which ends the search. */
typedef pml_outcome (*pml_arpack_fn)(void *context, const double *in, double *out);

/* Fills values[0 … wanted−1], the largest first, and the vectors of length 1, one behind the other, each with its largest
 * entry positive. `start` has `size` numbers to start from, not all 0. wanted < size < 2^31. A value that occurs several
 * times may be found fewer times. Returns PML_DONE, PML_NO_MEMORY, PML_REFUSED when the vectors do not converge, or what
 * `apply` returned. */
pml_outcome pml_arpack_largest(pml_arpack_fn apply, void *context, size_t size, size_t wanted, const double *start,
                               double *values, double *vectors);

#endif
