/* SPDX-License-Identifier: Apache-2.0 */
#include "choices.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define CHOICES_MAX 2048u
#define CUT 0xFFFFFFFFu
#define KEYS ((size_t)1 << 20)

uint32_t law_parts[8], law_parts_count, law_rate, law_parts_sum, law_parts_drawn;

static struct {
    uint64_t most, product;
    uint64_t value[CHOICES_MAX], values[CHOICES_MAX];
    unsigned made;
} path;

static jmp_buf too_unlikely;

static uint64_t choose(uint64_t values)
{
    if ((path.most > 0 && path.product > path.most / values) || path.made == CHOICES_MAX)
        longjmp(too_unlikely, 1);
    path.product *= path.most > 0 ? values : 1;
    path.values[path.made] = values;
    return path.value[path.made++];
}

uint32_t pml_random_word(pml_random *random)
{
    (void)random;
    return (uint32_t)choose((uint64_t)1 << PML_WORD_BITS);
}

uint32_t pml_random_below(pml_random *random, uint64_t bound)
{
    (void)random;
    return (uint32_t)choose(bound);
}

uint32_t pml_random_poisson(pml_random *random, uint32_t rate)
{
    (void)random;
    const uint32_t part = law_parts[choose(law_parts_count)];
    law_parts_sum += part;
    law_parts_drawn += rate == law_rate;
    return part;
}

/* Counts of outcome and product, with open addressing. */
static struct count {
    uint64_t product, count;
    uint32_t outcome;
} counts[KEYS];

static void add(uint32_t outcome, uint64_t product)
{
    size_t at = (size_t)((outcome * 0x9E3779B97F4A7C15u) ^ (product * 0xC2B2AE3D27D4EB4Fu)) >> 7 & (KEYS - 1);
    for (size_t tried = 0; tried < KEYS; tried++, at = (at + 1) & (KEYS - 1)) {
        struct count *count = &counts[at];
        if (count->count > 0 && (count->outcome != outcome || count->product != product))
            continue;
        *count = (struct count){product, count->count + 1, outcome};
        return;
    }
    fprintf(stderr, "more outcomes than there is room for\n");
    exit(1);
}

static bool advance(void)
{
    while (path.made > 0 && ++path.value[path.made - 1] == path.values[path.made - 1])
        path.value[--path.made] = 0;
    return path.made > 0;
}

static void print(void)
{
    for (size_t i = 0; i < KEYS; i++) {
        const struct count *count = &counts[i];
        if (count->count == 0)
            continue;
        if (count->outcome == CUT)
            printf("cut");
        else
            printf("%lu", (unsigned long)count->outcome);
        printf(" %llu %llu\n", (unsigned long long)count->product, (unsigned long long)count->count);
    }
}

void law_choices(uint64_t most, uint32_t (*draw)(pml_random *random, const uint64_t *numbers), const uint64_t *numbers)
{
    static pml_random unused;
    memset(counts, 0, sizeof counts);
    memset(&path, 0, sizeof path);
    path.most = most;
    if (setjmp(too_unlikely) != 0) {
        add(CUT, path.product);
        if (!advance()) {
            print();
            return;
        }
    }
    do {
        path.made = 0;
        path.product = 1;
        law_parts_sum = law_parts_drawn = 0;
        const uint32_t outcome = draw(&unused, numbers);
        add(outcome, path.product);
    } while (advance());
    print();
}
