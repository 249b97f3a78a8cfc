/* SPDX-License-Identifier: Apache-2.0
 * Counts what each level of core/stages/gaussian.c does with every outcome of the level below it, for
 * tests/law/check_law.py. Reads one question per line: MOST, the largest product that is followed, and a number. Writes
 * what law_choices does and a line "end". An outcome of 2^30 is a call that the proof of theorem 6 does not make.
 *
 *   level 1, half, number 0:       outcome: result + 2·(is the first digit below a half) + 4·(comparisons)
 *   level 1, step, number 1 + k:   outcome: result + 2·(how it ended) + 8·(links) + 2^10·(those with a comparison as trial);
 *                                  it ended by a number that was not less (0), by below (1), by the trial (2)
 *   level 2, propose:              outcome: accepted + 2·k + 2^8·(halves that were true) + 2^20·(steps that were true)
 *   level 3, deviate of a shift:   outcome: the value + 1000
 */
#include "hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRONG ((uint32_t)1 << 30)

#if LAW_LEVEL < 3
static bool broken;
#endif

#if LAW_LEVEL == 1

/* What the last comparison was. */
enum { NOTHING, DESCENDED, NOT_LESS, PASSED, FAILED };

static struct uniform x;
static uint32_t last_digit; /* of the number that the next one is compared with: digits tell numbers apart */
static uint32_t comparisons, trials;
static int last;
static bool in_step;

/* A new number, compared with the one before it, or as a trial with x. */
bool less(pml_random *random, struct uniform *a, struct uniform *b)
{
    const bool result = pml_random_below(random, 2) != 0;
    const bool trial = in_step && last == DESCENDED && b == &x;
    broken = broken || a == b || a->drawn != 0 || last == NOT_LESS || last == FAILED;
    if (trial) {
        trials += result;
        last = result ? PASSED : FAILED;
        return result;
    }
    if (in_step && comparisons == 0)
        broken = broken || b != &x;
    else if (comparisons > 0)
        broken = broken || b->drawn != 1 || b->limb[0] != last_digit;
    else
        broken = broken || b->drawn != 1 || b->limb[0] >= (uint32_t)1 << (PML_WORD_BITS - 1);
    comparisons++;
    a->drawn = 1;
    a->limb[0] = last_digit = 100 + comparisons;
    last = result ? DESCENDED : NOT_LESS;
    return result;
}

static uint32_t ask(pml_random *random, const uint64_t number)
{
    comparisons = trials = 0;
    last = NOTHING;
    x.drawn = 0;
    broken = false;
    in_step = number > 0;
    if (!in_step) {
        const bool result = half(random);
        return broken ? WRONG : result + 2u * (comparisons > 0) + 4 * comparisons;
    }
    const bool result = step(random, (uint32_t)number - 1, &x);
    const uint32_t end = last == NOT_LESS ? 0 : last == DESCENDED ? 1 : 2;
    return broken || last == PASSED ? WRONG : result + 2 * end + 8 * (comparisons - 1) + (trials << 10);
}

#elif LAW_LEVEL == 2

static const struct uniform *fraction;
static uint32_t whole, steps, trues;

bool half(pml_random *random)
{
    const bool result = pml_random_below(random, 2) != 0;
    broken = broken || steps > 0;
    trues += result;
    return result;
}

bool step(pml_random *random, uint32_t k, struct uniform *x)
{
    const bool result = pml_random_below(random, 2) != 0;
    broken = broken || (steps > 0 ? x != fraction || k != whole || x->drawn != 1 : x->drawn != 0);
    fraction = x;
    whole = k;
    x->drawn = 1; /* as a comparison leaves it: what the steps after it see is the same number */
    steps += result;
    return result;
}

static uint32_t ask(pml_random *random, const uint64_t number)
{
    struct uniform x = {.drawn = 7};
    uint32_t k;
    (void)number;
    trues = steps = 0;
    broken = false;
    const bool accepted = propose(random, &k, &x);
    broken = broken || (accepted && (&x != fraction || k != whole));
    return broken ? WRONG : accepted + 2 * k + (trues << 8) + (steps << 20);
}

#else

static uint32_t proposals;

/* Refuses at most once: what was refused leaves nothing behind. */
bool propose(pml_random *random, uint32_t *k, struct uniform *x)
{
    const bool accepted = proposals++ > 0 || pml_random_below(random, 2) != 0;
    *k = pml_random_below(random, 4);
    x->drawn = (int)pml_random_below(random, 2);
    x->limb[0] = x->drawn > 0 ? pml_random_word(random) : 0;
    return accepted;
}

static uint32_t ask(pml_random *random, const uint64_t number)
{
    int32_t value;
    proposals = 0;
    pml_gaussian_draw(random, (uint32_t)number, &value, 1);
    return (uint32_t)(value + 1000);
}

#endif

static uint32_t ask_one(pml_random *random, const uint64_t *numbers)
{
    return ask(random, numbers[0]);
}

int main(void)
{
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        char *rest;
        const uint64_t most = strtoull(line, &rest, 10), number = strtoull(rest, NULL, 10);
        law_choices(most, ask_one, &number);
        printf("end\n");
    }
    return 0;
}
