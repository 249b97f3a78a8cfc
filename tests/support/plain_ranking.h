/* SPDX-License-Identifier: Apache-2.0
 * The plainest ranking of candidates: sort all of them, drop repeated items, cut. What the core's ranking gives is
 * compared with it. */
#ifndef TEST_PLAIN_RANKING_H
#define TEST_PLAIN_RANKING_H

#include "support.h"

#include <stdlib.h>

enum { CANDIDATES_MAX = 700 };

struct candidate {
    pml_match match;
    size_t arrival;
};

static int in_order(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->match.score != b->match.score)
        return a->match.score > b->match.score ? -1 : 1;
    if (a->match.item != b->match.item)
        return a->match.item < b->match.item ? -1 : 1;
    return a->arrival < b->arrival ? -1 : 1;
}

/* `slot` is the query's own, which PML_OWN_SLOT looks at alone. */
static size_t rank_plainly(const struct candidate *candidates, size_t candidate_count, uint32_t slot, pml_scope scope,
                           size_t capacity, pml_match *out)
{
    static struct candidate sorted[CANDIDATES_MAX];
    size_t count = 0, found = 0;
    for (size_t i = 0; i < candidate_count; i++)
        if (scope == PML_ALL_SLOTS || candidates[i].match.slot == slot)
            sorted[count++] = candidates[i];
    qsort(sorted, count, sizeof sorted[0], in_order);
    for (size_t i = 0; i < count && found < capacity; i++) {
        bool repeated = false;
        for (size_t j = 0; j < found; j++)
            repeated |= out[j].item == sorted[i].match.item;
        if (!repeated)
            out[found++] = sorted[i].match;
    }
    return found;
}

/* The first `found` matches are the expected ones, and no slot is named behind them. */
static void check_matches(const pml_match *expected, size_t found, const pml_match *matches, size_t capacity)
{
    for (size_t i = 0; i < found; i++) {
        TEST_ASSERT_EQUAL_UINT64(expected[i].item, matches[i].item);
        TEST_ASSERT_EQUAL_UINT64(expected[i].payload_offset, matches[i].payload_offset);
        TEST_ASSERT_EQUAL_UINT32(expected[i].payload_size, matches[i].payload_size);
        TEST_ASSERT_EQUAL_INT32(expected[i].score, matches[i].score);
        TEST_ASSERT_EQUAL_INT32(expected[i].label, matches[i].label);
        TEST_ASSERT_EQUAL_UINT32(expected[i].slot, matches[i].slot);
    }
    for (size_t i = found; i < capacity; i++)
        TEST_ASSERT_EQUAL_UINT32(PML_NO_SLOT, matches[i].slot);
}

#endif
