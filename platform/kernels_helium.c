/* SPDX-License-Identifier: Apache-2.0
 * Kernels for Cortex-M with Helium (Cortex-M55 and later). In: what core/base/kernels.h says. Out: what the portable kernels
 * would give, bit for bit.
 * Never reads a byte beyond the rows; never branches on a value. */
#include "../core/base/kernels.h"

#if defined(PML_KERNELS_HELIUM)
#include <arm_mve.h>

#define STEP 16u /* bytes a vector */

/* VMLADAVA sums sixteen products of int8 into int32: exact for all values. Four rows share the loads of the query; of
 * the last step only the bytes that are there are read. */
static inline void four_dots(const int8_t *query, const int8_t *rows, size_t count, int32_t *out)
{
    const int8_t *b = rows + count, *c = b + count, *d = c + count;
    int32_t sums[4] = {0, 0, 0, 0};
    size_t j = 0;
    for (; j + STEP <= count; j += STEP) {
        const int8x16_t factors = vldrbq_s8(query + j);
        sums[0] = vmladavaq_s8(sums[0], factors, vldrbq_s8(rows + j));
        sums[1] = vmladavaq_s8(sums[1], factors, vldrbq_s8(b + j));
        sums[2] = vmladavaq_s8(sums[2], factors, vldrbq_s8(c + j));
        sums[3] = vmladavaq_s8(sums[3], factors, vldrbq_s8(d + j));
    }
    if (j < count) {
        const mve_pred16_t bytes = vctp8q((uint32_t)(count - j));
        const int8x16_t factors = vldrbq_z_s8(query + j, bytes);
        sums[0] = vmladavaq_s8(sums[0], factors, vldrbq_z_s8(rows + j, bytes));
        sums[1] = vmladavaq_s8(sums[1], factors, vldrbq_z_s8(b + j, bytes));
        sums[2] = vmladavaq_s8(sums[2], factors, vldrbq_z_s8(c + j, bytes));
        sums[3] = vmladavaq_s8(sums[3], factors, vldrbq_z_s8(d + j, bytes));
    }
    for (size_t i = 0; i < 4; i++)
        out[i] = sums[i];
}

static inline int32_t one_dot(const int8_t *query, const int8_t *row, size_t count)
{
    int32_t sum = 0;
    for (size_t j = 0; j < count; j += STEP) {
        const mve_pred16_t bytes = vctp8q((uint32_t)(count - j));
        sum = vmladavaq_s8(sum, vldrbq_z_s8(query + j, bytes), vldrbq_z_s8(row + j, bytes));
    }
    return sum;
}

void pml_dots_s8_helium(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out)
{
    size_t i = 0;
    for (; i + 4 <= row_count; i += 4)
        four_dots(query, rows + i * count, count, out + i);
    for (; i < row_count; i++)
        out[i] = one_dot(query, rows + i * count, count);
}

const struct pml_kernels pml_kernels_helium = {"helium", pml_dots_s8_helium};

#endif
