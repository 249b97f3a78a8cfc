/* SPDX-License-Identifier: Apache-2.0
 * Lists of a chosen share: the same as by their definition (SPEC 6.5), whatever the order of rows and the threads. */
#define _XOPEN_SOURCE 700
#include "builder_support.h"
#include "index_lists.h"

enum { ROWS = 420, COLUMNS = 12, CLASSES = 5, CELLS = 7, VOTED_FOR = 16 };

static struct built built;
static float features[ROWS * COLUMNS];
static int8_t quantised[ROWS * COLUMNS];
static uint32_t slots[ROWS];
static uint64_t numbers[ROWS];
static int64_t near[ROWS][CELLS]; /* score with each cell of the slot */
static uint32_t own[ROWS];        /* cell */

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- by definition ---- */

struct entry {
    double votes;
    int64_t score;
    size_t row;
};

static int by_rank(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->votes != b->votes)
        return a->votes > b->votes ? -1 : 1;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return numbers[a->row] < numbers[b->row] ? -1 : numbers[a->row] > numbers[b->row];
}

static int64_t score(const int8_t *query, const int8_t *row)
{
    int64_t dot = 0;
    for (size_t i = 0; i < COLUMNS; i++)
        dot += query[i] * row[i];
    return dot * pml_inverse_norm(row, COLUMNS);
}

static void find_cell(size_t row)
{
    int64_t best = INT64_MIN;
    for (uint32_t j = 0; j < CELLS; j++)
        near[row][j] = INT64_MIN;
    for (uint32_t p = 0; p < built.info.prototypes; p++) {
        const int64_t with = score(quantised + row * COLUMNS, pml_pack_prototype(&built.pack, slots[row], p));
        uint32_t cell;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_prototype_cell(&built.pack, slots[row], p, &cell));
        near[row][cell] = with > near[row][cell] ? with : near[row][cell];
        if (with > best)
            best = with, own[row] = cell;
    }
}

/* Whether the search for neighbours of `row` comes to the cell of `other`, when it ends after `looked_at` items (or
 * later, while it has not seen enough). */
static bool is_looked_at(size_t row, size_t other, size_t looked_at)
{
    size_t before = 0;
    const int64_t limit = near[row][own[other]];
    for (size_t i = 0; i < ROWS && looked_at < ROWS; i++) {
        const int64_t mine = near[row][own[i]];
        before += slots[i] == slots[row] && (mine > limit || (mine == limit && own[i] < own[other]));
    }
    return before < looked_at || before <= VOTED_FOR; /* with the item itself among them, 16 others may be missing */
}

/* The item itself, then its nearest; answers how many. */
static size_t ballot(size_t row, size_t looked_at, struct entry *votes)
{
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (i != row && slots[i] == slots[row] && is_looked_at(row, i, looked_at))
            votes[1 + count++] = (struct entry){0, score(quantised + row * COLUMNS, quantised + i * COLUMNS), i};
    qsort(votes + 1, count, sizeof *votes, by_rank);
    votes[0] = (struct entry){0, 0, row};
    return 1 + (count < VOTED_FOR ? count : VOTED_FOR);
}

/* listed[row][cell] */
static void list_by_definition(double share, size_t looked_at, bool listed[ROWS][CELLS])
{
    static struct entry ballots[ROWS], ranked[ROWS];
    static double votes[ROWS][CELLS];
    memset(votes, 0, sizeof votes);
    memset(listed, 0, ROWS * sizeof *listed);
    for (size_t i = 0; i < ROWS; i++) {
        const size_t count = ballot(i, looked_at, ballots);
        for (size_t r = 0; r < count; r++)
            votes[ballots[r].row][own[i]] += 232792560.0 / (double)(r + 4); /* whole numbers: exact */
    }
    for (uint32_t slot = 0; slot < CLASSES; slot++) {
        for (uint32_t cell = 0; cell < CELLS; cell++) {
            size_t count = 0;
            for (size_t i = 0; i < ROWS; i++)
                if (slots[i] == slot)
                    ranked[count++] = (struct entry){votes[i][cell], near[i][cell], i};
            qsort(ranked, count, sizeof *ranked, by_rank);
            size_t wanted = (size_t)(share * (double)count + 0.5);
            for (size_t i = 0; i < count && i < (wanted > 0 ? wanted : 1); i++)
                listed[ranked[i].row][cell] = true;
        }
    }
}

/* ---- comparisons ---- */

static struct pml_lists_source source_of(const float *values, const uint32_t *places, const uint64_t *items)
{
    return (struct pml_lists_source){.features = values,
                                     .rows = ROWS,
                                     .columns = COLUMNS,
                                     .slots = places,
                                     .slot_count = CLASSES,
                                     .items = items,
                                     .threads = 2};
}

static struct pml_cell_lists make_lists(const struct pml_lists_source *source, uint32_t share)
{
    struct pml_lists_gallery *gallery;
    struct pml_cell_lists lists;
    size_t bad;
    TEST_ASSERT_EQUAL(0, pml_lists_gallery_make(&gallery, source, &bad));
    TEST_ASSERT_EQUAL(0, pml_lists_make(&lists, gallery, &built.pack, share, source->threads, NULL));
    pml_lists_gallery_free(gallery);
    return lists;
}

