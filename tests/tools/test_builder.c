/* SPDX-License-Identifier: Apache-2.0
 * Packs that are built: the same for any number of threads, as the options say, and good for both mechanisms. */
#define _POSIX_C_SOURCE 200809L
#include "builder_support.h"

#include <math.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- the same bytes ---- */

static void test_the_bytes_do_not_depend_on_threads(void)
{
    static const int kinds[] = {PML_SLOTS_ONE, PML_SLOTS_CLASS, PML_SLOTS_GROUP};
    struct input input = make_input(400, 24, 12);
    for (size_t kind = 0; kind < 3; kind++)
        for (int codes = PML_CODES_RANDOM; codes <= PML_CODES_CLASS; codes++) {
            input.options.slots = kinds[kind];
            input.options.slot_count = kinds[kind] == PML_SLOTS_GROUP ? 5 : 0;
            input.options.codes = codes == PML_CODES_RANDOM ? PML_CODES_RANDOM : PML_CODES_CLASS;
            input.options.rows_per_prototype = codes == PML_CODES_RANDOM ? 1 : 3;
            input.options.threads = 1;
            struct built first = build(&input);
            static const unsigned threads[] = {1, 2, 7};
            for (size_t i = 0; i < 3; i++) {
                input.options.threads = threads[i];
                struct built again = build(&input);
                TEST_ASSERT_EQUAL_UINT64(first.size, again.size);
                TEST_ASSERT_EQUAL_MEMORY(first.bytes, again.bytes, first.size);
                free(again.bytes);
            }
            input.options.seed++;
            struct built other = build(&input);
            TEST_ASSERT_TRUE(memcmp(first.info.id, other.info.id, PML_ID_SIZE) != 0);
            free(other.bytes);
            free(first.bytes);
        }
    free_input(&input);
}

/* ---- what the options say ---- */

static void test_defaults(void)
{
    struct input input = make_input(1200, 16, 6);
    input.options = (struct pml_build_options){.slots = PML_SLOTS_ONE};
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(16, built.info.features);
    TEST_ASSERT_EQUAL_UINT32(0, built.info.anchors);
    TEST_ASSERT_EQUAL_UINT32(2, built.info.dimensions);
    TEST_ASSERT_EQUAL_UINT32(1, built.info.slots);
    TEST_ASSERT_EQUAL_UINT32(28, built.info.cells);
    TEST_ASSERT_EQUAL_UINT32(14, built.info.sketch); /* 7 bits per feature */
    TEST_ASSERT_EQUAL_UINT32(16, built.info.directions);
    TEST_ASSERT_TRUE(!built.info.lists && built.info.cell_codes);
    TEST_ASSERT_EQUAL_UINT64(0, built.report.anchors);
    TEST_ASSERT_EQUAL_UINT64(0, built.report.classes);
    TEST_ASSERT_EQUAL_UINT64(1, built.report.slots);
    TEST_ASSERT_EQUAL_UINT64(28, built.report.cells);
    TEST_ASSERT_EQUAL_UINT64(14, built.report.sketch);
    TEST_ASSERT_EQUAL_UINT64(2, built.report.rows_per_prototype);
    TEST_ASSERT_TRUE(built.report.share == 0.02 && built.report.epsilon == 4.0 && built.report.bandwidth == 0.0);
    free(built.bytes);
    input.options = (struct pml_build_options){.slots = PML_SLOTS_CLASS, .gaussian = 1};
    built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(1200, built.info.anchors);
    TEST_ASSERT_EQUAL_UINT32(10, built.info.neighbours);
    TEST_ASSERT_EQUAL_UINT32(6, built.info.slots);
    TEST_ASSERT_EQUAL_UINT32(0, built.info.alpha);
    TEST_ASSERT_TRUE(built.info.lists && built.info.cell_codes);
    TEST_ASSERT_EQUAL_UINT64(1200, built.report.anchors);
    TEST_ASSERT_EQUAL_UINT64(6, built.report.classes);
    free(built.bytes);
    free_input(&input);
}

static void test_options_reach_the_pack(void)
{
    struct input input = make_input(600, 16, 6);
    input.options = (struct pml_build_options){.slots = PML_SLOTS_CLASS,
                                               .neighbours = 4,
                                               .bandwidth = 2.0,
                                               .alpha = 0.5,
                                               .dimensions = 3,
                                               .sketch = 256,
                                               .plain_sketches = 1,
                                               .cells = 4,
                                               .prototypes_per_cell = 3,
                                               .rows_per_prototype = 1,
                                               .gaussian = 1,
                                               .codes = PML_CODES_CLASS};
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(4, built.info.neighbours);
    TEST_ASSERT_EQUAL_UINT32(16384, built.info.lambda);
    TEST_ASSERT_EQUAL_UINT32(128, built.info.alpha);
    TEST_ASSERT_EQUAL_UINT32(3, built.info.dimensions);
    TEST_ASSERT_EQUAL_UINT32(256, built.info.sketch);
    TEST_ASSERT_EQUAL_UINT32(0, built.info.directions);
    TEST_ASSERT_EQUAL_UINT32(4, built.info.cells);
    TEST_ASSERT_EQUAL_UINT32(12, built.info.prototypes);
    TEST_ASSERT_EQUAL_UINT64(1, built.report.rows_per_prototype);
    TEST_ASSERT_TRUE(built.report.bandwidth == 2.0 && built.report.share == 0.0 && built.report.epsilon == 0.0);
    free(built.bytes);
    free_input(&input);
}

