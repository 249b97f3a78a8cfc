/* SPDX-License-Identifier: Apache-2.0
 * The ranking of `nearest` for x86-64 with AVX2: sixteen keys at a time, by a sorting network. In: sums and norms. Out: the
 * keys that core/stages/neighbours.c would give, bit for bit. Never branches on a key: a network compares the same places
 * whatever is in them. */
#include "kernels_avx2.h"

#if defined(PML_KERNELS_X86_64)
#include <immintrin.h>
#include <stdbool.h>

#define AVX2 __attribute__((target("avx2")))
#define INLINE static inline __attribute__((always_inline)) AVX2

#define LANES 4u
#define BLOCK 16u

/* Sixteen keys in descending order: place i is lane i / 4 of vector i % 4. Places 1 and 2 apart are then whole vectors, and
 * only those 4 and 8 apart need lanes moved. Comparisons are signed, so keys are held less 2^63: score·2^20 + 2^20 − 1 −
 * index, and INT64_MIN for none. */
struct block {
    __m256i v[4];
};

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

INLINE struct block load_block(const int64_t *from)
{
    struct block b;
    for (unsigned i = 0; i < 4; i++)
        b.v[i] = _mm256_load_si256((const __m256i *)(const void *)from + i);
    return b;
}

INLINE void store_block(struct block b, int64_t *to)
{
    for (unsigned i = 0; i < 4; i++)
        _mm256_store_si256((__m256i *)(void *)to + i, b.v[i]);
}

/* Keys of sixteen rows, in any order, so in any place. */
INLINE struct block keys_of(const int32_t *sums, const uint8_t *inverse, size_t first)
{
    struct block b;
    __m256i index = _mm256_sub_epi64(_mm256_set1_epi64x(0xFFFFF - (int64_t)first), _mm256_setr_epi64x(0, 1, 2, 3));
    for (unsigned i = 0; i < 4; i++) {
        const __m256i sum = _mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i *)(const void *)sums + i));
        const __m256i norm = _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(const void *)inverse + i));
        b.v[i] = _mm256_or_si256(_mm256_slli_epi64(_mm256_mul_epi32(sum, norm), 20), index);
        index = _mm256_sub_epi64(index, _mm256_set1_epi64x(LANES));
    }
    return b;
}

/* ---- the list ---- */

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

INLINE void offer(struct ranking *ranking, size_t length, struct block keys)
{
    for (size_t place = 0; place < length; place += BLOCK) {
        struct block held = load_block(ranking->held + place);
        merge_into(&held, &keys, length - place > BLOCK);
        store_block(held, ranking->held + place);
    }
}

/* Two blocks are sorted at once, which fills the time that each comparison waits for the one before. In a list of one
 * block, only the larger half of both can stay. */
INLINE void add_pair(struct ranking *ranking, size_t length, const int32_t *sums, const uint8_t *inverse, size_t first)
{
    struct block a = keys_of(sums, inverse, first), b = keys_of(sums + BLOCK, inverse + 4 * BLOCK, first + BLOCK);
    sort(&a);
    sort(&b);
    if (length <= BLOCK)
        merge_into(&a, &b, false);
    else
        offer(ranking, length, b);
    offer(ranking, length, a);
}

/* All ones in the lanes from `at` on that are among the first `count`. */
INLINE __m256i present(size_t at, size_t count)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x((int64_t)count),
                              _mm256_add_epi64(_mm256_set1_epi64x((int64_t)at), _mm256_setr_epi64x(0, 1, 2, 3)));
}

/* Rows that do not fill a pair of blocks, one block: what is not there is not read, and has no key. */
INLINE void add_rest(struct ranking *ranking, size_t length, const int32_t *sums, const uint8_t *inverse, size_t first,
                     size_t count)
{
    int32_t some_sums[BLOCK] = {0};
    uint8_t some_inverse[4 * BLOCK] = {0};
    memcpy(some_sums, sums, count * sizeof *sums);
    memcpy(some_inverse, inverse, 4 * count);
    struct block keys = keys_of(some_sums, some_inverse, first);
    for (unsigned i = 0; i < 4; i++)
        keys.v[i] = chosen(_mm256_set1_epi64x(INT64_MIN), keys.v[i], present(i * LANES, count));
    sort(&keys);
    offer(ranking, length, keys);
}

_Static_assert(RANKED % (2 * BLOCK) == 0 && PML_NEIGHBOURS_MAX % BLOCK == 0, "rows and lists come in whole blocks");

AVX2 void pml_rank_begin_avx2(struct ranking *ranking)
{
    const __m256i none = _mm256_set1_epi64x(INT64_MIN);
    for (size_t place = 0; place < PML_NEIGHBOURS_MAX; place += BLOCK)
        store_block((struct block){{none, none, none, none}}, ranking->held + place);
}

AVX2 void pml_rank_add_avx2(struct ranking *ranking, size_t length, const int32_t *sums, const uint8_t *inverse,
                            size_t first, size_t count)
{
    size_t i = 0;
    for (; i + 2 * BLOCK <= count; i += 2 * BLOCK)
        add_pair(ranking, length, sums + i, inverse + 4 * i, first + i);
    for (; i < count; i += BLOCK)
        add_rest(ranking, length, sums + i, inverse + 4 * i, first + i, count - i < BLOCK ? count - i : BLOCK);
}

AVX2 void pml_rank_end_avx2(const struct ranking *ranking, uint64_t *list, size_t length)
{
    for (size_t place = 0; place < length; place += BLOCK) {
        _Alignas(32) int64_t keys[BLOCK];
        struct block b = load_block(ranking->held + place);
        transpose(&b);
        store_block(b, keys);
        for (size_t i = 0; i < BLOCK && place + i < length; i++)
            list[place + i] = (uint64_t)keys[i] ^ (uint64_t)INT64_MIN;
    }
}

#endif