static void assert_as_defined(const struct pml_cell_lists *lists, uint32_t share, size_t looked_at)
{
    static bool listed[ROWS][CELLS];
    list_by_definition((double)share / 1e6, looked_at, listed);
    TEST_ASSERT_EQUAL_UINT64(0, lists->starts[0]);
    for (size_t i = 0; i < ROWS; i++) {
        size_t at = lists->starts[i];
        for (uint32_t cell = 0; cell < CELLS; cell++)
            if (listed[i][cell])
                TEST_ASSERT_EQUAL_UINT32(cell, at < lists->starts[i + 1] ? lists->cells[at++] : UINT32_MAX);
        TEST_ASSERT_EQUAL_UINT64(lists->starts[i + 1], at);
    }
}

static void test_lists_are_as_defined(void)
{
    static const uint32_t shares[] = {1, 50000, 142857, 333333, 500000};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        const struct pml_lists_source source = source_of(features, slots, numbers);
        struct pml_cell_lists lists = make_lists(&source, shares[i]);
        assert_as_defined(&lists, shares[i], ROWS);
        pml_lists_free(&lists);
    }
}

/* In slots that are too large neighbours come from the nearest cells. */
static void test_large_slots(void)
{
    static const size_t looked_at[] = {1, 30, 60, ROWS};
    for (size_t i = 0; i < sizeof looked_at / sizeof looked_at[0]; i++) {
        struct pml_lists_source source = source_of(features, slots, numbers);
        source.exact = 20;
        source.looked_at = looked_at[i];
        struct pml_cell_lists lists = make_lists(&source, 150000);
        assert_as_defined(&lists, 150000, looked_at[i]);
        pml_lists_free(&lists);
    }
}

static void test_neither_order_nor_threads_matter(void)
{
    static float moved[ROWS * COLUMNS];
    static uint32_t moved_slots[ROWS];
    static uint64_t moved_numbers[ROWS];
    struct pml_lists_source source = source_of(features, slots, numbers);
    struct pml_cell_lists expected = make_lists(&source, 200000);
    for (size_t i = 0; i < ROWS; i++) {
        const size_t to = (i * 263 + 5) % ROWS;
        memcpy(moved + to * COLUMNS, features + i * COLUMNS, COLUMNS * sizeof *moved);
        moved_slots[to] = slots[i];
        moved_numbers[to] = numbers[i];
    }
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        source = source_of(moved, moved_slots, moved_numbers);
        source.threads = threads;
        struct pml_cell_lists lists = make_lists(&source, 200000);
        for (size_t i = 0; i < ROWS; i++) {
            const size_t to = (i * 263 + 5) % ROWS, count = expected.starts[i + 1] - expected.starts[i];
            TEST_ASSERT_EQUAL_UINT64(count, lists.starts[to + 1] - lists.starts[to]);
            TEST_ASSERT_EQUAL(0, memcmp(lists.cells + lists.starts[to], expected.cells + expected.starts[i],
                                        count * sizeof *lists.cells));
        }
        pml_lists_free(&lists);
    }
    pml_lists_free(&expected);
}

static void test_how_many_are_wanted(void)
{
    TEST_ASSERT_EQUAL_UINT64(0, pml_lists_wanted(0, 500000));
    TEST_ASSERT_EQUAL_UINT64(1, pml_lists_wanted(1, 1));
    TEST_ASSERT_EQUAL_UINT64(1, pml_lists_wanted(29, 50000));
    TEST_ASSERT_EQUAL_UINT64(2, pml_lists_wanted(30, 50000)); /* 1.5 */
    TEST_ASSERT_EQUAL_UINT64(1, pml_lists_wanted(1, 500000));
    TEST_ASSERT_EQUAL_UINT64(2000000000u, pml_lists_wanted(4000000000u, 500000)); /* no product overflows */
}

static void test_a_bad_row_is_named(void)
{
    static float bad_features[ROWS * COLUMNS];
    struct pml_lists_source source = source_of(bad_features, slots, numbers);
    struct pml_lists_gallery *gallery;
    size_t bad;
    memcpy(bad_features, features, sizeof features);
    memset(bad_features + 300 * COLUMNS, 0, COLUMNS * sizeof *bad_features);
    memset(bad_features + 77 * COLUMNS, 0, COLUMNS * sizeof *bad_features);
    TEST_ASSERT_EQUAL(1, pml_lists_gallery_make(&gallery, &source, &bad));
    TEST_ASSERT_EQUAL_UINT64(77, bad);
    TEST_ASSERT_NULL(gallery);
}

/* Slots of many items, of ten, of one and of none; every fourth row equals the one before. */
static void make_gallery(void)
{
    draw_rows(2, ROWS, COLUMNS, CLASSES, features);
    for (size_t i = 0; i < ROWS; i++) {
        numbers[i] = (i * 7919 + 11) % 100003;
        slots[i] = i < 10 ? 1 : i == 10 ? 3 : i % 3 == 0 ? 0 : 2;
        if (i % 4 == 1)
            memcpy(features + i * COLUMNS, features + (i - 1) * COLUMNS, COLUMNS * sizeof *features);
        TEST_ASSERT_EQUAL(PML_OK, pml_quantise(features + i * COLUMNS, COLUMNS, quantised + i * COLUMNS));
        find_cell(i);
    }
}

int main(void)
{
    struct input input = make_input(300, COLUMNS, CLASSES);
    input.options.cells = CELLS;
    input.options.prototypes_per_cell = 3;
    UNITY_BEGIN();
    built = build(&input);
    make_gallery();
    RUN_TEST(test_lists_are_as_defined);
    RUN_TEST(test_large_slots);
    RUN_TEST(test_neither_order_nor_threads_matter);
    RUN_TEST(test_how_many_are_wanted);
    RUN_TEST(test_a_bad_row_is_named);
    free_input(&input);
    free(built.bytes);
    return UNITY_END();
}
