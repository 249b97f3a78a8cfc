/* SPDX-License-Identifier: Apache-2.0
 * Random words. In: a 32-byte key. Out: words in the order of SPEC 5.10. Never reuses a block. */
#include "random.h"
#include "chacha20.h"

void pml_random_start(pml_random *random, const uint8_t key[32])
{
    memcpy(random->key, key, 32);
    random->counter = 0;
    random->used = 16;
}

uint32_t pml_random_word(pml_random *random)
{
    static const uint8_t nonce[12] = {0};
    if (random->used == 16) {
        pml_chacha20_block(random->key, random->counter++, nonce, random->block);
        random->used = 0;
    }
    return random->block[random->used++];
}

uint32_t pml_random_below(pml_random *random, uint64_t bound)
{
    const uint64_t words = (uint64_t)1 << PML_WORD_BITS, limit = words - words % bound;
    uint64_t word;
    /*@ loop assigns word, *random;
        loop invariant usable(random);
        loop invariant rejected: words(random) == \at(words(random), Pre) || word >= limit; */
    do {
        word = pml_random_word(random);
        //@ assert none_is_skipped: later(random, \at(words(random), LoopCurrent), 1);
    } while (word >= limit);
    return (uint32_t)(word % bound);
}

#if PML_WITH_CROWD
/* n with probability ∝ (rate/2^32)^n by counting, thinned by 1/n!. */
uint32_t pml_random_poisson(pml_random *random, uint32_t rate)
{
    /*@ loop assigns *random;
        loop invariant usable(random); */
    for (;;) {
        uint32_t n = 0, i = 2;
        /*@ loop assigns n, *random;
            loop invariant usable(random);
            loop invariant counted: n > 0 ==> random->used > 0 && last_word(random) < rate; */
        while (pml_random_word(random) < rate) {
            //@ assert none_is_skipped: later(random, \at(words(random), LoopCurrent), 1);
            n++;
        }
        //@ admit likely: n < UINT32_MAX; // fails with a probability of at most 2^-(2^32 - 1)
        /*@ loop assigns i, *random;
            loop invariant usable(random) && 2 <= i && (i > n ==> n <= 1 || i == n + 1);
            loop invariant thinned: i > 2 ==> random->used > 0 && last_word(random) % (i - 1) == 0; */
        while (i <= n && pml_random_below(random, i) == 0) {
            //@ assert divides: last_word(random) % i == 0 && i < UINT32_MAX;
            i++;
            //@ assert divided: random->used > 0 && last_word(random) % (i - 1) == 0;
        }
        if (i > n)
            return n;
    }
}
#endif
