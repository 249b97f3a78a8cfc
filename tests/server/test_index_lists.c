/* SPDX-License-Identifier: Apache-2.0
 * Lists of a chosen share, with guests and without: the same as by their definition (SPEC 6.5), whatever the order of rows and the threads. */
#define _XOPEN_SOURCE 700
#include "common/rows/knn.h"
#include "server/lists/index_lists_parts.h"
#include "tools/builder_support.h"

enum {
    ROWS = 420,
    GUESTS = 60, /* behind the rows in all arrays */
    ALL = ROWS + GUESTS,
    COLUMNS = 12,
    CLASSES = 5,
    CELLS = 11,
    VOTED_FOR = 16,
    VOTED_IN = 8,
    PARTS = 4096,
    PROTOTYPES_MAX = 256
};

static struct built built;
static float features[ALL * COLUMNS];
static int8_t quantised[ALL * COLUMNS];
static uint32_t slots[ALL];
static uint64_t numbers[ROWS];
static int64_t near[ALL][CELLS]; /* score with each cell of the slot */
static struct pml_rows rows, guests;

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

static void find_cells(size_t row)
{
    const int8_t *prototypes;
    uint32_t norms[PROTOTYPES_MAX], cells[PROTOTYPES_MAX];
    TEST_ASSERT_TRUE(built.info.prototypes <= PROTOTYPES_MAX);
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_prototypes(&built.pack, slots[row], &prototypes, norms, cells));
    for (uint32_t j = 0; j < CELLS; j++)
        near[row][j] = INT64_MIN;
    for (uint32_t p = 0; p < built.info.prototypes; p++) {
        const int64_t with = score(quantised + row * COLUMNS, prototypes + p * COLUMNS);
        near[row][cells[p]] = with > near[row][cells[p]] ? with : near[row][cells[p]];
    }
}

/* The item itself, then its nearest; of a guest, its nearest. Answers how many. */
static size_t ballot(size_t row, struct entry *votes)
{
    size_t count = 0;
    if (row >= ROWS) {
        for (size_t i = 0; i < ROWS; i++)
            if (slots[i] == slots[row])
                votes[count++] = (struct entry){0, score(quantised + row * COLUMNS, quantised + i * COLUMNS), i};
        qsort(votes, count, sizeof *votes, by_rank);
        return count < VOTED_FOR ? count : VOTED_FOR;
    }
    for (size_t i = 0; i < ROWS; i++)
        if (i != row && slots[i] == slots[row])
            votes[1 + count++] = (struct entry){0, score(quantised + row * COLUMNS, quantised + i * COLUMNS), i};
    qsort(votes + 1, count, sizeof *votes, by_rank);
    votes[0] = (struct entry){0, 0, row};
    return 1 + (count < VOTED_FOR ? count : VOTED_FOR);
}

/* How many of the PARTS of its vote an item has for each cell. */
static void find_parts(size_t row, uint64_t parts[CELLS])
{
    const int64_t inverse = pml_inverse_norm(quantised + row * COLUMNS, COLUMNS);
    uint64_t weights[CELLS] = {0}, sum = 0, first = UINT64_MAX;
    for (uint32_t j = 0; j < CELLS; j++) {
        const uint64_t distance = (uint64_t)((INT64_C(1) << 60) - near[row][j] * inverse) / (1 << 30) + 1;
        first = near[row][j] > INT64_MIN && distance < first ? distance : first;
    }
    for (uint32_t j = 0; j < CELLS; j++) {
        unsigned nearer = 0;
        for (uint32_t i = 0; i < CELLS; i++)
            nearer += near[row][i] > near[row][j] || (near[row][i] == near[row][j] && i < j);
        if (near[row][j] == INT64_MIN || nearer >= VOTED_IN)
            continue;
        const uint64_t distance = (uint64_t)((INT64_C(1) << 60) - near[row][j] * inverse) / (1 << 30) + 1;
        const uint64_t ratio = first * 65536 / distance;
        weights[j] = ratio;
        for (unsigned power = 2; power <= 8; power *= 2)
            weights[j] = weights[j] * weights[j] / 65536;
        sum += weights[j];
    }
    for (uint32_t j = 0; j < CELLS; j++)
        parts[j] = PARTS * weights[j] / sum;
}

/* Who votes besides the items: nobody, each guest in its slot, or each in every slot. */
enum invited { NOBODY, EACH_IN_ITS_SLOT, ALL_EVERYWHERE };

