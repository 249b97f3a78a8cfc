/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 with the instructions that 64-bit ARM has for it (FEAT_SHA256). In: public bytes. Out: what core/base/sha256.c
 * would give. */
#include "../core/base/kernels.h"

#if defined(PML_KERNELS_AARCH64)
#include <arm_neon.h>

#if defined(__clang__)
#define SHA __attribute__((target("crypto")))
#else
#define SHA __attribute__((target("arch=armv8-a+crypto")))
#endif
#define INLINE static inline __attribute__((always_inline)) SHA

struct state {
    uint32x4_t abcd, efgh;
};

/* The instructions are written out, for the reason that kernels_neon_dotprod.c gives. */

INLINE void four_rounds(struct state *s, uint32x4_t words, const uint32_t *constants)
{
    const uint32x4_t sum = vaddq_u32(words, vld1q_u32(constants)), abcd = s->abcd;
    __asm__("sha256h %q0, %q1, %2.4s" : "+w"(s->abcd) : "w"(s->efgh), "w"(sum));
    __asm__("sha256h2 %q0, %q1, %2.4s" : "+w"(s->efgh) : "w"(abcd), "w"(sum));
}

/* The next four words of sixteen, the oldest first. */
INLINE uint32x4_t next_words(uint32x4_t a, uint32x4_t b, uint32x4_t c, uint32x4_t d)
{
    __asm__("sha256su0 %0.4s, %1.4s" : "+w"(a) : "w"(b));
    __asm__("sha256su1 %0.4s, %1.4s, %2.4s" : "+w"(a) : "w"(c), "w"(d));
    return a;
}

INLINE struct state take_block(struct state s, const uint8_t *block)
{
    uint32x4_t w[4];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        uint32x4_t *now = &w[i % 4];
        *now = i < 4 ? vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(block + 16 * i))) /* the high byte of each first */
                     : next_words(*now, w[(i + 1) % 4], w[(i + 2) % 4], w[(i + 3) % 4]);
        four_rounds(&s, *now, pml_sha256_round + 4 * i);
    }
    return s;
}

void pml_sha256_blocks_neon(uint32_t state[8], const uint8_t *blocks, size_t count);

SHA void pml_sha256_blocks_neon(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    struct state s = {vld1q_u32(state), vld1q_u32(state + 4)};
    for (; count > 0; count--, blocks += 64) {
        const struct state next = take_block(s, blocks);
        s.abcd = vaddq_u32(s.abcd, next.abcd);
        s.efgh = vaddq_u32(s.efgh, next.efgh);
    }
    vst1q_u32(state, s.abcd);
    vst1q_u32(state + 4, s.efgh);
}

#endif
