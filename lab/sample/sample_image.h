/* SPDX-License-Identifier: Apache-2.0
 * Paints one picture of a shape, jittered by a seed. */
#ifndef CLI_SAMPLE_IMAGE_H
#define CLI_SAMPLE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#define SAMPLE_SIZE_MIN 16
#define SAMPLE_SIZE_MAX 128

/* size × size grey pixels, top row first. `number` tells the pictures of one class apart; each depends on seed, class
 * and number only, not on what else is painted. class_index < SAMPLE_CLASSES_MAX. */
void sample_paint(uint64_t seed, unsigned class_index, unsigned number, unsigned size, uint8_t *pixels);

#endif