static double votes[ROWS][CELLS];

static void cast(size_t row)
{
    static struct entry ballots[ROWS];
    const size_t count = ballot(row, ballots);
    uint64_t parts[CELLS];
    find_parts(row, parts);
    for (uint32_t cell = 0; cell < CELLS; cell++)
        for (size_t r = 0; r < count; r++) /* whole numbers: exact */
            votes[ballots[r].row][cell] += (double)parts[cell] * 232792560.0 / (double)(r + 4);
}

static void cast_all(enum invited invited)
{
    memset(votes, 0, sizeof votes);
    for (size_t i = 0; i < ROWS; i++)
        cast(i);
    for (size_t i = ROWS; i < ALL && invited != NOBODY; i++) {
        const uint32_t own = slots[i];
        for (uint32_t slot = 0; slot < CLASSES; slot++) {
            if (invited == EACH_IN_ITS_SLOT && slot != own)
                continue;
            slots[i] = slot;
            find_cells(i);
            cast(i);
        }
        slots[i] = own;
    }
}

/* listed[row][cell] */
static void list_by_definition(double share, enum invited invited, bool listed[ROWS][CELLS])
{
    static struct entry ranked[ROWS];
    memset(listed, 0, ROWS * sizeof *listed);
    cast_all(invited);
    for (uint32_t slot = 0; slot < CLASSES; slot++) {
        for (uint32_t cell = 0; cell < CELLS; cell++) {
            size_t count = 0;
            for (size_t i = 0; i < ROWS; i++)
                if (slots[i] == slot)
                    ranked[count++] = (struct entry){
                        0, near[i][cell] * (int64_t)pml_inverse_norm(quantised + i * COLUMNS, COLUMNS), i};
            size_t wanted = (size_t)(share * (double)count + 0.5);
            wanted = wanted > 0 || count == 0 ? wanted : 1;
            qsort(ranked, count, sizeof *ranked, by_rank);
            for (size_t r = 0; r < count; r++) /* the cell's own vote */
                ranked[r].votes =
                    votes[ranked[r].row][cell] + (r < wanted ? 4 * PARTS * (double)(232792560 / ((uint32_t)r + 4)) : 0);
            qsort(ranked, count, sizeof *ranked, by_rank);
            for (size_t i = 0; i < wanted; i++)
                listed[ranked[i].row][cell] = true;
        }
    }
}

/* ---- comparisons ---- */

static struct pml_lists_source source_of(enum invited invited)
{
    return (struct pml_lists_source){.rows = &rows,
                                     .slots = slots,
                                     .slot_count = CLASSES,
                                     .items = numbers,
                                     .voters = invited == NOBODY ? NULL : &guests,
                                     .voter_slots = invited == EACH_IN_ITS_SLOT ? slots + ROWS : NULL,
                                     .threads = 2};
}

static struct pml_cell_lists make_lists(const struct pml_lists_source *source, uint32_t share)
{
    struct pml_lists_gallery *gallery;
    struct pml_cell_lists lists;
    uint32_t wanted[CLASSES];
    TEST_ASSERT_EQUAL(0, pml_lists_gallery_make(&gallery, source));
    pml_lists_wanted_each(gallery, share, wanted);
    TEST_ASSERT_EQUAL(0, pml_lists_make(&lists, gallery, &built.pack, wanted, source->threads, NULL));
    pml_lists_gallery_free(gallery);
    return lists;
}

/* Returns how many entries differ from the definition. */
static size_t count_faults(const struct pml_cell_lists *lists, uint32_t share, enum invited invited)
{
    static bool listed[ROWS][CELLS];
    size_t faults = 0;
    list_by_definition((double)share / 1e6, invited, listed);
    TEST_ASSERT_EQUAL_UINT64(0, lists->starts[0]);
    for (size_t i = 0; i < ROWS; i++) {
        size_t at = lists->starts[i];
        for (uint32_t cell = 0; cell < CELLS; cell++) {
            const bool is = at < lists->starts[i + 1] && lists->cells[at] == cell;
            at += is;
            faults += is != listed[i][cell];
        }
        TEST_ASSERT_EQUAL_UINT64(lists->starts[i + 1], at);
    }
    return faults;
}

