/* SPDX-License-Identifier: Apache-2.0
 * What the kernel sets of x86-64 share. */
#ifndef PML_KERNELS_AVX2_H
#define PML_KERNELS_AVX2_H

#include "../core/base/kernels.h"
#include "privatemail.h"

#if defined(PML_KERNELS_X86_64)
void *memcpy(void *restrict to, const void *restrict from, size_t size); /* as core/base/base.h has it */

/* kernels_avx2_quantise.c and kernels_avx2_sha256.c */
uint32_t pml_quantise_top_avx2(const float *features, size_t count, uint32_t top);
void pml_quantise_values_avx2(const struct scale *scale, uint64_t valid, bool root, const float *features, size_t count,
                              int8_t *out);
void pml_sha256_blocks_avx2(uint32_t state[8], const uint8_t *blocks, size_t count);

/* kernels_avx2_compare.c */
void pml_compare_avx2(const struct pml_coded *coded, const uint8_t *bytes, size_t count, struct pml_compared *compared);

/* kernels_avx2_nearest.c: a list of the largest keys, in an order of its own until `end`, which writes `length` of them.
 * `add` takes at most RANKED rows, the first of which has the number `first`, with their sums and inverse norms. */
#define RANKED 32u
struct ranking {
    _Alignas(32) int64_t held[PML_NEIGHBOURS_MAX];
};
void pml_rank_begin_avx2(struct ranking *ranking);
void pml_rank_add_avx2(struct ranking *ranking, size_t length, const int32_t *sums, const uint8_t *inverse,
                       size_t first, size_t count);
void pml_rank_end_avx2(const struct ranking *ranking, uint64_t *list, size_t length);

/* `nearest` of a set whose dots_s8 is `dots`, which it calls directly. */
#define NEAREST_INLINE static inline __attribute__((always_inline))
NEAREST_INLINE void nearest_by(pml_dots_s8_fn dots, const int8_t *query, const int8_t *rows, const uint8_t *inverse,
                               size_t count, size_t row_count, uint64_t *list, size_t length)
{
    struct ranking ranking;
    int32_t sums[RANKED];
    pml_rank_begin_avx2(&ranking);
    for (size_t at = 0; at < row_count; at += RANKED) {
        const size_t some = row_count - at < RANKED ? row_count - at : RANKED;
        dots(query, rows + at * count, count, some, sums);
        pml_rank_add_avx2(&ranking, length, sums, inverse + 4 * at, at, some);
    }
    pml_rank_end_avx2(&ranking, list, length);
}

/* A set, twice: for CPUs without and with instructions for SHA-256. */
#define PML_SET_X86_64(set, rank, small, sha256, with)                                                                 \
    {                                                                                                                  \
        .name = #set, .dots_s8 = pml_dots_s8_##set, .quantise_top = pml_quantise_top_avx2,                             \
        .quantise_values = pml_quantise_values_avx2, .sha256_blocks = sha256, .compare = pml_compare_avx2,             \
        .nearest = rank, .dots_small = small, .with_sha256 = with,                                                     \
    }
#define PML_SETS_X86_64(set, rank, small)                                                                              \
    static const struct pml_kernels with_sha256 = PML_SET_X86_64(set, rank, small, pml_sha256_blocks_avx2, NULL);      \
    const struct pml_kernels pml_kernels_##set =                                                                       \
        PML_SET_X86_64(set, rank, small, pml_sha256_blocks_portable, &with_sha256);

#endif

#endif
