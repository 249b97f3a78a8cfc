/* SPDX-License-Identifier: Apache-2.0
 * The exponential of integers (SPEC 5.5). In: a (secret) number. Out: e^-x. A polynomial of degree 6 for the fraction of
 * the power of two, six masked shifts for the rest of it. */
#include "exponential.h"
#include "exact.h"

#define LOG2_E 3098164009u /* in 2^-31 */

/* In 2^-32, signs alternating: 2^-z on [0, 1), at most 1.4e-9 off. */
static const uint32_t coefficients[] = {5478403, 41145185, 238331739, 1031755646, 2977043890};

uint32_t pml_exp31(uint32_t x)
{
    const uint64_t power = multiply(x, LOG2_E); /* in 2^-58 */
    const uint32_t fraction = (uint32_t)(power >> 26), whole = (uint32_t)(power >> 58);
    uint32_t sum = 469564;
    /*@ loop assigns i, sum;
        loop invariant i <= 5;
        loop variant 5 - i; */
    for (size_t i = 0; i < sizeof coefficients / sizeof *coefficients; i++)
        sum = coefficients[i] - (uint32_t)(multiply(fraction, sum) >> 32);
    uint32_t value = 0x80000000u - (uint32_t)(multiply(fraction, sum) >> 33);
    /*@ loop assigns bit, value;
        loop invariant bit <= 6 && value <= 0x80000000;
        loop variant 6 - bit; */
    for (unsigned bit = 0; bit < 6; bit++) { /* a shift by 32 in two halves */
        const unsigned half = (1u << bit) / 2;
        value = select32(0 - hide(whole >> bit & 1), value >> half >> ((1u << bit) - half), value);
    }
    return value;
}

uint32_t pml_kernel31(int64_t cosine, uint32_t lambda)
{
    const uint64_t gap = ((uint64_t)1 << 60) - (uint64_t)cosine; /* at most 2^61 */
    const uint64_t low = multiply(lambda, (uint32_t)gap), high = multiply(lambda, (uint32_t)(gap >> 32));
    const uint64_t x = (high + (low >> 32)) >> 17; /* ⌊lambda·gap/2^49⌋ */
    return pml_exp31(select32(mask_nonzero(x >> 32), 0xFFFFFFFFu, (uint32_t)x));
}
