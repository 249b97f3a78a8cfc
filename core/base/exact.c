/* SPDX-License-Identifier: Apache-2.0
 * Exact integer roots and ratios, in the same number of steps for every value. */
#include "exact.h"

/*@ logic integer gap(integer bit) = bit < 0 ? 1 : 2 * (1 << bit); // what is still open: 2^(bit + 1)
    logic integer square(integer v) = v < 0 ? -1 : v * v;
    lemma square_fits: \forall integer v; 0 <= v <= 0xFFFFFFFF ==> square(v) <= 0xFFFFFFFE00000001; */

uint32_t pml_sqrt_floor(uint64_t v)
{
    uint32_t root = 0;
    /*@ loop assigns bit, root;
        loop invariant -1 <= bit <= 31 && root + gap(bit) <= 0x100000000;
        loop invariant square(root) <= v < square(root + gap(bit));
        loop variant bit; */
    for (int bit = 31; bit >= 0; bit--) {
        const uint64_t trial = root + ((uint64_t)1 << bit);
        //@ assert trial == root + (1 << bit) <= 0xFFFFFFFF && gap(bit - 1) == 1 << bit && gap(bit) == 2 * (1 << bit);
        //@ assert root + gap(bit) == trial + gap(bit - 1);
        //@ assert square(trial) <= 0xFFFFFFFE00000001;
        //@ assert (uint64_t)(trial * trial) == square(trial) && (uint32_t)trial == trial;
        //@ assert v < square(trial + gap(bit - 1));
        if (trial * trial <= v)
            root = (uint32_t)trial;
        /*@ assert root == trial ||
              (root == \at(root, LoopCurrent) && v < square(trial) && trial == root + gap(bit - 1)); */
    }
    return root;
}

/* A mask: root²·norm2 ≤ 2^60. In units of 2^32, rounded up, that is at most 2^28. */
static uint64_t fits(uint32_t root, uint32_t norm2)
{
    uint64_t square = multiply(root, root);
    uint64_t low = multiply((uint32_t)square, norm2) + UINT32_MAX;
    uint64_t units = multiply((uint32_t)(square >> 32), norm2) + (low >> 32);
    return mask_less((int64_t)units, ((int64_t)1 << 28) + 1);
}

static uint32_t high(uint32_t a, uint32_t b)
{
    return (uint32_t)(multiply(a, b) >> 32);
}

/* norm2·4^k = m·2^32 with ¼ ≤ m < 1, so the result is 2^31·u / 2^(16 − k) with u = ½/√m. A parabola is within 4.2 % of u;
 * each of Newton's steps u(3/2 − 2mu²) squares the error. What is left of it, and of rounding, is below 3, for all
 * 2^32 arguments, and two trials mend that. */
uint32_t pml_inverse_sqrt(uint32_t norm2)
{
    uint32_t m = norm2, shift = 16;
    for (uint32_t step = 16; step > 1; step /= 2) {
        const uint32_t small = (uint32_t)mask_less(m, (uint32_t)1 << (32 - step));
        m = select32(small, m << step, m);
        shift -= small & step / 2;
    }
    uint32_t u = 2773938625u - high(3256508046u, m) + high(1584695705u, high(m, m));
    for (int i = 0; i < 3; i++) {
        const uint32_t square = (uint32_t)(multiply(u, u) >> 31);
        u = (uint32_t)(multiply(u, 0xC0000000u - 2 * high(square, m)) >> 31);
    }
    uint32_t root = (u - 3) >> shift;
    for (uint32_t more = 2; more > 0; more /= 2)
        root += more & (uint32_t)fits(root + more, norm2);
    return root & (uint32_t)mask_nonzero(norm2);
}

bool pml_is_inverse_sqrt(uint32_t inverse, uint32_t norm2)
{
    return (fits(inverse, norm2) & ~fits(inverse + 1, norm2)) != 0;
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
