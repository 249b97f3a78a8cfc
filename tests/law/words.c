/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include "base/chacha20.h"

#include <setjmp.h>

static jmp_buf too_long;

/* The generator has read all words of its first block, and that is all there are. */
void pml_chacha20_block(const uint8_t key[32], uint32_t counter, const uint8_t nonce[12], uint32_t out[16])
{
    (void)key, (void)counter, (void)nonce, (void)out;
    longjmp(too_long, 1);
}

/* The next sequence that does not begin with the first `words` words of this one. False after the last. */
static bool advance(uint32_t *sequence, unsigned words)
{
    while (words > 0 && ++sequence[words - 1] >> PML_WORD_BITS != 0)
        sequence[--words] = 0;
    return words > 0;
}

uint64_t law_words(unsigned depth, void (*draw)(pml_random *random, void *context),
                   void (*path)(unsigned words, void *context), void *context)
{
    static uint32_t sequence[LAW_DEPTH_MAX];
    static pml_random random;
    static uint64_t cut;
    cut = 0;
    memset(sequence, 0, sizeof sequence);
    if (setjmp(too_long) != 0) {
        cut++;
        if (!advance(sequence, depth))
            return cut;
    }
    for (;;) {
        random.used = 16 - depth;
        memcpy(random.block + random.used, sequence, depth * sizeof *sequence);
        draw(&random, context);
        const unsigned words = random.used - (16 - depth);
        path(words, context);
        if (!advance(sequence, words))
            return cut;
    }
}
