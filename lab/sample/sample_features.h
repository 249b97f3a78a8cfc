/* SPDX-License-Identifier: Apache-2.0
 * Features of a small grey picture: where edges run in which direction, and where it is bright. */
#ifndef CLI_SAMPLE_FEATURES_H
#define CLI_SAMPLE_FEATURES_H

#include <stdint.h>

#define SAMPLE_CELLS 4 /* per side */
#define SAMPLE_DIRECTIONS 9
#define SAMPLE_FEATURES (SAMPLE_CELLS * SAMPLE_CELLS * (SAMPLE_DIRECTIONS + 1))

/* pixels: size × size. Never all zero, always finite. */
void sample_features(const uint8_t *pixels, unsigned size, float features[SAMPLE_FEATURES]);

#endif
