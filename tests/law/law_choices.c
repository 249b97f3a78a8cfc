/* SPDX-License-Identifier: Apache-2.0
 * Counts what core/stages/gaussian.c and bundle.c do with every sequence of choices, for tests/law/check_law.py. Reads
 * one question per line, writes what law_choices does and a line "end":
 *
 *   less MOST A B          compares two numbers of which A and B digits are known, all of them 1; outcome: the result
 *   half MOST              outcome: the result
 *   step MOST K            of a new number x; outcome: the result, and x's first digit times 2
 *   propose MOST           outcome: 0, or when it is accepted 1 + its first digit + k·2^PML_WORD_BITS
 *   deviate MOST SHIFT     outcome: the value + 1000
 *   parts MOST RATE SYMBOLS COPIES PART...   pml_bundle_draw when each part is one of PART...; outcome: see `parts`
 */
#include "choices.h"
#include "stages/bundle.h"
#include LAW_GAUSSIAN /* the real file; its functions are static */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t ask_less(pml_random *random, const uint64_t *numbers)
{
    struct uniform a = {.drawn = (int)numbers[0]}, b = {.drawn = (int)numbers[1]};
    for (int i = 0; i < LIMBS; i++)
        a.limb[i] = b.limb[i] = 1;
    return less(random, &a, &b);
}

static uint32_t ask_half(pml_random *random, const uint64_t *numbers)
{
    (void)numbers;
    return half(random);
}

static uint32_t ask_step(pml_random *random, const uint64_t *numbers)
{
    struct uniform x = {.drawn = 0};
    const bool result = step(random, (uint32_t)numbers[0], &x);
    return result + 2 * limb(random, &x, 0);
}

static uint32_t ask_propose(pml_random *random, const uint64_t *numbers)
{
    struct uniform x;
    uint32_t k;
    (void)numbers;
    return propose(random, &k, &x) ? 1 + limb(random, &x, 0) + (k << PML_WORD_BITS) : 0;
}

static uint32_t ask_deviate(pml_random *random, const uint64_t *numbers)
{
    int32_t value;
    pml_gaussian_draw(random, (uint32_t)numbers[0], &value, 1);
    return (uint32_t)(value + 1000);
}

/* The sum of the parts is S, and of all that it makes: cover, symbols and sizes − 1 as digits to the bases SYMBOLS and
 * COPIES; S·2^20 + that. A wrong number of parts or clusters gives 2^30. */
static uint32_t ask_parts(pml_random *random, const uint64_t *numbers)
{
    static struct bundle bundle;
    const uint32_t symbols = (uint32_t)numbers[1], copies = (uint32_t)numbers[2];
    pml_bundle_draw(random, law_rate, symbols, copies, &bundle);
    uint32_t outcome = bundle.symbol[0], clusters = 0;
    for (; clusters < PML_CROWD_CLUSTERS_CUT && bundle.left[PML_CROWD_OWN_MAX + clusters] > 0; clusters++) {
        const uint32_t i = PML_CROWD_OWN_MAX + clusters;
        outcome = (outcome * symbols + bundle.symbol[i]) * copies + bundle.left[i] - 1;
    }
    const uint32_t wanted = law_parts_sum < PML_CROWD_CLUSTERS_CUT ? law_parts_sum : PML_CROWD_CLUSTERS_CUT;
    return law_parts_drawn != 8 || clusters != wanted ? (uint32_t)1 << 30 : law_parts_sum << 20 | outcome;
}

static const struct {
    const char *name;
    uint32_t (*ask)(pml_random *random, const uint64_t *numbers);
} verbs[] = {{"less", ask_less},       {"half", ask_half},       {"step", ask_step},
             {"propose", ask_propose}, {"deviate", ask_deviate}, {"parts", ask_parts}};

int main(void)
{
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        uint64_t most = 1, numbers[16] = {0};
        size_t count = 0;
        char *rest, *name = strtok_r(line, " \n", &rest);
        const char *word = strtok_r(NULL, " \n", &rest);
        for (most = strtoull(word, NULL, 10); count < 11 && (word = strtok_r(NULL, " \n", &rest)) != NULL; count++)
            numbers[count] = strtoull(word, NULL, 10);
        law_rate = (uint32_t)numbers[0];
        law_parts_count = count > 3 ? (uint32_t)count - 3 : 0;
        for (size_t i = 3; i < count; i++)
            law_parts[i - 3] = (uint32_t)numbers[i];
        for (size_t v = 0; v < sizeof verbs / sizeof *verbs; v++)
            if (strcmp(verbs[v].name, name) == 0)
                law_choices(most, verbs[v].ask, numbers);
        printf("end\n");
    }
    return 0;
}
