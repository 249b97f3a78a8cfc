/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_RANDOM_H
#define PML_RANDOM_H
#include "base.h"

/* Bits of a word. With fewer, tests/law runs the mechanisms over every value of every word. */
#ifndef PML_WORD_BITS
#define PML_WORD_BITS 32
#endif

/* A stream of random words (SPEC 5.10): ChaCha20 under one key, nonce 0. Holds a key: wipe it. 2^32 blocks are 2^36
 * words, far more than the largest arm draws. */
typedef struct pml_random {
    uint8_t key[32];
    uint32_t block[16];
    uint32_t counter;
    uint32_t used; /* words of `block` handed out */
} pml_random;

void pml_random_start(pml_random *random, const uint8_t key[32]);
uint32_t pml_random_word(pml_random *random);

/* Exactly uniform on 0 … bound−1, 1 ≤ bound ≤ 2^32, by rejection. */
uint32_t pml_random_below(pml_random *random, uint64_t bound);

/* Exactly Poisson with mean rate/2^32, 0 ≤ rate ≤ 2^31: part(q) of SPEC 5.16. */
uint32_t pml_random_poisson(pml_random *random, uint32_t rate);

#endif
