/* SPDX-License-Identifier: Apache-2.0
 * Conductor: sketches of items, for whoever indexes a gallery (SPEC 5.13). A device has queries and needs none. */
#include "base/exact.h"
#include "base/sketch_code.h"
#include "stages/stages.h"

/* The code of the value that is nearest to a coordinate, which is in 2^-14, so twice as fine as the values. */
static uint32_t nearest_code(int64_t coordinate, int32_t middle, int32_t width, const int8_t *levels, unsigned bits)
{
    uint32_t code = 0;
    for (unsigned bit = bits; bit-- > 0;) { /* values do not descend, so bit by bit */
        const uint32_t trial = code | (uint32_t)1 << bit;
        const int64_t edge =
            sketch_value(middle, width, levels[trial - 1]) + sketch_value(middle, width, levels[trial]);
        code = coordinate >= edge ? trial : code;
    }
    return code;
}

/* Coordinates in 2^-14, from which those of a query follow: ⌊γ/2^48 + ½⌋ = ⌊(⌊γ/2^46⌋ + 2)/4⌋. */
static void measure(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, int16_t *fine)
{
    const int8_t *directions = (const int8_t *)pack->section[PML_SECTION_DIRECTIONS];
    const uint32_t inverse = pml_inverse_norm(row, pack->features);
    for (size_t at = 0; at < pack->directions; at += PML_SKETCH_BLOCK) {
        int32_t dots[PML_SKETCH_BLOCK];
        kernels->dots_s8(row, directions + at * pack->features, pack->features, PML_SKETCH_BLOCK, dots);
        for (size_t i = 0; i < PML_SKETCH_BLOCK; i++) {
            const uint32_t norm = pack_u32(pack->section[PML_SECTION_DIRECTION_NORMS], at + i);
            fine[at + i] = (int16_t)divide_floor(cosine_of(multiply_signed(dots[i], norm), inverse), (int64_t)1 << 46);
        }
    }
}

/* Writes the sketch of the coordinates times factor/32. Returns dot·r of SPEC 5.13, for the item itself. */
static int64_t encode(const pml_pack *pack, const int16_t *fine, int32_t factor, uint8_t *out)
{
    const uint8_t *code = pack->section[PML_SECTION_SKETCH_CODE], *ranges = pack->section[PML_SECTION_DIRECTION_RANGES];
    int32_t dot = 0;
    uint32_t squares = 0;
    size_t at = 0;
    for (unsigned bits = PML_SKETCH_BITS_MAX; bits > 0; bits--)
        for (uint32_t block = 0; block < sketch_blocks(code, bits); block++, out += bits) {
            const int8_t *levels = sketch_levels(code, bits);
            uint64_t codes = 0;
            for (unsigned i = 0; i < PML_SKETCH_BLOCK; i++, at++) {
                const int32_t middle = pack_code(ranges, at), width = pack_code(ranges, pack->directions + at);
                const uint32_t found = nearest_code(divide_floor(fine[at] * factor, 32), middle, width, levels, bits);
                const int32_t value = sketch_value(middle, width, levels[found]);
                codes |= (uint64_t)found << (i * bits);
                dot += (int32_t)divide_floor(fine[at] + 2, 4) * value;
                squares += (uint32_t)(value * value);
            }
            for (unsigned i = 0; i < bits; i++)
                out[i] = (uint8_t)(codes >> 8 * i);
        }
    return multiply_signed(dot, pml_inverse_sqrt(squares));
}

/* Only the direction of what is decoded counts, not its length: so of several lengths the one whose direction is best. */
static void choose(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, uint8_t *out)
{
    int16_t fine[PML_DIRECTIONS_MAX];
    uint8_t trial[PML_SKETCH_MAX];
    int64_t best = INT64_MIN;
    measure(pack, kernels, row, fine);
    for (int32_t i = 0; i < 9; i++) { /* 32, 31, 33, 30, 34 … */
        const int64_t score = encode(pack, fine, 32 + (i % 2 ? -(i + 1) / 2 : i / 2), trial);
        if (score <= best)
            continue;
        best = score;
        memcpy(out, trial, pack->sketch);
    }
}

pml_status pml_sketch(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, int8_t *out)
{
    if (!pack || !row || !out || !pack->bytes)
        return PML_ERROR_ARGUMENT;
    if (pack->sketch == 0)
        return PML_ERROR_SECTION;
    kernels = kernels ? kernels : &pml_kernels_portable;
    if (pack->directions > 0)
        choose(pack, kernels, row, (uint8_t *)out);
    else
        pml_sketch_plain(pack, kernels, row, out);
    return PML_OK;
}

static int32_t abs16(int16_t value)
{
    return value < 0 ? -value : value;
}

static void decode(const pml_pack *pack, const uint8_t *sketch, int16_t *values)
{
    const uint8_t *code = pack->section[PML_SECTION_SKETCH_CODE], *ranges = pack->section[PML_SECTION_DIRECTION_RANGES];
    size_t at = 0, bit = 0;
    for (unsigned bits = PML_SKETCH_BITS_MAX; bits > 0; bits--)
        for (uint32_t left = PML_SKETCH_BLOCK * sketch_blocks(code, bits); left > 0; left--, at++, bit += bits) {
            uint32_t found = sketch[bit / 8];
            if (bit % 8 + bits > 8)
                found |= (uint32_t)sketch[bit / 8 + 1] << 8;
            const int8_t level = sketch_levels(code, bits)[found >> bit % 8 & ((1u << bits) - 1)];
            values[at] = (int16_t)sketch_value(pack_code(ranges, at), pack_code(ranges, pack->directions + at), level);
        }
}

pml_status pml_sketch_row(const pml_pack *pack, const int8_t *sketch, int8_t *row)
{
    if (!pack || !sketch || !row || !pack->bytes)
        return PML_ERROR_ARGUMENT;
    if (pack->sketch == 0)
        return PML_ERROR_SECTION;
    if (pack->directions == 0) {
        memcpy(row, sketch, pack->sketch);
        return PML_OK;
    }
    int16_t values[PML_DIRECTIONS_MAX]; /* no frame of the library has 4 KiB */
    uint32_t max = 1;
    decode(pack, (const uint8_t *)sketch, values);
    for (size_t i = 0; i < pack->directions; i++) {
        const uint32_t size = (uint32_t)abs16(values[i]);
        max = size > max ? size : max;
    }
    for (size_t i = 0; i < pack->directions; i++) {
        const int32_t size = (int32_t)pml_scale_127((uint64_t)abs16(values[i]), max);
        row[i] = (int8_t)(values[i] < 0 ? -size : size);
    }
    return PML_OK;
}