/* The rule of docs/CLI.md, by hand: the smallest of 1.5·e^ε, 0.55·(f·e^ε)^0.37/f and 8/f. */
static void test_cells_are_chosen_for_a_share_and_an_epsilon(void)
{
    static const struct {
        double share, epsilon;
        unsigned cells;
    } cases[] = {{0, 0, 28},   {0.02, 4, 28}, {0, 2, 11},    {0, 8, 125},
                 {0.1, 0, 10}, {0.01, 0, 44}, {0.5, 0.1, 2}, {0.5, 16, 16}};
    struct input input = make_input(60, 16, 6);
    input.options.cells = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        input.options.share = cases[i].share;
        input.options.epsilon = cases[i].epsilon;
        struct built built = build(&input);
        TEST_ASSERT_EQUAL_UINT32(cases[i].cells, built.info.cells);
        TEST_ASSERT_TRUE(built.report.share == (cases[i].share > 0 ? cases[i].share : 0.02) &&
                         built.report.epsilon == (cases[i].epsilon > 0 ? cases[i].epsilon : 4.0));
        free(built.bytes);
    }
    free_input(&input);
}

static void test_few_rows_take_fewer_neighbours(void)
{
    struct input input = make_input(5, 4, 2);
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(4, built.info.neighbours);
    TEST_ASSERT_TRUE(built.info.lists);
    free(built.bytes);
    free_input(&input);
}

/* ---- anchors, slots, lists ---- */

/* Anchors are the rows, quantised, class by class, as they came. */
static void test_anchors_are_the_rows_by_slot(void)
{
    struct input input = make_input(50, 8, 7);
    struct built built = build(&input);
    uint32_t anchor = 0;
    for (uint32_t c = 0; c < 7; c++) {
        int32_t label;
        uint32_t slot;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(&built.pack, c, &label, &slot));
        TEST_ASSERT_EQUAL_INT32(7 * (int32_t)c - 20, label);
        TEST_ASSERT_EQUAL_UINT32(c, slot);
        for (size_t i = 0; i < 50; i++) {
            if (input.labels.values[i] != label)
                continue;
            int8_t row[8];
            TEST_ASSERT_EQUAL(PML_OK, pml_quantise(input.features.values + 8 * i, 8, row));
            TEST_ASSERT_EQUAL_MEMORY(row, pml_pack_anchor(&built.pack, anchor), 8);
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_anchor_slot(&built.pack, anchor++, &slot));
            TEST_ASSERT_EQUAL_UINT32(c, slot);
        }
    }
    TEST_ASSERT_EQUAL_UINT32(50, anchor);
    free(built.bytes);
    free_input(&input);
}

static double distance_between(const int8_t *a, const int8_t *b, size_t columns)
{
    double dot = 0, left = 0, right = 0;
    for (size_t i = 0; i < columns; i++) {
        dot += a[i] * b[i];
        left += a[i] * a[i];
        right += b[i] * b[i];
    }
    return sqrt(fmax(0.0, 2.0 - 2.0 * dot / sqrt(left * right)));
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static void test_the_bandwidth_is_the_median_distance_to_the_last_neighbour(void)
{
    for (size_t rows = 90; rows <= 91; rows++) {
        struct input input = make_input(rows, 12, 9);
        input.options.neighbours = 6;
        struct built built = build(&input);
        double medians[91], distances[91];
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < rows; j++)
                distances[j] = distance_between(pml_pack_anchor(&built.pack, i), pml_pack_anchor(&built.pack, j), 12);
            distances[i] = 0; /* itself comes first */
            qsort(distances, rows, sizeof *distances, by_size);
            medians[i] = distances[6];
            uint32_t list[6];
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_list(&built.pack, i, list));
            TEST_ASSERT_DOUBLE_WITHIN(
                1e-4, distances[6],
                distance_between(pml_pack_anchor(&built.pack, i), pml_pack_anchor(&built.pack, list[5]), 12));
        }
        qsort(medians, rows, sizeof *medians, by_size);
        double median = (medians[(rows - 1) / 2] + medians[rows / 2]) / 2;
        TEST_ASSERT_TRUE(built.report.bandwidth == sqrt(65536.0 / built.info.lambda) && !built.report.bandwidth_raised);
        TEST_ASSERT_UINT32_WITHIN(1, (uint32_t)(65536 / (median * median) + 0.5), built.info.lambda);
        free(built.bytes);
        free_input(&input);
    }
}

