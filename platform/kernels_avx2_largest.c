/* SPDX-License-Identifier: Apache-2.0
 * keep_largest for x86-64 with AVX2: sixteen keys at a time, by a sorting network. In: what core/base/kernels.h says. Out: what
 * the portable kernel would give, bit for bit. Never branches on a key: a network compares the same places whatever is in
 * them. */
#include "kernels_avx2.h"

#if defined(PML_KERNELS_X86_64)
#include <immintrin.h>
#include <stdbool.h>

#define AVX2 __attribute__((target("avx2")))
#define INLINE static inline __attribute__((always_inline)) AVX2

#define LANES 4u
#define BLOCK 16u

/* Sixteen keys in descending order: place i is lane i / 4 of vector i % 4. Places 1 and 2 apart are then whole vectors, and
 * only those 4 and 8 apart need lanes moved. Comparisons are signed, so keys are held moved by 2^63. */
struct block {
    __m256i v[4];
};

INLINE __m256i moved(__m256i keys)
{
    return _mm256_xor_si256(keys, _mm256_set1_epi64x(INT64_MIN));
}

/* ---- one comparison of many places ---- */

/* `yes` where the mask is set. As doubles: gcc 12 takes the blend of bytes for a comparison of bytes, and makes it one. */
INLINE __m256i chosen(__m256i no, __m256i yes, __m256i mask)
{
    return _mm256_castpd_si256(
        _mm256_blendv_pd(_mm256_castsi256_pd(no), _mm256_castsi256_pd(yes), _mm256_castsi256_pd(mask)));
}

/* The larger to a, the smaller to b. */
INLINE void order(__m256i *a, __m256i *b)
{
    const __m256i wrong = _mm256_cmpgt_epi64(*b, *a), first = *a;
    *a = chosen(first, *b, wrong);
    *b = chosen(*b, first, wrong);
}

INLINE __m256i swap_neighbours(__m256i v) /* lanes 0 and 1, 2 and 3 */
{
    return _mm256_shuffle_epi32(v, _MM_SHUFFLE(1, 0, 3, 2));
}

INLINE __m256i swap_halves(__m256i v)
{
    return _mm256_permute4x64_epi64(v, _MM_SHUFFLE(1, 0, 3, 2));
}

INLINE __m256i reverse(__m256i v)
{
    return _mm256_permute4x64_epi64(v, _MM_SHUFFLE(0, 1, 2, 3));
}

/* Each lane and its partner's: the larger stays, but the smaller where `upper` is all ones. */
INLINE __m256i order_lanes(__m256i own, __m256i partner, __m256i upper)
{
    return chosen(own, partner, _mm256_xor_si256(_mm256_cmpgt_epi64(partner, own), upper));
}

INLINE __m256i order_pairs(__m256i own, __m256i other) /* the upper lane of each pair */
{
    return order_lanes(own, swap_neighbours(other), _mm256_setr_epi64x(0, -1, 0, -1));
}

INLINE __m256i order_halves(__m256i own, __m256i partner) /* the upper half */
{
    return order_lanes(own, partner, _mm256_setr_epi64x(0, 0, -1, -1));
}

/* ---- networks ---- */

/* The last stages of a merge, for places 2 and 1 apart. */
INLINE void merge_vectors(struct block *b)
{
    order(&b->v[0], &b->v[2]);
    order(&b->v[1], &b->v[3]);
    order(&b->v[0], &b->v[1]);
    order(&b->v[2], &b->v[3]);
}

INLINE void merge_pairs(struct block *b)
{
    for (int i = 0; i < 4; i++)
        b->v[i] = order_pairs(b->v[i], b->v[i]);
    merge_vectors(b);
}

/* Sorts what rises and then falls, or the other way round. */
INLINE void merge_bitonic(struct block *b)
{
    for (int i = 0; i < 4; i++)
        b->v[i] = order_halves(b->v[i], swap_halves(b->v[i]));
    merge_pairs(b);
}

/* Sorts four in each lane, merges lanes to eight and those to sixteen. To merge two sorted runs the first place of one is
 * compared with the last of the other, and so on inwards. */
