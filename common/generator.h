/* SPDX-License-Identifier: Apache-2.0
 * Pseudo-random integers for public data. Never for noise: packs are public, and so is everything drawn here. */
#ifndef PML_GENERATOR_H
#define PML_GENERATOR_H

#include <stdint.h>

struct pml_generator {
    uint64_t state;
};

/* Streams of one seed do not overlap in practice; name them so that adding one does not shift the others. */
enum {
    PML_STREAM_SLOTS,
    PML_STREAM_POSITIONS,
    PML_STREAM_ANCHORS,
    PML_STREAM_SKETCH,
    PML_STREAM_GROUPS,
    PML_STREAM_CELLS,
    PML_STREAM_FRONT,
    PML_STREAM_HELD,
    PML_STREAM_LABELS
};

struct pml_generator pml_generator_start(uint64_t seed, uint64_t stream);
uint64_t pml_generator_next(struct pml_generator *generator);

/* Uniform on 0 … bound−1, bound ≥ 1. */
uint64_t pml_generator_below(struct pml_generator *generator, uint64_t bound);

/* Nearly normal with standard deviation `deviation` (at most 32767), by a sum of twelve uniforms: within ±6 of it. */
int32_t pml_generator_normal(struct pml_generator *generator, int32_t deviation);

#endif
