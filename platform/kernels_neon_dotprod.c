/* SPDX-License-Identifier: Apache-2.0
 * Kernels for 64-bit ARM with dot products of bytes (FEAT_DotProd). In: what core/base/kernels.h says. Out: what the portable
 * kernels would give, bit for bit.
 * Never reads a byte beyond the rows; never branches on a value. */
#include "../core/base/kernels.h"

#if defined(PML_KERNELS_AARCH64)
#include <arm_neon.h>

#if defined(__clang__)
#define DOTPROD __attribute__((target("dotprod")))
#else
#define DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))
#endif
#define INLINE static inline __attribute__((always_inline)) DOTPROD

/* SDOT sums four products of int8 into int32: exact for all values. Written out, since compilers before clang 16 have
 * its intrinsic only in files that are compiled for such CPUs as a whole. */
INLINE int32x4_t add_products(int32x4_t sum, int8x16_t query, int8x16_t row)
{
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(query), "w"(row));
    return sum;
}

#include "kernels_neon.h"

DOTPROD void pml_dots_s8_neon_dotprod(const int8_t *query, const int8_t *rows, size_t count, size_t row_count,
                                      int32_t *out)
{
    dots_of_rows(query, rows, count, row_count, out);
}

PML_SETS_NEON(neon_dotprod)

#endif
