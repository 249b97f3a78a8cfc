/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_EXACT_H
#define PML_EXACT_H
#include "base.h"

/* Exact integer arithmetic. */

/* ⌊√v⌋ */
uint32_t pml_sqrt_floor(uint64_t v);

/* max { r : r²·norm2 ≤ 2^62 } for 1 ≤ norm2 ≤ 2^26; 0 for 0. No branch on norm2 (SPEC 5.2). */
uint32_t pml_inverse_sqrt(uint32_t norm2);

/* ⌊127·value/max + ½⌋ for 0 ≤ value ≤ max ≠ 0, max < 2^55. No branch, no division: 7 trial steps. */
uint32_t pml_scale_127(uint64_t value, uint64_t max);

/* ⌊a/b⌋ and ⌈a/b⌉ for b > 0 */
static inline int64_t divide_floor(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b < 0);
}

static inline int64_t divide_ceil(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q + (a % b > 0);
}

/* ⌊a/b + ½⌋ for b > 0, |a| < 2^61 */
static inline int64_t divide_round(int64_t a, int64_t b)
{
    return divide_floor(2 * a + b, 2 * b);
}

#endif
