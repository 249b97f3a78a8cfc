/* SPDX-License-Identifier: Apache-2.0
 * Quantising for x86-64 with AVX2, eight values at a time. In: secret floats. Out: what core/stages/quantise.c would give,
 * bit for bit: the same integers, step by step. What is left over is given to it. Never branches on a value. */
#include "kernels_avx2.h"

#if defined(PML_KERNELS_X86_64)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define INLINE static inline __attribute__((always_inline)) AVX2

#define LANES 8u

INLINE __m256i load(const float *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

INLINE __m256i all(uint32_t value)
{
    return _mm256_set1_epi32((int32_t)value);
}

AVX2 uint32_t pml_quantise_top_avx2(const float *features, size_t count, uint32_t top)
{
    __m256i largest = all(top);
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        largest = _mm256_max_epu32(largest, _mm256_and_si256(load(features + i), all(0x7FFFFFFF)));
    __m128i half = _mm_max_epu32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
    half = _mm_max_epu32(half, _mm_shuffle_epi32(half, _MM_SHUFFLE(1, 0, 3, 2)));
    half = _mm_max_epu32(half, _mm_shuffle_epi32(half, _MM_SHUFFLE(2, 3, 0, 1)));
    return pml_quantise_top_portable(features + i, count - i, (uint32_t)_mm_cvtsi128_si32(half));
}

/* a·b >> `shift` in lanes of 32 bits, `shift` ≥ 32 */
INLINE __m256i multiply_high(__m256i a, __m256i b, int shift)
{
    const __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(a, b), shift);
    const __m256i odd = _mm256_srli_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b), shift);
    return _mm256_or_si256(even, _mm256_slli_epi64(odd, 32));
}

/* All ones where a ≥ b, unsigned. */
INLINE __m256i at_least(__m256i a, __m256i b)
{
    return _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a);
}

INLINE __m256i scaled(const struct scale *scale, __m256i value, __m256i down)
{
    down = _mm256_min_epu32(down, all(9));
    const __m256i estimate = multiply_high(_mm256_mullo_epi32(value, all(127)), all(scale->reciprocal), 32);
    const __m256i half = _mm256_sllv_epi32(all(0x400000), down);
    const __m256i size = _mm256_srlv_epi32(_mm256_srli_epi32(_mm256_add_epi32(estimate, half), 23), down);
    const __m256i needed = _mm256_mullo_epi32(_mm256_add_epi32(_mm256_add_epi32(size, size), all(1)), all(scale->max));
    const __m256i given = _mm256_srlv_epi32(_mm256_mullo_epi32(value, all(254)), down);
    return _mm256_sub_epi32(size, at_least(given, needed));
}

INLINE __m256i scaled_root(const struct scale *scale, __m256i value, __m256i down)
{
    const __m256i ratio =
        _mm256_srlv_epi32(multiply_high(value, all(scale->reciprocal), 39), _mm256_min_epu32(down, all(16)));
    const __m256i square = _mm256_srli_epi32(_mm256_mullo_epi32(ratio, all(64516)), 16);
    __m256i root = _mm256_setzero_si256();
    for (uint32_t bit = 128; bit > 0; bit >>= 1) {
        const __m256i trial = _mm256_or_si256(root, all(bit));
        const __m256i fits = at_least(square, _mm256_mullo_epi32(trial, trial));
        root = _mm256_or_si256(root, _mm256_and_si256(all(bit), fits));
    }
    return _mm256_srli_epi32(_mm256_add_epi32(root, all(1)), 1);
}

/* Eight values of `bits`. The sign goes to the size at last. */
INLINE __m256i quantised(const struct scale *scale, bool root, __m256i bits)
{
    const __m256i field = _mm256_and_si256(_mm256_srli_epi32(bits, 23), all(0xFF));
    const __m256i subnormal = _mm256_cmpeq_epi32(field, _mm256_setzero_si256());
    const __m256i fraction = _mm256_and_si256(bits, all(0x7FFFFF));
    const __m256i mantissa = _mm256_or_si256(fraction, _mm256_andnot_si256(subnormal, all(0x800000)));
    const __m256i value = _mm256_sllv_epi32(mantissa, all(scale->shift));
    const __m256i down = _mm256_sub_epi32(all(scale->exponent), _mm256_max_epu32(field, all(1)));
    const __m256i size = root ? scaled_root(scale, value, down) : scaled(scale, value, down);
    const __m256i negative = _mm256_srai_epi32(bits, 31);
    return _mm256_sub_epi32(_mm256_xor_si256(size, negative), negative);
}

AVX2 void pml_quantise_values_avx2(const struct scale *scale, uint64_t valid, bool root, const float *features,
                                   size_t count, int8_t *out)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        const __m256i values = quantised(scale, root, _mm256_and_si256(load(features + i), all((uint32_t)valid)));
        const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
        _mm_storel_epi64((__m128i *)(void *)(out + i), _mm_packs_epi16(words, words));
    }
    pml_quantise_values_portable(scale, valid, root, features + i, count - i, out + i);
}

#endif
