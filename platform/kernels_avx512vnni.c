/* SPDX-License-Identifier: Apache-2.0
 * Kernels for x86-64 with AVX-512 and its dot products of bytes. In: what core/base/kernels.h says. Out: what the portable
 * kernels would give, bit for bit.
 * Never reads a byte beyond the rows; never branches on a value. */
#include "kernels_avx2.h"

#if defined(PML_KERNELS_X86_64)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define INLINE static inline __attribute__((always_inline)) AVX512

#define STEP 64u /* bytes a vector */
#define PANEL 8u /* vectors of the query that stay in registers */

/* ---- dots_s8 ---- */

/* The instruction multiplies unsigned by signed bytes and sums four products into int32, without saturation. A row is
 * made unsigned by adding 128: q·r = q·(r + 128) − 128·q, for all int8 values. */

INLINE __m512i load(const int8_t *from)
{
    return _mm512_loadu_si512(from);
}

/* Of the last step only what is there is read; the rest is zero. */
INLINE __m512i load_part(const int8_t *from, size_t bytes)
{
    return _mm512_maskz_loadu_epi8(((__mmask64)1 << bytes) - 1, from);
}

INLINE __m512i add_products(__m512i sum, __m512i query, __m512i row)
{
    return _mm512_dpbusd_epi32(sum, _mm512_xor_si512(row, _mm512_set1_epi8(INT8_MIN)), query);
}

INLINE __m256i folded(__m512i sum)
{
    return _mm256_add_epi32(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
}

INLINE __m128i totals(__m512i a, __m512i b, __m512i c, __m512i d)
{
    const __m256i sums =
        _mm256_hadd_epi32(_mm256_hadd_epi32(folded(a), folded(b)), _mm256_hadd_epi32(folded(c), folded(d)));
    return _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

/* Rows are read one after the other, as memory is fastest; their products with a part of the query, which begins where
 * they do, are added to `out`. `dot` gives the lanes of one row's sum. */
#define ADD_ROWS(dot)                                                                                                  \
    size_t i = 0;                                                                                                      \
    for (; i + 4 <= row_count; i += 4, rows += 4 * stride) {                                                           \
        const __m512i a = dot(rows), b = dot(rows + stride), c = dot(rows + 2 * stride), d = dot(rows + 3 * stride);   \
        __m128i *place = (__m128i *)(void *)(out + i);                                                                 \
        _mm_storeu_si128(place, _mm_add_epi32(_mm_loadu_si128(place), totals(a, b, c, d)));                            \
    }                                                                                                                  \
    for (; i < row_count; i++, rows += stride)                                                                         \
        out[i] += _mm512_reduce_add_epi32(dot(rows));

/* −128·Σ q, spread over the lanes of a sum */
INLINE __m512i sum_of_no_row(__m512i sum, __m512i query)
{
    return _mm512_sub_epi32(sum, _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(INT8_MIN), query));
}

INLINE __m512i panel_dot(__m512i sum, const __m512i *query, const int8_t *row)
{
#pragma GCC unroll 8
    for (size_t v = 0; v < PANEL; v++)
        sum = add_products(sum, query[v], load(row + v * STEP));
    return sum;
}

INLINE void add_panel(const int8_t *query, const int8_t *rows, size_t stride, size_t row_count, int32_t *out)
{
    __m512i start = _mm512_setzero_si512(), factors[PANEL];
#pragma GCC unroll 8
    for (size_t v = 0; v < PANEL; v++) {
        factors[v] = load(query + v * STEP);
        start = sum_of_no_row(start, factors[v]);
    }
#define PANEL_DOT(row) panel_dot(start, factors, row)
    ADD_ROWS(PANEL_DOT)
}

/* The rest of a query, below a panel: a loop over vectors, and the bytes of one that is not whole. */
INLINE __m512i rest_dot(__m512i sum, const int8_t *query, size_t count, const int8_t *row)
{
    size_t j = 0;
    for (; j + STEP <= count; j += STEP)
        sum = add_products(sum, load(query + j), load(row + j));
    return j == count ? sum : add_products(sum, load_part(query + j, count - j), load_part(row + j, count - j));
}

INLINE void add_rest(const int8_t *query, size_t count, const int8_t *rows, size_t stride, size_t row_count,
                     int32_t *out)
{
    __m512i start = sum_of_no_row(_mm512_setzero_si512(), load_part(query + count / STEP * STEP, count % STEP));
    for (size_t j = 0; j + STEP <= count; j += STEP)
        start = sum_of_no_row(start, load(query + j));
#define REST_DOT(row) rest_dot(start, query, count, row)
    ADD_ROWS(REST_DOT)
}

AVX512 void pml_dots_s8_avx512vnni(const int8_t *query, const int8_t *rows, size_t count, size_t row_count,
                                   int32_t *out)
{
    size_t j = 0;
    for (size_t i = 0; i < row_count; i++)
        out[i] = 0;
    for (; j + PANEL * STEP <= count; j += PANEL * STEP)
        add_panel(query + j, rows + j, count, row_count, out);
    if (j < count)
        add_rest(query + j, count - j, rows + j, count, row_count, out);
}

static void nearest(const int8_t *query, const int8_t *rows, const uint8_t *inverse, size_t count, size_t row_count,
                    uint64_t *list, size_t length)
{
    nearest_by(pml_dots_s8_avx512vnni, query, rows, inverse, count, row_count, list, length);
}

PML_SETS_X86_64(avx512vnni, nearest, NULL)

#endif