static void check_definition(enum invited invited)
{
    static const uint32_t shares[] = {1, 50000, 142857, 333333, 500000};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        const struct pml_lists_source source = source_of(invited);
        struct pml_cell_lists lists = make_lists(&source, shares[i]);
        TEST_ASSERT_EQUAL_UINT64(0, count_faults(&lists, shares[i], invited));
        if (invited != NOBODY && i > 0) /* guests make a difference */
            TEST_ASSERT_GREATER_THAN_UINT64(0, count_faults(&lists, shares[i], NOBODY));
        pml_lists_free(&lists);
    }
}

static void test_lists_are_as_defined(void)
{
    check_definition(NOBODY);
}

static void test_guests_vote_as_defined(void)
{
    check_definition(EACH_IN_ITS_SLOT);
    check_definition(ALL_EVERYWHERE);
}

/* ---- large slots ---- */

/* Every list has different others, nearest first. Answers how many of the true neighbours it has. */
static size_t count_found(const struct pml_rows *among, unsigned reach, const uint32_t *exact, const uint32_t *lists)
{
    size_t found = 0;
    for (size_t i = 0; i < among->count; i++) {
        const int8_t *row = among->values + i * COLUMNS;
        int64_t before = INT64_MAX;
        for (unsigned r = 0; r < reach; r++) {
            const uint32_t other = lists[i * reach + r];
            TEST_ASSERT_LESS_THAN_UINT64(among->count, other);
            TEST_ASSERT_NOT_EQUAL(i, other);
            const int64_t now = score(row, among->values + other * COLUMNS);
            TEST_ASSERT_TRUE(now < before || (now == before && other > lists[i * reach + r - 1]));
            before = now;
            for (unsigned k = 0; k < reach; k++)
                found += exact[i * reach + k] == other;
        }
    }
    return found;
}

static void test_neighbours_through_clusters(void)
{
    enum { REACH = 9 };
    struct pml_rows equal;
    uint32_t exact[ROWS * REACH], lists[ROWS * REACH], again[ROWS * REACH];
    uint32_t of_guests[GUESTS * REACH], of_guests_exact[GUESTS * REACH];
    struct pml_lists_slot slot = {.rows = rows, .reach = REACH, .guests = guests, .guest_reach = REACH};
    size_t found[3], guests_found[3] = {0};
    static const size_t looked_at[3] = {1, 120, ROWS};
    TEST_ASSERT_EQUAL(0, pml_knn(&rows, REACH, 1, NULL, exact));
    slot.guest_neighbours = of_guests_exact;
    TEST_ASSERT_EQUAL(0, pml_lists_near(&slot, 0, 3, NULL));
    slot.guest_neighbours = of_guests;
    for (size_t i = 0; i < 3; i++) {
        slot.neighbours = lists;
        TEST_ASSERT_EQUAL(0, pml_lists_near(&slot, looked_at[i], 1, NULL));
        slot.neighbours = again;
        TEST_ASSERT_EQUAL(0, pml_lists_near(&slot, looked_at[i], 3, NULL));
        TEST_ASSERT_EQUAL(0, memcmp(lists, again, sizeof lists));
        found[i] = count_found(&rows, REACH, exact, lists);
        for (size_t j = 0; j < GUESTS * REACH; j++)
            for (size_t k = 0; k < REACH; k++)
                guests_found[i] += of_guests[j] == of_guests_exact[j / REACH * REACH + k];
    }
    TEST_ASSERT_GREATER_THAN_UINT64(ROWS * REACH * 9 / 10, found[0]);
    TEST_ASSERT_GREATER_THAN_UINT64(ROWS * REACH * 9 / 10, found[1]);
    TEST_ASSERT_LESS_THAN_UINT64(ROWS * REACH, found[1]); /* or it would have looked everywhere */
    TEST_ASSERT_EQUAL_UINT64(ROWS * REACH, found[2]);
    TEST_ASSERT_GREATER_THAN_UINT64(GUESTS * REACH * 8 / 10, guests_found[1]);
    TEST_ASSERT_EQUAL_UINT64(GUESTS * REACH, guests_found[2]);
    TEST_ASSERT_EQUAL(0, pml_rows_allocate(&equal, ROWS, COLUMNS));
    for (size_t i = 0; i < ROWS; i++) { /* one cluster of equal rows: ties only */
        memcpy(equal.values + i * COLUMNS, rows.values, COLUMNS);
        pml_rows_measure(&equal, i);
    }
    TEST_ASSERT_EQUAL(0, pml_knn(&equal, REACH, 1, NULL, exact));
    slot = (struct pml_lists_slot){.rows = equal, .reach = REACH, .neighbours = lists};
    TEST_ASSERT_EQUAL(0, pml_lists_near(&slot, 40, 1, NULL));
    TEST_ASSERT_EQUAL(0, memcmp(lists, exact, sizeof lists));
    pml_rows_free(&equal);
}