static void test_groups_hold_every_class(void)
{
    struct input input = make_input(300, 16, 30);
    input.options.slots = PML_SLOTS_GROUP;
    for (unsigned groups = 0; groups <= 30; groups += 6) {
        input.options.slot_count = groups;
        struct built built = build(&input);
        uint32_t expected = groups == 0 ? 30 : groups, next = 0, slot;
        TEST_ASSERT_EQUAL_UINT32(PML_SLOTS_GROUP, built.info.slot_kind);
        TEST_ASSERT_EQUAL_UINT32(expected, built.info.slots);
        TEST_ASSERT_EQUAL_UINT32(30, built.info.classes);
        for (uint32_t c = 0; c < 30; c++) { /* slots are numbered by their smallest class */
            int32_t label;
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(&built.pack, c, &label, &slot));
            TEST_ASSERT_TRUE(slot <= next);
            next += slot == next;
        }
        TEST_ASSERT_EQUAL_UINT32(expected, next);
        free(built.bytes);
    }
    free_input(&input);
}

/* Classes that cannot be told apart still fill all groups. */
static void test_groups_of_equal_classes_are_not_empty(void)
{
    struct input input = make_input(40, 4, 10);
    for (size_t i = 0; i < 160; i++)
        input.features.values[i] = 1.0f;
    input.options.slots = PML_SLOTS_GROUP;
    input.options.slot_count = 6;
    input.options.bandwidth = 1.0;
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(6, built.info.slots);
    TEST_ASSERT_EQUAL_UINT64(6 * 7, built.report.repeated);
    free(built.bytes);
    free_input(&input);
}

static void test_one_slot_ignores_labels(void)
{
    struct input input = make_input(100, 16, 4);
    input.options.slots = PML_SLOTS_ONE;
    struct built with = build(&input), without;
    TEST_ASSERT_EQUAL_UINT32(1, with.info.slots);
    TEST_ASSERT_EQUAL_UINT32(0, with.info.classes);
    TEST_ASSERT_EQUAL(PML_DONE, pml_pack_build(&input.features, NULL, &input.options, &without.bytes, &without.size,
                                               &without.report, &said));
    TEST_ASSERT_EQUAL_MEMORY(with.bytes, without.bytes, with.size);
    free(with.bytes);
    free(without.bytes);
    free_input(&input);
}

/* ---- releases ---- */

static void make_release(const struct built *built, int mechanism)
{
    struct fixture f;
    setup_fixture(&f, PACK_CLASS, mechanism, 1.0);
    f.pack = built->pack;
    setup_client(&f);
    float features[64], rows[64];
    uint8_t release[512];
    size_t written;
    make_features(&built->pack, 5, features);
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
    TEST_ASSERT_EQUAL(PML_OK, release_query(f.client, features, built->info.features, some_label(&built->pack), release,
                                            sizeof release));
    written = pml_client_release_size(f.client);
    TEST_ASSERT_EQUAL(PML_OK, pml_release_rows(&built->pack, release, written, rows, 64));
    teardown_fixture(&f);
}

static void test_both_mechanisms_make_releases(void)
{
    static const int kinds[] = {PML_SLOTS_ONE, PML_SLOTS_CLASS, PML_SLOTS_GROUP};
    struct input input = make_input(80, 10, 8);
    for (size_t i = 0; i < 3; i++) {
        input.options.slots = kinds[i];
        input.options.slot_count = kinds[i] == PML_SLOTS_GROUP ? 3 : 0;
        struct built built = build(&input);
#if PML_WITH_RESPONSE
        make_release(&built, PML_RESPONSE);
#endif
#if PML_WITH_GAUSSIAN
        make_release(&built, PML_GAUSSIAN);
#endif
        free(built.bytes);
    }
    free_input(&input);
}

static void test_a_pack_without_the_gaussian_has_no_anchors(void)
{
    struct input input = make_input(80, 10, 8);
    struct built full = build(&input);
    input.options.gaussian = 0;
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(0, built.info.anchors | built.info.neighbours | built.info.lambda);
    TEST_ASSERT_TRUE(built.info.cell_codes && !built.info.lists);
    for (size_t s = 0; s < 8; s++)
        TEST_ASSERT_EQUAL_MEMORY(pml_pack_prototype(&full.pack, s, 0), pml_pack_prototype(&built.pack, s, 0), 80);
#if PML_WITH_RESPONSE
    make_release(&built, PML_RESPONSE);
#endif
    free(built.bytes);
    free(full.bytes);
    free_input(&input);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_the_bytes_do_not_depend_on_threads);
    RUN_TEST(test_defaults);
    RUN_TEST(test_options_reach_the_pack);
    RUN_TEST(test_cells_are_chosen_for_a_share_and_an_epsilon);
    RUN_TEST(test_few_rows_take_fewer_neighbours);
    RUN_TEST(test_anchors_are_the_rows_by_slot);
    RUN_TEST(test_the_bandwidth_is_the_median_distance_to_the_last_neighbour);
    RUN_TEST(test_groups_hold_every_class);
    RUN_TEST(test_groups_of_equal_classes_are_not_empty);
    RUN_TEST(test_one_slot_ignores_labels);
    RUN_TEST(test_both_mechanisms_make_releases);
    RUN_TEST(test_a_pack_without_the_gaussian_has_no_anchors);
    return UNITY_END();
}
