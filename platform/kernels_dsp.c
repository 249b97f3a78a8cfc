/* SPDX-License-Identifier: Apache-2.0
 * Kernels for Cortex-M with the DSP instructions (Cortex-M4, M7, M33). In: what core/base/kernels.h says. Out: what the
 * portable kernels would give, bit for bit.
 * Never reads a byte beyond the rows; never branches on a value. */
#include "../core/base/kernels.h"

#if defined(PML_KERNELS_DSP)
#include <arm_acle.h>

#define STEP 4u /* bytes a word */

static inline uint32_t load(const int8_t *from)
{
    uint32_t word;
    __builtin_memcpy(&word, from, sizeof word);
    return word;
}

/* Bytes 0 and 2, bytes 1 and 3, each as two int16 in a word. */
static inline int16x2_t even(uint32_t word)
{
    return __sxtb16((int8x4_t)word);
}

static inline int16x2_t odd(uint32_t word)
{
    int16x2_t pair;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word)); /* compilers take two instructions */
    return pair;
}

/* SMLAD sums two products of int16 into int32: exact for all values. */
static inline int32_t add_products(int32_t sum, int16x2_t query_even, int16x2_t query_odd, uint32_t row)
{
    return __smlad(query_odd, odd(row), __smlad(query_even, even(row), sum));
}

/* Two rows, `stride` apart, share the loads of the query; with stride 0 they are one. */
static inline void two_dots(const int8_t *query, const int8_t *a, size_t count, size_t stride, int32_t *out)
{
    const int8_t *b = a + stride, *end = query + count / STEP * STEP;
    int32_t sum_a = 0, sum_b = 0;
    for (; query < end; query += STEP, a += STEP, b += STEP) {
        const uint32_t word = load(query);
        const int16x2_t query_even = even(word), query_odd = odd(word);
        sum_a = add_products(sum_a, query_even, query_odd, load(a));
        sum_b = add_products(sum_b, query_even, query_odd, load(b));
    }
    for (size_t j = 0; j < count % STEP; j++) {
        sum_a += query[j] * a[j];
        sum_b += query[j] * b[j];
    }
    out[0] = sum_a;
    out[stride > 0] = sum_b;
}

void pml_dots_s8_dsp(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out)
{
    for (size_t i = 0; i < row_count; i += 2)
        two_dots(query, rows + i * count, count, i + 1 < row_count ? count : 0, out + i);
}

const struct pml_kernels pml_kernels_dsp = {"dsp", pml_dots_s8_dsp};

#endif
