/* SPDX-License-Identifier: Apache-2.0
 * Stage: integer kernel weights (SPEC 5.5). In: a (secret) score. Out: a (secret) integer in [floor, 65536].
 * The clamp is what the sensitivity proof rests on: whatever happens to a distance, the weight stays in the range. */
#include "base/exact.h"
#include "base/exponential.h"
#include "stages.h"

#define ONE 65536u
#define OPPOSITE (-((int64_t)1 << 60)) /* cosine of a row and its negative */

/* from 2^-31 to 2^-16 */
/*@ requires value <= 0x80000000;
    terminates \true;
    assigns \nothing;
    ensures \result == (value + 0x4000) / 0x8000; */
static uint32_t rounded(uint32_t value)
{
    return (value + 0x4000) >> 15;
}

uint32_t pml_weights_floor(uint32_t lambda)
{
    uint32_t floor = pml_kernel31(OPPOSITE, lambda) >> 15;
    return floor < 1 ? 1 : floor;
}

uint32_t pml_weights_of(int64_t score, uint32_t inverse, uint32_t lambda, uint32_t floor)
{
    uint32_t weight = rounded(pml_kernel31(cosine_of(score, inverse), lambda));
    weight = select32(mask_less(weight, floor), floor, weight);
    return select32(mask_less(ONE, weight), ONE, weight);
}

uint32_t pml_weights_label(uint32_t distance, uint32_t lambda)
{
    uint64_t x = (uint64_t)lambda * distance * distance << 10; /* below 2^62: distances of slots are below 2^10 */
    return rounded(pml_exp31(x >> 32 != 0 ? 0xFFFFFFFFu : (uint32_t)x));
}