/* Where everything is looked at, large slots are like others; where little is, lists still have their length. */
static void test_large_slots(void)
{
    static const size_t looked_at[] = {1, ROWS};
    for (size_t i = 0; i < 2; i++) {
        struct pml_lists_source source = source_of(EACH_IN_ITS_SLOT);
        source.exact = 20;
        source.looked_at = looked_at[i];
        struct pml_cell_lists lists = make_lists(&source, 150000), all;
        source.exact = 0;
        all = make_lists(&source, 150000);
        TEST_ASSERT_EQUAL_UINT64(all.starts[ROWS], lists.starts[ROWS]);
        if (looked_at[i] == ROWS)
            TEST_ASSERT_EQUAL_UINT64(0, count_faults(&lists, 150000, EACH_IN_ITS_SLOT));
        pml_lists_free(&lists);
        pml_lists_free(&all);
    }
}

static void check_equal(struct pml_cell_lists *left, struct pml_cell_lists *right)
{
    TEST_ASSERT_EQUAL_MEMORY(left->starts, right->starts, (ROWS + 1) * sizeof *left->starts);
    TEST_ASSERT_EQUAL_MEMORY(left->cells, right->cells, left->starts[ROWS] * sizeof *left->cells);
    pml_lists_free(left);
    pml_lists_free(right);
}

/* Neighbours that were read out of a gallery need not be found again, in large slots and others. */
static void test_known_neighbours(void)
{
    static uint32_t known[ROWS * VOTED_FOR];
    for (size_t exact = 0; exact <= 20; exact += 20) {
        struct pml_lists_source source = source_of(EACH_IN_ITS_SLOT);
        struct pml_lists_gallery *gallery;
        size_t count, of_slot[CLASSES] = {0}, expected = 0;
        source.exact = exact;
        source.looked_at = 60;
        struct pml_cell_lists found = make_lists(&source, 150000);
        TEST_ASSERT_EQUAL(0, pml_lists_gallery_make(&gallery, &source));
        const uint32_t *neighbours = pml_lists_gallery_neighbours(gallery, &count);
        for (size_t i = 0; i < ROWS; i++)
            of_slot[slots[i]]++;
        for (size_t s = 0; s < CLASSES; s++)
            expected += of_slot[s] * (of_slot[s] > VOTED_FOR ? VOTED_FOR : of_slot[s] > 0 ? of_slot[s] - 1 : 0);
        TEST_ASSERT_EQUAL_UINT64(expected, count);
        memcpy(known, neighbours, count * sizeof *known);
        pml_lists_gallery_free(gallery);
        source.known = known;
        struct pml_cell_lists lists = make_lists(&source, 150000);
        check_equal(&found, &lists);
        known[0] = 1 + (known[0] + 1) % 100; /* they are not looked for */
        TEST_ASSERT_EQUAL(0, pml_lists_gallery_make(&gallery, &source));
        neighbours = pml_lists_gallery_neighbours(gallery, &count);
        TEST_ASSERT_EQUAL_MEMORY(known, neighbours, expected * sizeof *known);
        pml_lists_gallery_free(gallery);
    }
}

/* A cell lists as many as are wanted in its slot, and no more than there are. */
static void test_lists_of_a_given_length(void)
{
    const struct pml_lists_source source = source_of(NOBODY);
    static const uint32_t wanted[CLASSES] = {7, UINT32_MAX, 0, 3, 3};
    struct pml_lists_gallery *gallery;
    struct pml_cell_lists lists;
    size_t listed[CLASSES] = {0}, of_slot[CLASSES] = {0};
    TEST_ASSERT_EQUAL(0, pml_lists_gallery_make(&gallery, &source));
    TEST_ASSERT_EQUAL(0, pml_lists_make(&lists, gallery, &built.pack, wanted, 2, NULL));
    for (size_t i = 0; i < ROWS; i++) {
        of_slot[slots[i]]++;
        listed[slots[i]] += lists.starts[i + 1] - lists.starts[i];
    }
    for (size_t s = 0; s < CLASSES; s++)
        TEST_ASSERT_EQUAL_UINT64(CELLS * (wanted[s] < of_slot[s] ? wanted[s] : of_slot[s]), listed[s]);
    pml_lists_free(&lists);
    pml_lists_gallery_free(gallery);
}