INLINE void sort(struct block *b)
{
    order(&b->v[0], &b->v[1]);
    order(&b->v[2], &b->v[3]);
    order(&b->v[0], &b->v[2]);
    order(&b->v[1], &b->v[3]);
    order(&b->v[1], &b->v[2]);
    struct block old = *b;
    for (int i = 0; i < 4; i++)
        b->v[i] = order_pairs(b->v[i], old.v[3 - i]);
    merge_vectors(b);
    old = *b;
    for (int i = 0; i < 4; i++)
        b->v[i] = order_halves(b->v[i], reverse(old.v[3 - i]));
    merge_pairs(b);
}

/* ---- from and to memory ---- */

INLINE void transpose(struct block *b)
{
    const __m256i p = _mm256_unpacklo_epi64(b->v[0], b->v[1]), q = _mm256_unpackhi_epi64(b->v[0], b->v[1]);
    const __m256i r = _mm256_unpacklo_epi64(b->v[2], b->v[3]), s = _mm256_unpackhi_epi64(b->v[2], b->v[3]);
    b->v[0] = _mm256_permute2x128_si256(p, r, 0x20);
    b->v[1] = _mm256_permute2x128_si256(q, s, 0x20);
    b->v[2] = _mm256_permute2x128_si256(p, r, 0x31);
    b->v[3] = _mm256_permute2x128_si256(q, s, 0x31);
}

/* All ones in those lanes of the vector at `at` that are among the first `count`. */
INLINE __m256i present(size_t at, size_t count)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x((int64_t)count),
                              _mm256_add_epi64(_mm256_set1_epi64x((int64_t)at), _mm256_setr_epi64x(0, 1, 2, 3)));
}

/* The first `count` keys, zeros for the others. */
INLINE struct block load_block(const uint64_t *keys, size_t count)
{
    struct block b;
    for (unsigned i = 0; i < 4; i++)
        b.v[i] =
            moved(_mm256_maskload_epi64((const long long *)(const void *)keys + i * LANES, present(i * LANES, count)));
    return b;
}

/* Not by a masked store, which takes some CPUs as long as the whole network. */
INLINE void store_block(struct block b, uint64_t *keys, size_t count)
{
    transpose(&b);
    for (unsigned i = 0; i < 4 && i * LANES < count; i++) {
        const __m256i vector = moved(b.v[i]);
        if ((i + 1) * LANES <= count) {
            _mm256_storeu_si256((__m256i *)(void *)(keys + i * LANES), vector);
            continue;
        }
        const __m128i low = _mm256_castsi256_si128(vector);
        keys[i * LANES] = (uint64_t)_mm_cvtsi128_si64(low);
        if (i * LANES + 1 < count)
            keys[i * LANES + 1] = (uint64_t)_mm_extract_epi64(low, 1);
        if (i * LANES + 2 < count)
            keys[i * LANES + 2] = (uint64_t)_mm256_extract_epi64(vector, 2);
    }
}

/* ---- keep_largest ---- */

/* Keeps in `list` the larger of each pair and leaves the smaller ones in `keys`, both sorted again when `rest` is set. */
INLINE void merge_into(struct block *list, struct block *keys, bool rest)
{
    struct block smaller;
    for (int i = 0; i < 4; i++) {
        smaller.v[i] = reverse(keys->v[3 - i]);
        order(&list->v[i], &smaller.v[i]);
    }
    merge_bitonic(list);
    if (rest) {
        merge_bitonic(&smaller);
        *keys = smaller;
    }
}

_Static_assert(PML_KERNEL_ROWS % BLOCK == 0, "keys come in whole blocks");

AVX2 void pml_keep_largest_avx2(uint64_t *list, size_t length, uint64_t *keys)
{
    for (size_t at = 0; at < PML_KERNEL_ROWS; at += BLOCK) {
        struct block offered = load_block(keys + at, BLOCK); /* in any order, so in any place */
        sort(&offered);
        for (size_t place = 0; place < length; place += BLOCK) {
            struct block held = load_block(list + place, length - place);
            transpose(&held);
            merge_into(&held, &offered, length - place > BLOCK);
            store_block(held, list + place, length - place);
        }
    }
}

#endif
