/* SPDX-License-Identifier: Apache-2.0
 * Kernels for x86-64 with AVX-512 and its dot products of bytes. In: what core/kernels.h says. Out: what the portable
 * kernels would give, bit for bit.
 * Never reads a byte beyond the rows; never branches on a value. */
#include "../core/kernels.h"

#if defined(PML_KERNELS_X86_64)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define INLINE static inline __attribute__((always_inline)) AVX512

#define STEP 64u   /* bytes a vector */
#define AHEAD 8192 /* bytes: four rows side by side are no stream that a CPU would prefetch */

/* ---- dots_s8 ---- */

/* The instruction multiplies unsigned by signed bytes and sums four products into int32, without saturation. A row is
 * made unsigned by adding 128: q·r = q·(r + 128) − 128·q, for all int8 values. */

INLINE __m512i load(const int8_t *from)
{
    return _mm512_loadu_si512(from);
}

/* Of the last step only what is there is read; the rest is zero. */
INLINE __m512i load_tail(const int8_t *from, size_t count)
{
    return _mm512_maskz_loadu_epi8(((__mmask64)1 << count % STEP) - 1, from + count / STEP * STEP);
}

INLINE __m512i add_products(__m512i sum, __m512i query, __m512i row)
{
    return _mm512_dpbusd_epi32(sum, _mm512_xor_si512(row, _mm512_set1_epi8(INT8_MIN)), query);
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
    for (size_t j = 0; j + STEP <= count; j += STEP) {
        const __m512i factors = load(query + j);
        for (size_t line = 0; line < 4; line++)
            _mm_prefetch((const char *)rows + 4 * j + AHEAD + 64 * line, _MM_HINT_NTA);
        sum_a = add_products(sum_a, factors, load(rows + j));
        sum_b = add_products(sum_b, factors, load(b + j));
        sum_c = add_products(sum_c, factors, load(c + j));
        sum_d = add_products(sum_d, factors, load(d + j));
    }
    if (count % STEP != 0) {
        const __m512i factors = load_tail(query, count);
        sum_a = add_products(sum_a, factors, load_tail(rows, count));
        sum_b = add_products(sum_b, factors, load_tail(b, count));
        sum_c = add_products(sum_c, factors, load_tail(c, count));
        sum_d = add_products(sum_d, factors, load_tail(d, count));
    }
    const __m256i sums = _mm256_hadd_epi32(_mm256_hadd_epi32(folded(sum_a), folded(sum_b)),
                                           _mm256_hadd_epi32(folded(sum_c), folded(sum_d)));
    return _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

INLINE int32_t one_dot(const int8_t *query, const int8_t *row, size_t count, __m512i sum)
{
    for (size_t j = 0; j + STEP <= count; j += STEP)
        sum = add_products(sum, load(query + j), load(row + j));
    if (count % STEP != 0)
        sum = add_products(sum, load_tail(query, count), load_tail(row, count));
    return _mm512_reduce_add_epi32(sum);
}

/* −128·Σ q, spread over the lanes of a sum */
INLINE __m512i sum_of_no_row(const int8_t *query, size_t count)
{
    const __m512i raise = _mm512_set1_epi8(INT8_MIN);
    __m512i sum = _mm512_dpbusd_epi32(_mm512_setzero_si512(), raise, load_tail(query, count));
    for (size_t j = 0; j + STEP <= count; j += STEP)
        sum = _mm512_dpbusd_epi32(sum, raise, load(query + j));
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

/* The lanes from `at` on that a list of `length` has. */
INLINE __mmask8 held_lanes(size_t at, size_t length)
{
    return at + LANES <= length ? 0xFF : at < length ? (__mmask8)((1u << (length - at)) - 1) : 0;
}

/* Two keys enter at their places and those below move down: with high ≥ low,
 * new[i] = max(old[i], min(old[i − 1], high), min(old[i − 2], low)). `before` are the old lanes before these. */
INLINE __m512i with_two(__m512i before, __m512i old, __m512i high, __m512i low)
{
    const __m512i one_up = _mm512_alignr_epi64(old, before, LANES - 1);
    const __m512i two_up = _mm512_alignr_epi64(old, before, LANES - 2);
    return _mm512_max_epu64(old, _mm512_max_epu64(_mm512_min_epu64(one_up, high), _mm512_min_epu64(two_up, low)));
}

/* Passes the keys through the first CHUNK places of a list. Where there are more, what falls out of the last two takes
 * the places of the keys. */
INLINE void pass_through(uint64_t *list, size_t length, uint64_t *keys, int is_last)
{
    const __mmask8 held_a = held_lanes(0, length), held_b = held_lanes(LANES, length);
    const __m512i above = _mm512_set1_epi64(-1), below = _mm512_setzero_si512();
    __m512i a = _mm512_maskz_loadu_epi64(held_a, list), b = _mm512_maskz_loadu_epi64(held_b, list + LANES);
    for (size_t j = 0; j < PML_KERNEL_ROWS; j += 2) {
        const __m512i key = _mm512_set1_epi64((int64_t)keys[j]), next = _mm512_set1_epi64((int64_t)keys[j + 1]);
        const __m512i high = _mm512_max_epu64(key, next), low = _mm512_min_epu64(key, next);
        if (!is_last)
            _mm_storeu_si128((__m128i *)(void *)(keys + j), _mm512_castsi512_si128(with_two(b, below, high, low)));
        b = with_two(a, b, high, low);
        a = with_two(above, a, high, low);
    }
    _mm512_mask_storeu_epi64(list, held_a, a);
    _mm512_mask_storeu_epi64(list + LANES, held_b, b);
}

AVX512 static void keep_largest(uint64_t *list, size_t length, uint64_t *keys)
{
    for (; length > CHUNK; list += CHUNK, length -= CHUNK)
        pass_through(list, length, keys, 0);
    pass_through(list, length, keys, 1);
}

const struct pml_kernels pml_kernels_avx512vnni = {"avx512vnni", pml_dots_s8_avx512vnni, keep_largest};

#endif
