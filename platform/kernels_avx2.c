/* SPDX-License-Identifier: Apache-2.0
 * Kernels for x86-64 with AVX2. In: what core/base/kernels.h says. Out: what the portable kernels would give, bit for bit.
 * Never reads a byte beyond the rows; never branches on a value. */
#include "kernels_avx2.h"

#if defined(PML_KERNELS_X86_64)
#include <immintrin.h>

/* By attribute, not by the file's flags: so every build system can compile this file, whatever flags it has. */
#define AVX2 __attribute__((target("avx2")))
#define INLINE static inline __attribute__((always_inline)) AVX2

#define STEP 32u   /* bytes a vector */
#define AHEAD 8192 /* bytes: four rows side by side are no stream that a CPU would prefetch */

/* ---- dots_s8 ---- */

/* DESIGN.md, kernels: with m = −1 where q < 0 and else 0, q·r = |q|·(r ⊕ m) − |q|·m. No sum of two products
 * |q|·(r ⊕ m) leaves int16, whatever the int8 values; and −Σ |q|·m does not depend on the row. */
struct factors {
    __m256i size, sign; /* |q|, m */
};

INLINE struct factors factors_of(__m256i query)
{
    return (struct factors){_mm256_abs_epi8(query), _mm256_cmpgt_epi8(_mm256_setzero_si256(), query)};
}

INLINE __m256i load(const int8_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

/* The last STEP bytes of the query, with zeros for those that whole steps have covered: a row may then be read there
 * again, and nothing beyond its end is. */
INLINE __m256i load_tail(const int8_t *query, size_t count)
{
    static const int8_t zeros_then_ones[2 * STEP] = {
        [STEP] = -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1,          -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    };
    return _mm256_and_si256(load(query + count - STEP), load(zeros_then_ones + count % STEP));
}

/* Σ of four neighbouring products, eight times */
INLINE __m256i multiply(__m256i sizes, __m256i values)
{
    return _mm256_madd_epi16(_mm256_maddubs_epi16(sizes, values), _mm256_set1_epi16(1));
}

INLINE __m256i add_products(__m256i sum, struct factors query, const int8_t *row)
{
    return _mm256_add_epi32(sum, multiply(query.size, _mm256_xor_si256(query.sign, load(row))));
}

/* −Σ |q|·m, spread over the lanes of a sum */
INLINE __m256i sum_of_no_row(const int8_t *query, size_t count)
{
    __m256i sum = _mm256_setzero_si256();
    for (size_t j = 0; j + STEP <= count; j += STEP) {
        struct factors factors = factors_of(load(query + j));
        sum = _mm256_sub_epi32(sum, multiply(factors.size, factors.sign));
    }
    struct factors factors = factors_of(load_tail(query, count));
    return _mm256_sub_epi32(sum, multiply(factors.size, factors.sign));
}

/* Four rows share the loads of the query and keep the multipliers busy. */
INLINE __m128i four_dots(const int8_t *query, const int8_t *rows, size_t count, __m256i start)
{
    const int8_t *b = rows + count, *c = b + count, *d = c + count;
    __m256i sum_a = start, sum_b = start, sum_c = start, sum_d = start;
    for (size_t j = 0; j + STEP <= count; j += STEP) {
        struct factors factors = factors_of(load(query + j));
        _mm_prefetch((const char *)rows + 4 * j + AHEAD, _MM_HINT_NTA);
        _mm_prefetch((const char *)rows + 4 * j + AHEAD + 64, _MM_HINT_NTA);
        sum_a = add_products(sum_a, factors, rows + j);
        sum_b = add_products(sum_b, factors, b + j);
        sum_c = add_products(sum_c, factors, c + j);
        sum_d = add_products(sum_d, factors, d + j);
    }
    if (count % STEP != 0) {
        struct factors factors = factors_of(load_tail(query, count));
        sum_a = add_products(sum_a, factors, rows + count - STEP);
        sum_b = add_products(sum_b, factors, b + count - STEP);
        sum_c = add_products(sum_c, factors, c + count - STEP);
        sum_d = add_products(sum_d, factors, d + count - STEP);
    }
    __m256i sums = _mm256_hadd_epi32(_mm256_hadd_epi32(sum_a, sum_b), _mm256_hadd_epi32(sum_c, sum_d));
    return _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

INLINE int32_t one_dot(const int8_t *query, const int8_t *row, size_t count, __m256i sum)
{
    for (size_t j = 0; j + STEP <= count; j += STEP)
        sum = add_products(sum, factors_of(load(query + j)), row + j);
    if (count % STEP != 0)
        sum = add_products(sum, factors_of(load_tail(query, count)), row + count - STEP);
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    half = _mm_hadd_epi32(half, half);
    return _mm_cvtsi128_si32(_mm_hadd_epi32(half, half));
}

AVX2 void pml_dots_s8_avx2(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out)
{
    if (count < STEP) {
        pml_dots_s8_portable(query, rows, count, row_count, out);
        return;
    }
    const __m256i start = sum_of_no_row(query, count);
    size_t i = 0;
    for (; i + 4 <= row_count; i += 4)
        _mm_storeu_si128((__m128i *)(void *)(out + i), four_dots(query, rows + i * count, count, start));
    for (; i < row_count; i++)
        out[i] = one_dot(query, rows + i * count, count, start);
}

const struct pml_kernels pml_kernels_avx2 = {"avx2", pml_dots_s8_avx2, pml_keep_largest_avx2};

#endif
