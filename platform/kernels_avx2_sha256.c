/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 with the instructions that x86-64 has for it, for CPUs with AVX2 too. In: public bytes. Out: what
 * core/base/sha256.c would give. */
#include "kernels_avx2.h"

#if defined(PML_KERNELS_X86_64)
#include <immintrin.h>

#define SHA __attribute__((target("avx2,sha")))
#define INLINE static inline __attribute__((always_inline)) SHA

/* The instructions hold the state as two vectors, the highest lane first: A B E F and C D G H. */
struct state {
    __m128i abef, cdgh;
};

/* Four rounds; `words` are those of the message. An instruction makes two, and exchanges the halves by its operands. */
INLINE void four_rounds(struct state *s, __m128i words, const uint32_t *constants)
{
    const __m128i sum = _mm_add_epi32(words, _mm_loadu_si128((const __m128i *)(const void *)constants));
    s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, sum);
    s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(sum, _MM_SHUFFLE(1, 0, 3, 2)));
}

/* The next four words of sixteen, the oldest first. */
INLINE __m128i next_words(__m128i a, __m128i b, __m128i c, __m128i d)
{
    return _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(a, b), _mm_alignr_epi8(d, c, 4)), d);
}

INLINE __m128i load_words(const uint8_t *from) /* the high byte of each first */
{
    const __m128i order = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)from), order);
}

INLINE struct state take_block(struct state s, const uint8_t *block)
{
    __m128i w[4];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        __m128i *now = &w[i % 4];
        *now = i < 4 ? load_words(block + 16 * i) : next_words(*now, w[(i + 1) % 4], w[(i + 2) % 4], w[(i + 3) % 4]);
        four_rounds(&s, *now, pml_sha256_round + 4 * i);
    }
    return s;
}

SHA void pml_sha256_blocks_avx2(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    __m128i *place = (__m128i *)(void *)state;
    const __m128i dcba = _mm_loadu_si128(place), hgfe = _mm_loadu_si128(place + 1);
    const __m128i cdab = _mm_shuffle_epi32(dcba, _MM_SHUFFLE(2, 3, 0, 1));
    const __m128i efgh = _mm_shuffle_epi32(hgfe, _MM_SHUFFLE(0, 1, 2, 3));
    struct state s = {_mm_alignr_epi8(cdab, efgh, 8), _mm_blend_epi16(efgh, cdab, 0xF0)};
    for (; count > 0; count--, blocks += 64) {
        const struct state next = take_block(s, blocks);
        s.abef = _mm_add_epi32(s.abef, next.abef);
        s.cdgh = _mm_add_epi32(s.cdgh, next.cdgh);
    }
    const __m128i feba = _mm_shuffle_epi32(s.abef, _MM_SHUFFLE(0, 1, 2, 3));
    const __m128i dchg = _mm_shuffle_epi32(s.cdgh, _MM_SHUFFLE(2, 3, 0, 1));
    _mm_storeu_si128(place, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128(place + 1, _mm_alignr_epi8(dchg, feba, 8));
}

#endif
