/* SPDX-License-Identifier: Apache-2.0
 * Stage: check, normalise, quantise (SPEC 5.1). In: secret floats. Out: secret int8 values, the largest ±127.
 * Works on the floats' bits in integers: exact everywhere, and no branch or address depends on a value, not even on
 * whether the vector is valid. */
#include "base/exact.h"
#include "stages.h"

#define HIDDEN_BIT 0x800000u /* of a normal number's mantissa */

/* Not by memcpy, which a freestanding compiler calls: twice for every value. */
static uint32_t bits_of(const float *value)
{
    const union {
        float value;
        uint32_t bits;
    } both = {*value};
    return both.bits;
}

/* a mask */
static uint32_t is_normal(uint32_t bits)
{
    return (uint32_t)mask_nonzero(bits & 0x7F800000);
}

/* |x| = mantissa · 2^exponent, up to a common factor */
static uint32_t mantissa_of(uint32_t bits)
{
    return (bits & 0x7FFFFF) | (is_normal(bits) & HIDDEN_BIT);
}

static uint32_t exponent_of(uint32_t bits)
{
    return (bits >> 23 & 0xFF) + (1 & ~is_normal(bits));
}

static struct scale scale_of(uint32_t bits)
{
    struct scale scale = {.max = mantissa_of(bits), .exponent = exponent_of(bits)};
    for (int i = 0; i < 23; i++) {
        uint32_t small = (uint32_t)mask_less(scale.max, HIDDEN_BIT);
        scale.max += scale.max & small;
        scale.shift += 1 & small;
    }
    uint32_t rest = 0x7FFFFF;
    for (int i = 0; i < 32; i++) { /* digit by digit */
        rest = rest << 1 | 1;
        uint32_t fits = ~(uint32_t)mask_less(rest, scale.max);
        rest -= scale.max & fits;
        scale.reciprocal = scale.reciprocal << 1 | (1 & fits);
    }
    return scale;
}

/* ⌊127·value/max + ½⌋ of mantissas, max being 2^down times larger. The estimate is in 2^-23 and at most 2 of them too
 * small, so what it rounds to is right or one too small: one more fits if (2·size + 1)·max·2^down ≤ 254·value. */
static uint32_t scaled(const struct scale *scale, uint32_t value, uint32_t down)
{
    down = select32(mask_less(down, 9), down, 9); /* beyond 2^-9 of the maximum the result is 0 anyway */
    uint32_t estimate = (uint32_t)(multiply(127 * value, scale->reciprocal) >> 32);
    uint32_t size = (estimate + (0x400000u << down)) >> 23 >> down;
    return size + (1 & ~(uint32_t)mask_less(254 * value >> down, (2 * size + 1) * scale->max));
}

#if PML_WITH_FRONT
/* ⌊127·√(value/max) + ½⌋, nearly (SPEC 5.1): the root of a ratio of 16 bits, by trial of one bit at a time. */
static uint32_t scaled_root(const struct scale *scale, uint32_t value, uint32_t down)
{
    down = select32(mask_less(down, 16), down, 16);
    uint32_t ratio = (uint32_t)(multiply(value, scale->reciprocal) >> 39) >> down;
    uint32_t square = 64516 * ratio >> 16, root = 0; /* 64516 = 254² */
    for (uint32_t bit = 128; bit > 0; bit >>= 1) {
        uint32_t trial = root | bit;
        root |= bit & ~(uint32_t)mask_less(square, trial * trial);
    }
    return (root + 1) / 2;
}
#endif

uint32_t pml_quantise_top_portable(const float *features, size_t count, uint32_t top)
{
    for (size_t i = 0; i < count; i++) { /* positive floats are ordered as their bits are */
        uint32_t size = bits_of(features + i) & 0x7FFFFFFF;
        top = select32(mask_less(top, size), size, top);
    }
    return top;
}

uint64_t pml_quantise_scale(uint32_t top, struct scale *scale)
{
    uint64_t valid = mask_nonzero(top) & mask_less(top, 0x7F800000);
    *scale = scale_of(select32(valid, top, 0x3F800000));
    return valid;
}

void pml_quantise_values_portable(const struct scale *scale, uint64_t valid, bool root, const float *features,
                                  size_t count, int8_t *out)
{
    (void)root;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = bits_of(features + i) & (uint32_t)valid;
        uint32_t mantissa = mantissa_of(bits) << scale->shift, down = scale->exponent - exponent_of(bits);
#if PML_WITH_FRONT
        uint32_t size = root ? scaled_root(scale, mantissa, down) : scaled(scale, mantissa, down);
#else
        uint32_t size = scaled(scale, mantissa, down);
#endif
        out[i] = (int8_t)(int32_t)negate32(mask_less((int32_t)bits, 0), size);
    }
}

void pml_quantise_default(uint64_t valid, int8_t *first)
{
    *first = (int8_t)(int32_t)select32(valid, (uint32_t)(int32_t)*first, 127);
}

pml_status pml_quantise(const float *features, size_t count, int8_t *out)
{
    if (!features || !out || count == 0 || count > PML_FEATURES_MAX)
        return PML_ERROR_ARGUMENT;
    if (pml_quantise_row(features, count, out, &pml_kernels_portable) != 0)
        return PML_OK;
    out[0] = 0; /* as all others are */
    return PML_ERROR_FEATURES;
}
