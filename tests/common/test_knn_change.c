/* SPDX-License-Identifier: Apache-2.0
 * Neighbour lists that follow changes are those that a search of all rows finds, whatever the threads. */
#define _POSIX_C_SOURCE 200809L
#include "common/rows/knn.h"
#include "common/rows/knn_change.h"
#include "common/rows_support.h"

enum { POOL = 900, REACH_MAX = 40 };

static struct pml_rows pool; /* what rows are drawn from, by their places in it */
static uint64_t draws;

void setUp(void)
{
    draws = 1;
}

void tearDown(void)
{
}

/* Rows of few small values: many of them are equal, and many scores are. */
static struct pml_rows with_ties(uint64_t seed, size_t count, size_t columns)
{
    float *values = malloc(count * columns * sizeof *values);
    TEST_ASSERT_NOT_NULL(values);
    for (size_t i = 0; i < count * columns; i++)
        values[i] = i % columns == 0 ? 1.0f : (float)draw_between(&seed, -1, 1);
    struct pml_rows rows = quantised(values, count, columns);
    free(values);
    return rows;
}

/* ---- a change ---- */

/* Which rows of the pool there are, and their lists. */
struct state {
    uint32_t members[POOL]; /* ascending */
    size_t count;
    struct pml_rows rows;
    uint32_t *lists;
};

static void fill(struct state *state, unsigned reach)
{
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_gather(&pool, state->members, state->count, &state->rows));
    state->lists = malloc(state->count * reach * sizeof *state->lists);
    TEST_ASSERT_NOT_NULL(state->lists);
}

static void empty(struct state *state)
{
    pml_rows_free(&state->rows);
    free(state->lists);
}

/* Each row of the pool leaves or enters with these chances in a thousand. */
static void draw_change(const struct state *before, struct state *after, uint64_t leave, uint64_t enter, uint32_t *was)
{
    size_t at = 0;
    after->count = 0;
    for (uint32_t i = 0; i < POOL; i++) {
        const bool present = at < before->count && before->members[at] == i;
        if (draw_below(&draws, 1000) < (present ? 1000 - leave : enter)) {
            was[after->count] = present ? (uint32_t)at : PML_KNN_NEW;
            after->members[after->count++] = i;
        }
        at += present;
    }
}

static struct pml_knn_change change_of(const struct state *before, const struct state *after, const uint32_t *was,
                                       unsigned reach)
{
    return (struct pml_knn_change){.rows = &after->rows,
                                   .was = was,
                                   .before_count = before->count,
                                   .before = before->lists,
                                   .reach = reach,
                                   .threads = 1};
}

static void check_same(const struct pml_knn_change *change, const uint32_t *exact)
{
    const size_t size = change->rows->count * change->reach * sizeof *exact;
    struct pml_knn_change again = *change;
    uint32_t *lists = malloc(size);
    TEST_ASSERT_NOT_NULL(lists);
    for (again.threads = 1; again.threads <= 4; again.threads++) {
        memset(lists, 0xEE, size);
        TEST_ASSERT_EQUAL(PML_DONE, pml_knn_change(&again, lists));
        TEST_ASSERT_EQUAL_MEMORY(exact, lists, size);
    }
    free(lists);
}

/* A sequence of changes, large and small, each from the lists of the one before. */
static void check_sequence(unsigned reach)
{
    static const uint64_t chances[][2] = {{0, 3}, {3, 0}, {0, 200}, {200, 0}, {20, 20}, {500, 500}, {900, 40}, {0, 0}};
    static struct state before, after;
    static uint32_t was[POOL];
    before.count = 0;
    for (uint32_t i = 0; i < POOL; i += 2)
        before.members[before.count++] = i;
    fill(&before, reach);
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&before.rows, reach, 1, NULL, before.lists));
    for (size_t i = 0; i < sizeof chances / sizeof chances[0]; i++) {
        do
            draw_change(&before, &after, chances[i][0], chances[i][1], was);
        while (after.count <= reach);
        fill(&after, reach);
        TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&after.rows, reach, 1, NULL, after.lists));
        const struct pml_knn_change change = change_of(&before, &after, was, reach);
        check_same(&change, after.lists);
        empty(&before);
        before = after;
    }
    empty(&before);
}

