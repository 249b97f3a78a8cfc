/* SPDX-License-Identifier: Apache-2.0
 * Kernels for ARM with NEON, 64 and 32 bits. In: what core/base/kernels.h says. Out: what the portable kernels would give,
 * bit for bit.
 * Never reads a byte beyond the rows; never branches on a value. */
#include "../core/base/kernels.h"

#if defined(PML_KERNELS_NEON)
#include <arm_neon.h>

#define INLINE static inline __attribute__((always_inline))

/* |q| ≤ 127: two products are at most 2·127·128 = 32512, and their sum stays in int16. */
INLINE int32x4_t add_products(int32x4_t sum, int8x16_t query, int8x16_t row)
{
    const int16x8_t low = vmull_s8(vget_low_s8(query), vget_low_s8(row));
    return vpadalq_s16(sum, vmlal_s8(low, vget_high_s8(query), vget_high_s8(row)));
}

#include "kernels_neon.h"

void pml_dots_s8_neon(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out)
{
    dots_of_rows(query, rows, count, row_count, out);
}

PML_SETS_NEON(neon)

#endif
