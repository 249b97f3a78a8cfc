/* SPDX-License-Identifier: Apache-2.0
 * Exact integer roots and ratios by trial of one bit at a time: the same number of steps for every value. */
#include "exact.h"

uint32_t pml_sqrt_floor(uint64_t v)
{
    uint32_t root = 0;
    for (int bit = 31; bit >= 0; bit--) {
        uint64_t trial = (uint64_t)root | (uint64_t)1 << bit;
        if (trial * trial <= v)
            root = (uint32_t)trial;
    }
    return root;
}

uint32_t pml_inverse_sqrt(uint32_t norm2)
{
    uint32_t root = 0;
    for (int bit = 30; bit >= 0; bit--) {
        uint32_t trial = root | (uint32_t)1 << bit;
        uint64_t square = multiply(trial, trial);
        uint64_t low = multiply((uint32_t)square, norm2); /* square·norm2 = carry·2^32 + low mod 2^32 */
        uint64_t carry = multiply((uint32_t)(square >> 32), norm2) + (low >> 32);
        uint64_t limit = (uint64_t)1 << 28; /* 2^60 / 2^32 */
        uint64_t below = mask_less((int64_t)carry, (int64_t)limit);
        uint64_t equal = mask_equal(carry, limit) & mask_equal((uint32_t)low, 0);
        root |= (uint32_t)(below | equal) & (uint32_t)1 << bit;
    }
    return root & (uint32_t)mask_nonzero(norm2);
}

uint32_t pml_inverse_norm(const int8_t *row, size_t count)
{
    uint32_t norm2 = 0;
    if (!row || count > PML_FEATURES_MAX)
        return 0;
    for (size_t i = 0; i < count; i++)
        norm2 += (uint32_t)(row[i] * row[i]);
    return pml_inverse_sqrt(norm2);
}

uint32_t pml_scale_127(uint64_t value, uint64_t max)
{
    /* result ≥ t  ⇔  127·value/max + ½ ≥ t  ⇔  (2t − 1)·max ≤ 254·value; `product` is (2·result − 1)·max */
    const uint64_t target = hide(value << 8) - (value << 1); /* or clang calls a helper on ARMv6-M: 254·value */
    uint64_t product = 0 - max;
    uint32_t result = 0;
    for (int bit = 6; bit >= 0; bit--) {
        uint64_t trial = product + (max << (bit + 1));
        uint64_t fits = ~mask_less((int64_t)target, (int64_t)trial);
        product = select64(fits, trial, product);
        result |= (uint32_t)fits & 1u << bit;
    }
    return result;
}
