/* SPDX-License-Identifier: Apache-2.0
 * Every sequence of random words, for the real generator of core/base/random.c with words of PML_WORD_BITS bits. Its
 * key stream is replaced by the sequence, and nothing else is. */
#ifndef LAW_WORDS_H
#define LAW_WORDS_H
#include "base/random.h"

#define LAW_DEPTH_MAX 16u

/* Calls `draw` with a generator for one sequence after the other. What it reads of each is a path: of `words` words,
 * with probability 2^-(words · PML_WORD_BITS). `path` is called after each path. A path that needs more than `depth`
 * words is cut off there. Returns how many are. */
uint64_t law_words(unsigned depth, void (*draw)(pml_random *random, void *context),
                   void (*path)(unsigned words, void *context), void *context);

#endif
