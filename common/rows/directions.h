/* SPDX-License-Identifier: Apache-2.0
 * Orthonormal vectors in doubles. Every sum has one fixed order, so results are the same on every platform. */
#ifndef PML_DIRECTIONS_H
#define PML_DIRECTIONS_H

#include "common/generator.h"
#include "common/message.h"

#include <stddef.h>

/* Vectors are kept in groups of four, interleaved: a vector unit works on four at once without reordering a sum. */
#define PML_LANES 4u

struct pml_directions {
    double *values, *scratch; /* groups × size × PML_LANES; size */
    size_t count, size;
};

/* Makes vectors that are all zero. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_directions_allocate(struct pml_directions *directions, size_t count, size_t size);
void pml_directions_free(struct pml_directions *directions);

static inline size_t pml_directions_groups(const struct pml_directions *directions)
{
    return (directions->count + PML_LANES - 1) / PML_LANES;
}

/* Where coordinate `at` of vector `index` is kept. */
static inline double *pml_direction(const struct pml_directions *directions, size_t index, size_t at)
{
    return directions->values + (index / PML_LANES * directions->size + at) * PML_LANES + index % PML_LANES;
}

/* Makes each vector orthogonal to those before it, and of length 1. When no more than `least` of its length is left, a
 * random vector replaces it. count ≤ size. */
void pml_directions_settle(struct pml_directions *directions, double least, struct pml_generator *generator);

#endif
