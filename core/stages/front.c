/* SPDX-License-Identifier: Apache-2.0
 * Stage: the front (SPEC 5.18), the pack's map from a modality's features to its own. In: a (secret) int8 row and a public
 * map of any author. Out: (secret) sums, below 2^55 in size whatever the map, and their int8 values. Kernels are streamed:
 * their number costs no memory. */
#include "pack/front.h"
#include "base/exact.h"
#include "base/exponential.h"
#include "stages.h"

/* ---- signs ---- */

#define DIGITS 11u
#define POWER 362797056u /* 6^11 */

void pml_front_signs_begin(const pml_front *front, pml_random *signs, int64_t *sums)
{
    memset(sums, 0, front->outputs * sizeof *sums);
    pml_random_start(signs, front->seed);
}

/* The signs are public, so they may decide branches; the values may not. */
void pml_front_signs_add(const pml_front *front, pml_random *signs, const int8_t *values, size_t count, int64_t *sums)
{
    for (size_t j = 0; j < count; j++) {
        uint32_t digits = 0;
        for (size_t i = 0; i < front->outputs; i++) {
            if (i % DIGITS == 0)
                digits = pml_random_below(signs, POWER);
            const uint32_t digit = digits % 6;
            digits /= 6;
            if (digit < 2)
                sums[i] += digit == 0 ? values[j] : -values[j];
        }
    }
}

/* ---- matrix and kernels ---- */

/* Adds a centre's coefficients, weighted by its kernel. */
static void add_kernel(const pml_front *front, size_t index, int32_t dot, uint32_t inverse, int64_t *sums)
{
    const struct front_centre centre = front_centre(front, index);
    const int8_t *coefficients = front->values + front->centres * front->inputs + index * front->outputs;
    const int64_t cosine = cosine_of(multiply_signed(dot, centre.inverse), inverse);
    const uint32_t weight = centre.amplitude * (pml_kernel31(cosine, centre.lambda) >> 7); /* below 2^32 */
    for (size_t i = 0; i < front->outputs; i++)
        sums[i] += multiply_signed(coefficients[i], weight);
}

void pml_front_row(const pml_front *front, const struct pml_kernels *kernels, const int8_t *row, int64_t *sums)
{
    const bool matrix = front->kind == PML_FRONT_MATRIX;
    const uint32_t inverse = pml_inverse_norm(row, front->inputs), rows = matrix ? front->outputs : front->centres;
    int32_t dots[PML_KERNEL_ROWS];
    for (size_t i = 0; i < front->outputs; i++)
        sums[i] = front_offset(front, i);
    for (size_t at = 0; at < rows; at += PML_KERNEL_ROWS) {
        const size_t count = rows - at < PML_KERNEL_ROWS ? rows - at : PML_KERNEL_ROWS;
        kernels->dots_s8(row, front->values + at * front->inputs, front->inputs, count, dots);
        for (size_t i = 0; i < count; i++) {
            if (matrix)
                sums[at + i] = matrix_sum(front, at + i, dots[i], inverse);
            else
                add_kernel(front, at + i, dots[i], inverse, sums);
        }
    }
    pml_wipe(dots, sizeof dots);
}

/* ---- int8 again ---- */

/* Goes over the sums twice, first for the largest. */
uint64_t pml_front_emit(const pml_front *front, const int64_t *sums, uint64_t valid, int8_t *out)
{
    uint64_t top = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < front->outputs; i++) {
            const uint64_t negative = mask_less(sums[i], 0);
            const uint64_t size = (((uint64_t)sums[i] ^ negative) - negative) & valid;
            if (pass == 0)
                top = select64(mask_less((int64_t)top, (int64_t)size), size, top);
            else
                out[i] = (int8_t)(int32_t)negate32(negative, pml_scale_127(size, top));
        }
        valid &= mask_nonzero(top);
        top |= 1 & ~valid; /* all zero: any divisor does; then this changes nothing the second time */
    }
    return valid;
}