/* Most votes first, by definition. */
static void test_popular_items(void)
{
    static struct entry ballots[ROWS];
    static double popular[ROWS];
    const struct pml_lists_source source = source_of(EACH_IN_ITS_SLOT);
    struct pml_lists_gallery *gallery;
    uint32_t order[ROWS];
    bool seen[ROWS] = {false};
    memset(popular, 0, sizeof popular);
    for (size_t i = 0; i < ALL; i++) {
        const size_t count = ballot(i, ballots);
        for (size_t r = 0; r < count; r++)
            popular[ballots[r].row] += 232792560.0 / (double)(r + 4);
    }
    TEST_ASSERT_EQUAL(0, pml_lists_gallery_make(&gallery, &source));
    TEST_ASSERT_EQUAL(0, pml_lists_popular(gallery, order));
    for (size_t i = 0; i < ROWS; i++) {
        TEST_ASSERT_FALSE(seen[order[i]]);
        seen[order[i]] = true;
        TEST_ASSERT_TRUE(i == 0 || popular[order[i]] <= popular[order[i - 1]]);
    }
    pml_lists_gallery_free(gallery);
}

static void test_neither_order_nor_threads_matter(void)
{
    static uint32_t moved_slots[ROWS], from[ROWS];
    static uint64_t moved_numbers[ROWS];
    struct pml_rows moved;
    struct pml_lists_source source = source_of(EACH_IN_ITS_SLOT);
    struct pml_cell_lists expected = make_lists(&source, 200000);
    for (size_t i = 0; i < ROWS; i++) {
        const size_t to = (i * 263 + 5) % ROWS;
        from[to] = (uint32_t)i;
        moved_slots[to] = slots[i];
        moved_numbers[to] = numbers[i];
    }
    TEST_ASSERT_EQUAL(0, pml_rows_gather(&rows, from, ROWS, &moved));
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        source.rows = &moved;
        source.slots = moved_slots;
        source.items = moved_numbers;
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
    pml_rows_free(&moved);
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

/* Slots of many items, of ten, of one and of none; every fourth row equals the one before. Guests in all slots, some in
 * none; every fifth equals an item. */
static void make_gallery(void)
{
    size_t bad;
    draw_rows(2, ALL, COLUMNS, CLASSES, features);
    for (size_t i = 0; i < ALL; i++) {
        slots[i] = i < 10 ? 1 : i == 10 ? 3 : i % 3 == 0 ? 0 : 2;
        if (i % 4 == 1)
            memcpy(features + i * COLUMNS, features + (i - 1) * COLUMNS, COLUMNS * sizeof *features);
        if (i >= ROWS) {
            slots[i] = i % 7 == 6 ? PML_LISTS_NO_SLOT : i % 3 == 0 ? (uint32_t)(i / 3 % CLASSES) : 0;
            if (i % 5 == 0)
                memcpy(features + i * COLUMNS, features + (i - ROWS) * COLUMNS, COLUMNS * sizeof *features);
        } else {
            numbers[i] = (i * 7919 + 11) % 100003;
        }
        TEST_ASSERT_EQUAL(PML_OK, pml_quantise(features + i * COLUMNS, COLUMNS, quantised + i * COLUMNS));
        if (i < ROWS)
            find_cells(i);
    }
    TEST_ASSERT_EQUAL(0, pml_rows_allocate(&rows, ROWS, COLUMNS));
    TEST_ASSERT_EQUAL(0, pml_rows_quantise(&rows, features, 1, NULL, &bad));
    TEST_ASSERT_EQUAL(0, pml_rows_allocate(&guests, GUESTS, COLUMNS));
    TEST_ASSERT_EQUAL(0, pml_rows_quantise(&guests, features + ROWS * COLUMNS, 1, NULL, &bad));
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
    RUN_TEST(test_guests_vote_as_defined);
    RUN_TEST(test_neighbours_through_clusters);
    RUN_TEST(test_large_slots);
    RUN_TEST(test_known_neighbours);
    RUN_TEST(test_lists_of_a_given_length);
    RUN_TEST(test_popular_items);
    RUN_TEST(test_neither_order_nor_threads_matter);
    RUN_TEST(test_how_many_are_wanted);
    pml_rows_free(&rows);
    pml_rows_free(&guests);
    free_input(&input);
    free(built.bytes);
    return UNITY_END();
}
