/* SPDX-License-Identifier: Apache-2.0
 * How coded sketches are laid out (SPEC 1, section 17; SPEC 5.13). Also for kernels, so it needs nothing else. */
#ifndef PML_SKETCH_CODE_H
#define PML_SKETCH_CODE_H
#include <stdint.h>

#define PML_SKETCH_BITS_MAX 7u /* of a direction */
#define PML_SKETCH_BLOCK 8u    /* directions of one depth; so many bytes as each has bits */

/* Blocks whose directions have so many bits. */
static inline uint32_t sketch_blocks(const uint8_t *code, unsigned bits)
{
    return (uint32_t)code[2 * bits - 2] | (uint32_t)code[2 * bits - 1] << 8;
}

/* The levels of a depth, 2^bits of them. */
static inline const int8_t *sketch_levels(const uint8_t *code, unsigned bits)
{
    return (const int8_t *)code + 16 + ((1u << bits) - 2);
}

/* v_i(c) of a direction and a level. The sum is made positive before it is shifted: |width·level| < 2^22. */
static inline int32_t sketch_value(int32_t middle, int32_t width, int32_t level)
{
    return middle + (int32_t)((uint32_t)(width * level + 64 + (1 << 22)) >> 7) - (1 << 15);
}

#endif
