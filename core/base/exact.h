/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_EXACT_H
#define PML_EXACT_H
#include "base.h"

/* Exact integer arithmetic. */

/* ⌊√v⌋ */
/*@ terminates \true;
    assigns \nothing;
    ensures \result * \result <= v < (\result + 1) * (\result + 1); */
uint32_t pml_sqrt_floor(uint64_t v);

/* max { r : r²·norm2 ≤ 2^60 } for 1 ≤ norm2 < 2^32; 0 for 0. No branch on norm2 (SPEC 5.2). */
uint32_t pml_inverse_sqrt(uint32_t norm2);

/* Whether `inverse` is that and not 0, for any two numbers of public data: two trials instead of one for each bit. */
bool pml_is_inverse_sqrt(uint32_t inverse, uint32_t norm2);

/* ⌊127·value/max + ½⌋ for 0 ≤ value ≤ max ≠ 0, max < 2^55. No branch, no division: 7 trial steps. */
uint32_t pml_scale_127(uint64_t value, uint64_t max);

/* a·b without a branch. ARMv6-M and ARMv8-M baseline have no wide multiplication, and the compiler's helper for it
 * branches on the operands; ARMv7-M's (Cortex-M3) ends early. There, four products of 16-bit halves. */
#ifndef PML_NARROW_MULTIPLICATION
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__) || defined(__ARM_ARCH_7M__)
#define PML_NARROW_MULTIPLICATION 1
#else
#define PML_NARROW_MULTIPLICATION 0
#endif
#endif
/*@ terminates \true;
    assigns \nothing;
    ensures \result == a * b; */
static inline uint64_t multiply(uint32_t a, uint32_t b)
{
#if PML_NARROW_MULTIPLICATION
    uint32_t a1 = a >> 16, a0 = a & 0xFFFF, b1 = b >> 16, b0 = b & 0xFFFF;
    //@ assert halves: a == a1 * 0x10000 + a0 && b == b1 * 0x10000 + b0;
    uint64_t middle = (uint64_t)(a1 * b0) + a0 * b1;
    return ((uint64_t)(a1 * b1) << 32) + (middle << 16) + a0 * b0;
#else
    return (uint64_t)a * b;
#endif
}

/* The same for a signed a: in two's complement a negative one is 2^32 too large. */
static inline int64_t multiply_signed(int32_t a, uint32_t b)
{
#if UINTPTR_MAX > 0xFFFFFFFF
    return (int64_t)a * b; /* one instruction */
#else
    uint64_t excess = (uint64_t)(b & (uint32_t)mask_less(a, 0)) << 32;
    if (PML_NARROW_MULTIPLICATION) /* or clang sees one wide product, and calls the helper */
        excess = hide(excess);
    return (int64_t)(multiply((uint32_t)a, b) - excess);
#endif
}

/* Cosine in 2^-60 (SPEC 5.3) of a score, below 2^43 in size, and the other inverse norm, at most 2^30. The product is at
 * most 2^60 in size, so what the halves lose beyond 2^64 is nothing. */
/*@ terminates \true;
    assigns \nothing; */
static inline int64_t cosine_of(int64_t score, uint32_t inverse)
{
    const uint64_t low = multiply((uint32_t)(uint64_t)score, inverse);
    const uint64_t high = multiply((uint32_t)((uint64_t)score >> 32), inverse);
    return (int64_t)(low + (high << 32));
}

/* ⌊a/b⌋ and ⌈a/b⌉ for b > 0 */
/*@ requires b > 0;
    terminates \true;
    assigns \nothing;
    ensures \result * b <= a < (\result + 1) * b; */
static inline int64_t divide_floor(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b < 0);
}

/*@ requires b > 0;
    terminates \true;
    assigns \nothing;
    ensures (\result - 1) * b < a <= \result * b; */
static inline int64_t divide_ceil(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q + (a % b > 0);
}

//@ predicate nearest(integer q, integer a, integer b) = q * 2 * b <= 2 * a + b < q * 2 * b + 2 * b;

/* ⌊a/b + ½⌋ for 0 < b < 2^61, |a| < 2^61 */
/*@ requires 0 < b < 0x2000000000000000 && -0x2000000000000000 < a < 0x2000000000000000;
    terminates \true;
    assigns \nothing;
    ensures nearest(\result, a, b); */
static inline int64_t divide_round(int64_t a, int64_t b)
{
    return divide_floor(2 * a + b, 2 * b);
}

#endif
