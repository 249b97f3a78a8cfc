/* SPDX-License-Identifier: Apache-2.0
 * Counts what core/base/random.c, response.c and bundle.c do with every sequence of words, for tests/law/check_law.py.
 * Reads one question per line, writes lines of "words outcome count", and "cut 0 count" for what was cut off:
 *
 *   below DEPTH BOUND                             outcome: the value
 *   poisson DEPTH RATE                            outcome: the value
 *   response DEPTH CELLS SLOTS KEEP SLOT CELL     outcome: the symbols, slot 0 first, as digits to the base CELLS
 *   draw DEPTH RATE SYMBOLS COPIES                outcome: cover, then symbol and size - 1 of each cluster, as digits to
 *                                                 the bases SYMBOLS and COPIES behind a first digit 1
 *   pick DEPTH OWN SIZE...                        outcome: the entries in their order, as digits to the base 8
 *   keep CELLS EPSILON                            writes pml_response_keep and nothing else
 */
#include "stages/bundle.h"
#include "stages/stages.h"
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTCOMES ((size_t)1 << 17)
#define WRONG (OUTCOMES - 1) /* what no reading of the specification allows */

static uint32_t counts[LAW_DEPTH_MAX + 1][OUTCOMES];

struct question {
    uint64_t number[16];
    uint64_t outcome;
    struct bundle bundle;
};

static void count_path(unsigned words, void *context)
{
    const struct question *question = context;
    counts[words][question->outcome < WRONG ? question->outcome : WRONG]++;
}

static void draw_below(pml_random *random, void *context)
{
    struct question *question = context;
    question->outcome = pml_random_below(random, question->number[0]);
}

static void draw_poisson(pml_random *random, void *context)
{
    struct question *question = context;
    question->outcome = pml_random_poisson(random, (uint32_t)question->number[0]);
}

/* The symbols of a body, bit by bit. */
static uint64_t symbols_of(const uint8_t *body, uint32_t cells, uint32_t slots)
{
    uint64_t outcome = 0, bits = 0, at = 0;
    while ((uint64_t)1 << bits < cells)
        bits++;
    for (uint32_t c = 0; c < slots; c++) {
        uint64_t symbol = 0;
        for (uint64_t b = 0; b < bits; b++, at++)
            symbol |= (uint64_t)(body[at / 8] >> at % 8 & 1) << b;
        if (symbol >= cells)
            return WRONG;
        outcome = outcome * cells + symbol;
    }
    return outcome;
}

static void draw_response(pml_random *random, void *context)
{
    struct question *question = context;
    const uint32_t cells = (uint32_t)question->number[0], slots = (uint32_t)question->number[1];
    uint16_t others[8];
    uint8_t body[16];
    const uint32_t shift = pml_response_draw(random, question->number[2], cells, slots, others);
    pml_response_emit(others, cells, slots, (uint32_t)question->number[3], (uint32_t)question->number[4], shift, body);
    question->outcome = symbols_of(body, cells, slots);
}

static void draw_bundle(pml_random *random, void *context)
{
    struct question *question = context;
    const uint64_t symbols = question->number[1], copies = question->number[2];
    struct bundle *bundle = &question->bundle;
    pml_bundle_draw(random, (uint32_t)question->number[0], (uint32_t)symbols, (uint32_t)copies, bundle);
    uint64_t outcome = symbols + bundle->symbol[0], total = 0;
    bool ended = bundle->symbol[0] >= symbols;
    for (uint32_t i = PML_CROWD_OWN_MAX; i < BUNDLE_ENTRIES && bundle->left[i] > 0; i++) {
        outcome = (outcome * symbols + bundle->symbol[i]) * copies + bundle->left[i] - 1;
        total += bundle->left[i];
        ended = ended || bundle->symbol[i] >= symbols || bundle->left[i] > copies;
    }
    question->outcome = ended || total != bundle->total ? WRONG : outcome;
}

/* Entries have symbols 10, 11, … that tell which they are. */
static void draw_picks(pml_random *random, void *context)
{
    struct question *question = context;
    const uint64_t own = question->number[0];
    struct bundle *bundle = &question->bundle;
    memset(bundle, 0, sizeof *bundle);
    for (uint32_t i = 0; i < own; i++)
        bundle->symbol[i] = 10 + i;
    for (uint32_t i = 0; question->number[i + 1] > 0; i++) {
        bundle->symbol[PML_CROWD_OWN_MAX + i] = 10 + (uint32_t)own + i;
        bundle->left[PML_CROWD_OWN_MAX + i] = (uint8_t)question->number[i + 1];
        bundle->total += bundle->left[PML_CROWD_OWN_MAX + i];
    }
    pml_bundle_own(bundle, (uint32_t)own);
    question->outcome = 1;
    while (bundle->total > 0) {
        unsigned told;
        const uint32_t entry = pml_bundle_pick(random, bundle, &told) - 10;
        question->outcome = entry < 8 && told == (entry < own ? entry + 1 : 0) ? question->outcome * 8 + entry : WRONG;
        if (question->outcome >= WRONG)
            return;
    }
}

static const struct {
    const char *name;
    void (*draw)(pml_random *random, void *context);
} verbs[] = {{"below", draw_below},
             {"poisson", draw_poisson},
             {"response", draw_response},
             {"draw", draw_bundle},
             {"pick", draw_picks}};

static void answer(const char *name, struct question *question, unsigned depth)
{
    for (size_t v = 0; v < sizeof verbs / sizeof *verbs; v++) {
        if (strcmp(verbs[v].name, name) != 0)
            continue;
        memset(counts, 0, (depth + 1) * sizeof *counts);
        const uint64_t cut = law_words(depth, verbs[v].draw, count_path, question);
        for (unsigned words = 0; words <= depth; words++)
            for (uint64_t outcome = 0; outcome < OUTCOMES; outcome++)
                if (counts[words][outcome] > 0)
                    printf("%u %lld %u\n", words, outcome == WRONG ? -1LL : (long long)outcome,
                           (unsigned)counts[words][outcome]);
        printf("cut 0 %llu\n", (unsigned long long)cut);
        return;
    }
    printf("?\n");
}

int main(void)
{
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        struct question question = {{0}, 0, {{0}, {0}, 0}};
        char *rest, *name = strtok_r(line, " \n", &rest);
        const char *first = strtok_r(NULL, " \n", &rest), *word;
        const unsigned depth = (unsigned)strtoul(first, NULL, 10);
        if (strcmp(name, "keep") == 0) {
            const double epsilon = strtod(strtok_r(NULL, " \n", &rest), NULL);
            printf("%llu\n", (unsigned long long)pml_response_keep(epsilon, depth));
            continue;
        }
        for (size_t i = 0; i < 15 && (word = strtok_r(NULL, " \n", &rest)) != NULL; i++)
            question.number[i] = strtoull(word, NULL, 10);
        answer(name, &question, depth);
    }
    return 0;
}
