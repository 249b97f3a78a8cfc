/* SPDX-License-Identifier: Apache-2.0
 * Measures of a map that need labels, here numbers 0 … classes − 1. */
#ifndef PML_MAP_MEASURE_LABELS_H
#define PML_MAP_MEASURE_LABELS_H

#include "map_measure.h"

/* Error of the nearest neighbour, and purity. */
pml_outcome pml_map_purity(const float *places, const uint32_t *numbers, size_t rows, size_t classes, unsigned threads,
                           struct pml_map_measures *measures);

/* Separation of the rows sample[0 … count−1]. */
pml_outcome pml_map_separation(const float *places, const uint32_t *numbers, const uint32_t *sample, size_t count,
                               size_t classes, struct pml_map_measures *measures);

#endif