static void test_changes_give_what_a_search_finds(void)
{
    static const unsigned reaches[] = {1, 2, 16, REACH_MAX};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        pool = drawn(seed, POOL, 24, 40);
        for (size_t i = 0; i < sizeof reaches / sizeof reaches[0]; i++)
            check_sequence(reaches[i]);
        pml_rows_free(&pool);
    }
}

static void test_ties_and_equal_rows(void)
{
    static const size_t columns[] = {1, 3, 5, 9};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        pool = with_ties(i + 1, POOL, columns[i]);
        check_sequence(3);
        check_sequence(16);
        pml_rows_free(&pool);
    }
}

/* All rows but one go, and others come: nothing is left of any list. */
static void test_all_rows_change(void)
{
    static struct state before, after;
    static uint32_t was[POOL];
    pool = drawn(9, POOL, 16, 5);
    before.count = after.count = 0;
    for (uint32_t i = 0; i < 100; i++) {
        before.members[before.count++] = i;
        was[after.count] = i == 0 ? 99 : PML_KNN_NEW;
        after.members[after.count++] = 99 + i;
    }
    fill(&before, 16);
    fill(&after, 16);
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&before.rows, 16, 1, NULL, before.lists));
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&after.rows, 16, 1, NULL, after.lists));
    const struct pml_knn_change change = change_of(&before, &after, was, 16);
    check_same(&change, after.lists);
    empty(&before);
    empty(&after);
    pml_rows_free(&pool);
}

/* ---- among many rows ---- */

/* Answers how many of the entries are in the exact lists; every list has different others, nearest first. */
static size_t count_found(const struct state *state, const uint32_t *lists, unsigned reach)
{
    size_t found = 0;
    for (size_t i = 0; i < state->count; i++)
        for (unsigned r = 0; r < reach; r++) {
            const uint32_t other = lists[i * reach + r];
            TEST_ASSERT_LESS_THAN_UINT64(state->count, other);
            TEST_ASSERT_NOT_EQUAL(i, other);
            for (unsigned k = 0; k < reach; k++) {
                TEST_ASSERT_TRUE(k == r || lists[i * reach + k] != other);
                found += state->lists[i * reach + k] == other;
            }
        }
    return found;
}

static void test_lost_neighbours_are_looked_for_near(void)
{
    enum { REACH = 8 };
    static struct state before, after;
    static uint32_t was[POOL], lists[POOL * REACH], again[POOL * REACH];
    pool = drawn(4, POOL, 12, 30);
    for (uint32_t i = 0; i < POOL; i++)
        before.members[i] = i;
    before.count = POOL;
    fill(&before, REACH);
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&before.rows, REACH, 1, NULL, before.lists));
    draw_change(&before, &after, 300, 0, was);
    fill(&after, REACH);
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&after.rows, REACH, 1, NULL, after.lists));
    struct pml_knn_change change = change_of(&before, &after, was, REACH);
    change.looked_at = 100;
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn_change(&change, lists));
    const size_t found = count_found(&after, lists, REACH);
    TEST_ASSERT_GREATER_THAN_UINT64(after.count * REACH * 9 / 10, found);
    TEST_ASSERT_LESS_THAN_UINT64(after.count * REACH, found); /* or it would have looked everywhere */
    change.threads = 3;
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn_change(&change, again));
    TEST_ASSERT_EQUAL_MEMORY(lists, again, after.count * REACH * sizeof *lists);
    change.looked_at = POOL;
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn_change(&change, again));
    TEST_ASSERT_EQUAL_MEMORY(after.lists, again, after.count * REACH * sizeof *lists);
    empty(&before);
    empty(&after);
    pml_rows_free(&pool);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_changes_give_what_a_search_finds);
    RUN_TEST(test_ties_and_equal_rows);
    RUN_TEST(test_all_rows_change);
    RUN_TEST(test_lost_neighbours_are_looked_for_near);
    return UNITY_END();
}
