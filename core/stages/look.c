/* SPDX-License-Identifier: Apache-2.0
 * Stage: one look into the sums, and the mean out of them (SPEC 5.20). In: secret int8 values, then secret sums. Out:
 * secret sums, then binary32 numbers, written by their bits: no float is computed with, for on a device without a unit for
 * them that takes a time of its own. */
#include "base/exact.h"
#include "stages.h"

uint64_t pml_look_squares(const int8_t *values, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (uint32_t)(values[i] * values[i]);
    return sum;
}

/* Two shifts, for a chip of 32 bits calls a helper that shifts 64 bits by what it does not know. */
void pml_look_add(const int8_t *values, size_t count, uint32_t inverse, unsigned shift, int32_t *sums)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t negative = mask_less(values[i], 0);
        const uint32_t size = (uint32_t)(multiply(negate32(negative, (uint32_t)(int32_t)values[i]), inverse) >> 9);
        sums[i] += (int32_t)negate32(negative, size >> shift); /* at most 2^21 */
    }
}

/* The bits of the binary32 number next to `sum` toward zero. */
static uint32_t bits_of(int32_t sum)
{
    const uint64_t negative = mask_less(sum, 0);
    uint32_t size = negate32(negative, (uint32_t)sum), exponent = 127 + 31;
    const uint64_t some = mask_nonzero(size);
    for (uint32_t step = 16; step > 0; step >>= 1) { /* the highest bit goes to place 31 */
        const uint64_t small = ~mask_nonzero(size >> (32 - step));
        size = select32(small, size << step, size);
        exponent -= step & (uint32_t)small;
    }
    return ((size >> 8 & 0x7FFFFF) | exponent << 23 | ((uint32_t)negative & 0x80000000)) & (uint32_t)some;
}

uint64_t pml_look_mean(const int32_t *sums, size_t count, float *features)
{
    uint32_t any = 0;
    for (size_t i = 0; i < count; i++) {
        union {
            uint32_t bits;
            float value;
        } both = {bits_of(sums[i])};
        features[i] = both.value;
        any |= both.bits;
    }
    return mask_nonzero(any);
}
