/* SPDX-License-Identifier: Apache-2.0
 * Stage: check, normalise, quantise (SPEC 5.1). In: secret floats. Out: secret int8 values, the largest ±127.
 * Works on the floats' bits in integers: exact everywhere, and no branch or address depends on a value, not even on
 * whether the vector is valid. */
#include "exact.h"
#include "stages.h"

static uint32_t bits_of(const float *value)
{
    uint32_t bits;
    memcpy(&bits, value, sizeof bits);
    return bits;
}

/* |x| = mantissa · 2^exponent, up to a common factor */
static uint64_t mantissa_of(uint32_t bits)
{
    return (bits & 0x7FFFFF) | (0x800000 & mask_nonzero(bits >> 23 & 0xFF));
}

static uint64_t exponent_of(uint32_t bits)
{
    uint64_t exponent = bits >> 23 & 0xFF;
    return exponent + (1 & ~mask_nonzero(exponent));
}

uint64_t pml_quantise_row(const float *features, size_t count, int8_t *out)
{
    uint32_t max = 0; /* positive floats are ordered as their bits are */
    for (size_t i = 0; i < count; i++) {
        uint32_t size = bits_of(features + i) & 0x7FFFFFFF;
        max = select32(mask_less(max, size), size, max);
    }
    uint64_t valid = mask_nonzero(max) & mask_less(max, 0x7F800000);
    max = select32(valid, max, 0x3F800000);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = bits_of(features + i) & (uint32_t)valid;
        uint64_t down = exponent_of(max) - exponent_of(bits);
        down = select64(mask_less((int64_t)down, 31), down, 31); /* beyond 2^-9 of the maximum the result is 0 anyway */
        uint32_t size = pml_scale_127(mantissa_of(bits), mantissa_of(max) << down);
        uint32_t sign = 0 - (bits >> 31);
        out[i] = (int8_t)(int32_t)((size ^ sign) - sign);
    }
    out[0] = (int8_t)(int32_t)select32(valid, (uint32_t)(int32_t)out[0], 127);
    return valid;
}

int pml_quantise(const float *features, size_t count, int8_t *out)
{
    if (!features || !out || count == 0 || count > PML_FEATURES_MAX)
        return PML_ERROR_ARGUMENT;
    if (pml_quantise_row(features, count, out) != 0)
        return PML_OK;
    memset(out, 0, count);
    return PML_ERROR_FEATURES;
}
