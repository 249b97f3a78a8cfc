/* SPDX-License-Identifier: Apache-2.0
 * The portable kernels: plain C, the definition of correct. Those of quantising and hashing stand in quantise.c and
 * sha256.c. */
#include "base.h"
#include "kernels.h"
#include "sketch_code.h"

void pml_dots_s8_portable(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out)
{
    for (size_t i = 0; i < row_count; i++, rows += count) {
        int32_t sum = 0;
        for (size_t j = 0; j < count; j++)
            sum += query[j] * rows[j];
        out[i] = sum;
    }
}

/* Byte by byte: each completes at least one direction. Depths change between bytes, because blocks are of whole ones. */
void pml_compare_portable(const struct pml_coded *coded, const uint8_t *bytes, size_t count,
                          struct pml_compared *compared)
{
    const uint8_t *end = bytes + count, *middle = coded->ranges + 2 * (size_t)compared->next;
    const size_t to_width = 2 * (size_t)coded->directions;
    const int16_t *next = coded->coordinates + compared->next, *last = coded->coordinates + compared->last;
    int32_t dot = compared->dot;
    uint32_t squares = compared->squares, bits = compared->bits, held = compared->held, depth = compared->depth;
    while (bytes < end) {
        while (next == last && depth > 1)
            last += PML_SKETCH_BLOCK * (size_t)sketch_blocks(coded->code, --depth);
        if (next == last)
            break;
        const int8_t *levels = sketch_levels(coded->code, depth);
        const uint32_t mask = (1u << depth) - 1;
        while (next < last && bytes < end) {
            bits |= (uint32_t)*bytes++ << held;
            held += 8;
            do {
                const int32_t value = sketch_value((int16_t)load_le16(middle), (int16_t)load_le16(middle + to_width),
                                                   levels[bits & mask]);
                dot += *next++ * value;
                squares += (uint32_t)(value * value);
                middle += 2;
                bits >>= depth;
                held -= depth;
            } while (held >= depth);
        }
    }
    compared->dot = dot;
    compared->squares = squares;
    compared->bits = bits;
    compared->next = (uint16_t)(next - coded->coordinates);
    compared->last = (uint16_t)(last - coded->coordinates);
    compared->held = (uint8_t)held;
    compared->depth = (uint8_t)depth;
}

const struct pml_kernels pml_kernels_portable = {
    .name = "portable",
    .dots_s8 = pml_dots_s8_portable,
#if PML_KERNELS_WIDE
    .quantise_top = pml_quantise_top_portable,
    .quantise_values = pml_quantise_values_portable,
    .sha256_blocks = pml_sha256_blocks_portable,
    .compare = pml_compare_portable,
#endif
};
