/* SPDX-License-Identifier: Apache-2.0
 * Every sequence of random choices, in place of core/base/random.c: a word has 2^PML_WORD_BITS values, below(n) has n, and
 * both are equally likely, which tests/law/law_words.c has shown of the real ones. So a mechanism's probabilities are
 * sums of 1/(product of the numbers of values), with nothing spent on rejected words. */
#ifndef LAW_CHOICES_H
#define LAW_CHOICES_H
#include "base/random.h"

/* What pml_random_poisson may return: each value is a choice, and says nothing about its probability. */
extern uint32_t law_parts[8], law_parts_count, law_rate;
extern uint32_t law_parts_sum, law_parts_drawn; /* of this path; a wrong rate is not counted in `drawn` */

/* Calls `draw` for one sequence after the other until it has read all of them, and counts what it returns, which is at
 * most 2^30. Paths with a product above `most` are cut off; with 0 none is, and products are not kept. Writes lines of
 * "outcome product count", and "cut product count" for what was cut off. */
void law_choices(uint64_t most, uint32_t (*draw)(pml_random *random, const uint64_t *numbers), const uint64_t *numbers);

#endif
