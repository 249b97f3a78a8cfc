/* SPDX-License-Identifier: Apache-2.0
 * Kernels for x86-64 with AVX-512 and its dot products of bytes. In: what core/kernels.h says. Out: what the portable
 * kernels would give, bit for bit.
 * Never reads a byte beyond the rows; never branches on a value. */
#include "../core/kernels.h"

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define INLINE static inline __attribute__((always_inline)) AVX512

#define STEP 64u   /* bytes a vector */
#define AHEAD 4096 /* bytes: four rows side by side are no stream that a CPU would prefetch */

/* ---- dots_s8 ---- */

/* The instruction multiplies unsigned by signed bytes and sums four products into int32, without saturation. A row is
 * made unsigned by adding 128: q·r = q·(r + 128) − 128·q, for all int8 values. */

/* Bytes of the step at `at` that are there. */
INLINE __mmask64 bytes_at(size_t at, size_t count)
{
    return count - at < STEP ? ((__mmask64)1 << (count - at)) - 1 : ~(__mmask64)0;
}

INLINE __m512i add_products(__m512i sum, const int8_t *row, __mmask64 bytes, __m512i query)
{
    const __m512i raised = _mm512_xor_si512(_mm512_maskz_loadu_epi8(bytes, row), _mm512_set1_epi8(INT8_MIN));
    return _mm512_dpbusd_epi32(sum, raised, query);
}

INLINE __m256i folded(__m512i sum)
{
    return _mm256_add_epi32(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
}

/* Four rows share the loads of the query. */
INLINE __m128i four_dots(const int8_t *query, const int8_t *rows, size_t count, __m512i start)
{
    const int8_t *b = rows + count, *c = b + count, *d = c + count;
    __m512i sum_a = start, sum_b = start, sum_c = start, sum_d = start;
    for (size_t j = 0; j < count; j += STEP) {
        const __mmask64 bytes = bytes_at(j, count);
        const __m512i factors = _mm512_maskz_loadu_epi8(bytes, query + j);
        for (size_t line = 0; line < 4; line++)
            _mm_prefetch((const char *)rows + 4 * j + AHEAD + 64 * line, _MM_HINT_T0);
        sum_a = add_products(sum_a, rows + j, bytes, factors);
        sum_b = add_products(sum_b, b + j, bytes, factors);
        sum_c = add_products(sum_c, c + j, bytes, factors);
        sum_d = add_products(sum_d, d + j, bytes, factors);
    }
    const __m256i sums = _mm256_hadd_epi32(_mm256_hadd_epi32(folded(sum_a), folded(sum_b)),
                                           _mm256_hadd_epi32(folded(sum_c), folded(sum_d)));
    return _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

INLINE int32_t one_dot(const int8_t *query, const int8_t *row, size_t count, __m512i sum)
{
    for (size_t j = 0; j < count; j += STEP) {
        const __mmask64 bytes = bytes_at(j, count);
        sum = add_products(sum, row + j, bytes, _mm512_maskz_loadu_epi8(bytes, query + j));
    }
    return _mm512_reduce_add_epi32(sum);
}

/* −128·Σ q, spread over the lanes of a sum */
INLINE __m512i sum_of_no_row(const int8_t *query, size_t count)
{
    __m512i sum = _mm512_setzero_si512();
    for (size_t j = 0; j < count; j += STEP)
        sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(INT8_MIN),
                                  _mm512_maskz_loadu_epi8(bytes_at(j, count), query + j));
    return _mm512_sub_epi32(_mm512_setzero_si512(), sum);
}

AVX512 void pml_dots_s8_avx512vnni(const int8_t *query, const int8_t *rows, size_t count, size_t row_count,
                                   int32_t *out)
{
    const __m512i start = sum_of_no_row(query, count);
    size_t i = 0;
    for (; i + 4 <= row_count; i += 4)
        _mm_storeu_si128((__m128i *)(void *)(out + i), four_dots(query, rows + i * count, count, start));
    for (; i < row_count; i++)
        out[i] = one_dot(query, rows + i * count, count, start);
}

/* ---- keep_largest ---- */

#define LANES 8u
#define CHUNK (2 * LANES) /* keys of the list in registers */

INLINE __mmask8 held_lanes(size_t at, size_t length)
{
    return at + LANES <= length ? 0xFF : at < length ? (__mmask8)((1u << (length - at)) - 1) : 0;
}

/* Passes all keys through CHUNK places of the list. A key enters at its place and those below move down:
 * new[i] = max(old[i], min(old[i − 1], key)). What falls out of the last place takes the key's. */
AVX512 static void pass_through(uint64_t *list, size_t length, uint64_t *keys, size_t count)
{
    const __mmask8 places_a = held_lanes(0, length), places_b = held_lanes(LANES, length);
    const __m512i largest = _mm512_set1_epi64(-1);
    __m512i a = _mm512_maskz_loadu_epi64(places_a, list), b = _mm512_maskz_loadu_epi64(places_b, list + LANES);
    for (size_t j = 0; j < count; j++) {
        const __m512i key = _mm512_set1_epi64((int64_t)keys[j]);
        const __m512i above_a = _mm512_alignr_epi64(a, largest, LANES - 1),
                      above_b = _mm512_alignr_epi64(b, a, LANES - 1);
        const __m512i last = _mm512_alignr_epi64(b, b, LANES - 1);
        a = _mm512_max_epu64(a, _mm512_min_epu64(above_a, key));
        b = _mm512_max_epu64(b, _mm512_min_epu64(above_b, key));
        keys[j] = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(_mm512_min_epu64(last, key)));
    }
    _mm512_mask_storeu_epi64(list, places_a, a);
    _mm512_mask_storeu_epi64(list + LANES, places_b, b);
}

AVX512 static void keep_largest(uint64_t *list, size_t length, uint64_t *keys, size_t count)
{
    for (size_t at = 0; at < length; at += CHUNK)
        pass_through(list + at, length - at, keys, count);
}

const struct pml_kernels pml_kernels_avx512vnni = {"avx512vnni", pml_dots_s8_avx512vnni, keep_largest};

#endif
