/* SPDX-License-Identifier: Apache-2.0
 * Stage: integer kernel weights (SPEC 5.5). In: a score. Out: an integer in [floor, 65536].
 * The clamp is what the sensitivity proof rests on: whatever happens to a distance, the weight stays in the range. */
#include "base/elementary.h"
#include "stages.h"

#define ONE 65536u

uint32_t pml_weights_floor(uint32_t lambda)
{
    double beta = pml_exp(-2.0 * lambda / 65536.0) * ONE;
    return beta < 1.0 ? 1 : (uint32_t)beta;
}

uint32_t pml_weights_of(int64_t score, uint32_t inverse, uint32_t lambda, uint32_t floor)
{
    int64_t cosine = score * (int64_t)inverse; /* in 2^-60; |score| ≤ 2^30·|q|, inverse ≤ 2^30/|q| */
    uint64_t gap = ((uint64_t)1 << 60) - (uint64_t)cosine;
    double weight = pml_exp(-((double)gap * 0x1p-60 * (lambda / 65536.0))) * ONE + 0.5;
    uint32_t rounded = (uint32_t)weight;
    if (rounded < floor)
        return floor;
    return rounded > ONE ? ONE : rounded;
}

uint32_t pml_weights_label(uint32_t distance, uint32_t lambda)
{
    double square = (double)distance * distance;
    return (uint32_t)(pml_exp(-(square * 0.5 * (lambda / 65536.0))) * ONE + 0.5);
}
