/* SPDX-License-Identifier: Apache-2.0
 * Lays several maps side by side. */
#ifndef PML_MAP_SHELVES_H
#define PML_MAP_SHELVES_H

#include "common/message.h"

#include <stddef.h>

/* Part c has the places starts[c] … starts[c+1]−1, of 2 numbers each. Every part gets an area in proportion to its places,
 * and no two overlap: the largest come first, row after row. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_map_shelves(double *places, const size_t *starts, size_t parts);

#endif
