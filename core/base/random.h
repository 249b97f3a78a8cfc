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

/*@ predicate usable(pml_random *random) = \valid(random) && random->used <= 16;
    logic integer words(pml_random *random) = 16 * random->counter + random->used - 16;
    logic integer last_word(pml_random *random) = random->block[random->used - 1];
    // n words later; behind the last of all the first one comes again
    predicate later(pml_random *random, integer before, integer n) =
      words(random) == before + n || words(random) == before + n - 0x1000000000;
    // Every loop that draws words until one will do comes to such a word. It does so with probability 1, and nothing
    // promises it: what draws ends when this holds (proofs/wp/README.md).
    axiomatic draws { predicate draws_end; } */

/*@ requires \valid(random) && \valid_read(key + (0 .. 31));
    terminates \true;
    assigns *random;
    ensures usable(random) && words(random) == 0; */
void pml_random_start(pml_random *random, const uint8_t key[32]);

/*@ requires usable(random);
    terminates \true;
    assigns *random;
    ensures usable(random) && random->used > 0 && \result == last_word(random);
    ensures later(random, \old(words(random)), 1); */
uint32_t pml_random_word(pml_random *random);

/*@ lemma whole_classes: // as many words below the limit for every result
      \forall integer bound; 1 <= bound ==> (0x100000000 - 0x100000000 % bound) % bound == 0; */

/* Exactly uniform on 0 … bound−1, 1 ≤ bound ≤ 2^32, by rejection. */
/*@ requires usable(random) && 1 <= bound <= 0x100000000;
    terminates given: draws_end;
    assigns *random;
    ensures usable(random) && random->used > 0;
    ensures last_word(random) < 0x100000000 - 0x100000000 % bound;
    ensures \result == last_word(random) % bound && \result < bound; */
uint32_t pml_random_below(pml_random *random, uint64_t bound);

/* Exactly Poisson with mean rate/2^32, 0 ≤ rate ≤ 2^31: part(q) of SPEC 5.16. */
/*@ requires usable(random) && rate <= 0x80000000;
    terminates given: draws_end;
    assigns *random;
    ensures usable(random); */
uint32_t pml_random_poisson(pml_random *random, uint32_t rate);

/* The rate that gives a mean of so many clusters in 8 draws (SPEC 5.16), rounded down. A bundle and the account of a
 * policy take the same. */
/*@ requires 0.0 <= clusters <= PML_CROWD_CLUSTERS_MAX;
    terminates \true;
    assigns \nothing;
    ensures \result <= 0x80000000 && \result <= clusters * 0x1p29 < \result + 1.0; */
static inline uint32_t poisson_rate(double clusters)
{
    //@ assert fits: clusters * 0x1p29 < 0x1p32;
    return (uint32_t)(clusters * 0x1p29);
}

#endif
