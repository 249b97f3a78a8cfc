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
#define MOST 8u    /* rows side by side */
#define AHEAD 8192 /* bytes: rows side by side are no stream that a CPU would prefetch */

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

INLINE __m256i widened(__m256i pairs) /* Σ of two neighbours, eight times */
{
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

INLINE __m256i pairs_of(struct factors query, const int8_t *row)
{
    return _mm256_maddubs_epi16(query.size, _mm256_xor_si256(query.sign, load(row)));
}

INLINE __m256i add_products(__m256i sum, struct factors query, const int8_t *row)
{
    return _mm256_add_epi32(sum, widened(pairs_of(query, row)));
}

/* −Σ |q|·m, the sum of sizes of what is negative: what every row's sum begins with. Spread over some of its lanes. */
INLINE __m256i sum_of_no_row(const int8_t *query, size_t count)
{
    const __m256i none = _mm256_setzero_si256();
    __m256i sum = none;
    for (size_t j = 0; j + STEP <= count; j += STEP)
        sum =
            _mm256_add_epi32(sum, _mm256_sad_epu8(_mm256_max_epi8(_mm256_sub_epi8(none, load(query + j)), none), none));
    const __m256i tail = _mm256_max_epi8(_mm256_sub_epi8(none, load_tail(query, count)), none);
    return _mm256_add_epi32(sum, _mm256_sad_epu8(tail, none));
}

INLINE __m128i totals(__m256i a, __m256i b, __m256i c, __m256i d)
{
    const __m256i sums = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    return _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

/* Eight rows side by side, or four: `many`. Written out, for not every compiler unrolls a loop to registers. */
struct sums {
    __m256i a, b, c, d, e, f, g, h;
};
#define OF_ROWS(sums, change)                                                                                          \
    do {                                                                                                               \
        change((sums)->a, 0u);                                                                                         \
        change((sums)->b, 1u);                                                                                         \
        change((sums)->c, 2u);                                                                                         \
        change((sums)->d, 3u);                                                                                         \
        if (many > 4) {                                                                                                \
            change((sums)->e, 4u);                                                                                     \
            change((sums)->f, 5u);                                                                                     \
            change((sums)->g, 6u);                                                                                     \
            change((sums)->h, 7u);                                                                                     \
        }                                                                                                              \
    } while (0)

/* One step, for which the rows share the loads of the query and keep the multipliers busy. */
INLINE void add_step(struct sums *sums, struct factors query, const int8_t *rows, size_t count, size_t many)
{
#define ADD_STEP(sum, row) sum = add_products(sum, query, rows + row * count)
    OF_ROWS(sums, ADD_STEP);
}

/* Two steps of rows that PML_SMALL allows: the sums of two pairs are widened together. */
INLINE __m256i add_both(__m256i sum, struct factors low, struct factors high, const int8_t *row)
{
    return _mm256_add_epi32(sum, widened(_mm256_add_epi16(pairs_of(low, row), pairs_of(high, row + STEP))));
}

INLINE void add_small(struct sums *sums, const int8_t *query, const int8_t *rows, size_t count, size_t many)
{
    const struct factors low = factors_of(load(query)), high = factors_of(load(query + STEP));
#define ADD_BOTH(sum, row) sum = add_both(sum, low, high, rows + row * count)
    OF_ROWS(sums, ADD_BOTH);
}

INLINE void fetch(const int8_t *from, size_t many)
{
    _mm_prefetch((const char *)from, _MM_HINT_T0);
    _mm_prefetch((const char *)from + 64, _MM_HINT_T0);
    if (many > 4) {
        _mm_prefetch((const char *)from + 128, _MM_HINT_T0);
        _mm_prefetch((const char *)from + 192, _MM_HINT_T0);
    }
}

/* `many` and `small` are constants. */
INLINE void several_dots(const int8_t *query, const int8_t *rows, size_t count, __m256i start, size_t many, bool small,
                         int32_t *out)
{
    struct sums sums = {start, start, start, start, start, start, start, start};
    size_t j = 0;
    for (; small && j + 2 * STEP <= count; j += 2 * STEP)
        add_small(&sums, query + j, rows + j, count, many);
    for (; j + STEP <= count; j += STEP) {
        fetch(rows + many * j + AHEAD, many);
        add_step(&sums, factors_of(load(query + j)), rows + j, count, many);
    }
    if (count % STEP != 0)
        add_step(&sums, factors_of(load_tail(query, count)), rows + count - STEP, count, many);
    _mm_storeu_si128((__m128i *)(void *)out, totals(sums.a, sums.b, sums.c, sums.d));
    if (many > 4)
        _mm_storeu_si128((__m128i *)(void *)(out + 4), totals(sums.e, sums.f, sums.g, sums.h));
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

INLINE void all_dots(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, bool small, int32_t *out)
{
    if (count < STEP) {
        pml_dots_s8_portable(query, rows, count, row_count, out);
        return;
    }
    const __m256i start = sum_of_no_row(query, count);
    size_t i = 0;
    for (; i + MOST <= row_count; i += MOST)
        several_dots(query, rows + i * count, count, start, MOST, small, out + i);
    for (; i + 4 <= row_count; i += 4)
        several_dots(query, rows + i * count, count, start, 4, small, out + i);
    for (; i < row_count; i++)
        out[i] = one_dot(query, rows + i * count, count, start);
}

AVX2 void pml_dots_s8_avx2(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out)
{
    all_dots(query, rows, count, row_count, false, out);
}

AVX2 static void dots_small(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out)
{
    all_dots(query, rows, count, row_count, true, out);
}

static void nearest(const int8_t *query, const int8_t *rows, const uint8_t *inverse, size_t count, size_t row_count,
                    uint64_t *list, size_t length)
{
    nearest_by(pml_dots_s8_avx2, query, rows, inverse, count, row_count, list, length);
}

PML_SETS_X86_64(avx2, nearest, dots_small)

#endif
