/* SPDX-License-Identifier: Apache-2.0
 * Compares coded sketches (SPEC 5.13) with AVX2, sixteen directions at a time. In: what core/base/kernels.h says. Out: what the
 * portable kernel would give. Never reads a byte beyond the sketch; never branches on a coordinate. */
#include "kernels_avx2.h"

#if defined(PML_KERNELS_X86_64)
#include "../core/base/sketch_code.h"

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi2")))
#define INLINE static inline __attribute__((always_inline)) AVX2

struct sums {
    __m256i dot, squares;
};

INLINE __m128i load(const void *from)
{
    return _mm_loadu_si128((const __m128i *)from);
}

/* The eight codes of a block, a byte each: its bytes are spread by one instruction. */
INLINE uint64_t codes_of(const uint8_t *block, const uint8_t *end, unsigned bits)
{
    uint64_t bytes = 0;
    if (end - block >= 8)
        __builtin_memcpy(&bytes, block, 8);
    else
        for (unsigned i = 0; block + i < end; i++)
            bytes |= (uint64_t)block[i] << 8 * i;
    return _pdep_u64(bytes, ((1u << bits) - 1) * 0x0101010101010101u);
}

/* The levels of sixteen codes, from tables of 16. */
INLINE __m128i levels_of(const int8_t *levels, unsigned bits, __m128i codes)
{
    __m128i found = _mm_shuffle_epi8(load(levels), codes);
    const __m128i high = _mm_and_si128(_mm_srli_epi16(codes, 4), _mm_set1_epi8(7));
    for (int8_t table = 1; table < 1 << bits >> 4; table++)
        found = _mm_blendv_epi8(found, _mm_shuffle_epi8(load(levels + 16 * table), codes),
                                _mm_cmpeq_epi8(high, _mm_set1_epi8(table)));
    return found;
}

/* Sixteen numbers of 16 bits, or eight and zeros. */
INLINE __m256i load_blocks(const void *from, bool two)
{
    return two ? _mm256_loadu_si256((const __m256i *)from) : _mm256_zextsi128_si256(load(from));
}

/* A level of 256·N times a width, rounded in 2^15, is what SPEC says of N in 2^7. */
INLINE void add_blocks(struct sums *sums, __m128i levels, const uint8_t *middles, const uint8_t *widths,
                       const int16_t *coordinates, bool two)
{
    const __m256i wide = _mm256_slli_epi16(_mm256_cvtepi8_epi16(levels), 8);
    const __m256i values =
        _mm256_add_epi16(load_blocks(middles, two), _mm256_mulhrs_epi16(wide, load_blocks(widths, two)));
    sums->dot = _mm256_add_epi32(sums->dot, _mm256_madd_epi16(values, load_blocks(coordinates, two)));
    sums->squares = _mm256_add_epi32(sums->squares, _mm256_madd_epi16(values, values));
}

INLINE int32_t sum_of(__m256i lanes)
{
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1)));
}

/* One or two blocks of one depth. */
INLINE void compare_blocks(const struct pml_coded *coded, struct sums *sums, const uint8_t *bytes, const uint8_t *end,
                           size_t direction, unsigned bits, bool two)
{
    const uint64_t first = codes_of(bytes, end, bits), second = two ? codes_of(bytes + bits, end, bits) : 0;
    const uint8_t *middles = coded->ranges + 2 * direction;
    add_blocks(sums,
               levels_of(sketch_levels(coded->code, bits), bits, _mm_set_epi64x((long long)second, (long long)first)),
               middles, middles + 2 * (size_t)coded->directions, coded->coordinates + direction, two);
}

AVX2 static void compare_whole(const struct pml_coded *coded, const uint8_t *bytes, struct pml_compared *compared)
{
    struct sums sums = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    const uint8_t *end = bytes + coded->bytes;
    size_t direction = 0;
    for (unsigned bits = PML_SKETCH_BITS_MAX; bits > 0; bits--) {
        uint32_t left = sketch_blocks(coded->code, bits);
        for (; left >= 2; left -= 2, bytes += 2 * bits, direction += 2 * PML_SKETCH_BLOCK)
            compare_blocks(coded, &sums, bytes, end, direction, bits, true);
        if (left == 0)
            continue;
        compare_blocks(coded, &sums, bytes, end, direction, bits, false);
        bytes += bits;
        direction += PML_SKETCH_BLOCK;
    }
    compared->dot = sum_of(sums.dot);
    compared->squares = (uint32_t)sum_of(sums.squares);
}

void pml_compare_avx2(const struct pml_coded *coded, const uint8_t *bytes, size_t count, struct pml_compared *compared)
{
    if (count == coded->bytes)
        compare_whole(coded, bytes, compared);
    else
        pml_compare_portable(coded, bytes, count, compared);
}
#endif
