/* SPDX-License-Identifier: Apache-2.0
 * Input the builder refuses: every message says what is wrong and what to do next, and nothing is handed out. */
#define _POSIX_C_SOURCE 200809L
#include "builder_support.h"

#include <math.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static void refuse_without(const struct input *input, const struct pml_labels *labels, const char *part)
{
    uint8_t *bytes = (uint8_t *)1;
    size_t size = 1;
    struct pml_build_report report;
    TEST_ASSERT_EQUAL(PML_REFUSED,
                      pml_pack_build(&input->features, labels, &input->options, &bytes, &size, &report, &said));
    TEST_ASSERT_NULL(bytes);
    TEST_ASSERT_EQUAL_UINT64(0, size);
    assert_said(part);
    TEST_ASSERT_EQUAL(PML_REFUSED,
                      pml_pack_build(&input->features, labels, &input->options, &bytes, &size, NULL, NULL));
}

static void refuse(const struct input *input, const char *part)
{
    refuse_without(input, &input->labels, part);
}

static void test_options_out_of_range_are_refused(void)
{
    static const struct {
        struct pml_build_options options;
        const char *part;
    } cases[] = {
        {{.slots = 3}, "--slots one, class or group"},
        {{.slots = PML_SLOTS_CLASS, .neighbours = 65}, "at most 64"},
        {{.slots = PML_SLOTS_CLASS, .gaussian = 1, .neighbours = 30}, "need more than 30 rows"},
        {{.slots = PML_SLOTS_CLASS, .bandwidth = -1}, "--bandwidth"},
        {{.slots = PML_SLOTS_CLASS, .bandwidth = NAN}, "--bandwidth"},
        {{.slots = PML_SLOTS_CLASS, .bandwidth = INFINITY}, "--bandwidth"},
        {{.slots = PML_SLOTS_CLASS, .alpha = -0.1}, "between 0 and 4"},
        {{.slots = PML_SLOTS_CLASS, .alpha = 4.1}, "between 0 and 4"},
        {{.slots = PML_SLOTS_CLASS, .alpha = NAN}, "between 0 and 4"},
        {{.slots = PML_SLOTS_CLASS, .alpha = 0.001}, "1/256"},
        {{.slots = PML_SLOTS_ONE, .alpha = 1}, "no label graph"},
        {{.slots = PML_SLOTS_GROUP, .slot_count = 1, .alpha = 1}, "no label graph"},
        {{.slots = PML_SLOTS_CLASS, .alpha = 1}, "no label graph"},
        {{.slots = PML_SLOTS_CLASS, .dimensions = 17}, "at most 16"},
        {{.slots = PML_SLOTS_CLASS, .cells = 1}, "at least 2 --cells"},
        {{.slots = PML_SLOTS_CLASS, .cells = 65537}, "at most 65536"},
        {{.slots = PML_SLOTS_CLASS, .prototypes_per_cell = 17}, "at most 16"},
        {{.slots = PML_SLOTS_CLASS, .cells = 1025, .prototypes_per_cell = 4}, "smaller --prototypes-per-cell, or 1"},
        {{.slots = PML_SLOTS_CLASS, .cells = 8, .share = 0.1}, "leave one or the other out"},
        {{.slots = PML_SLOTS_CLASS, .share = 0.51}, "at most 0.5"},
        {{.slots = PML_SLOTS_CLASS, .cells = 8, .epsilon = 4.0}, "leave one or the other out"},
        {{.slots = PML_SLOTS_CLASS, .epsilon = NAN}, "change --epsilon"},
        {{.slots = PML_SLOTS_CLASS, .share = 0.1, .epsilon = 17}, "change --epsilon"},
        {{.slots = PML_SLOTS_CLASS, .share = -0.1}, "at most 0.5"},
        {{.slots = PML_SLOTS_CLASS, .share = NAN}, "at most 0.5"},
        {{.slots = PML_SLOTS_CLASS, .sketch = 7}, "8 to 256"},
        {{.slots = PML_SLOTS_CLASS, .sketch = 257}, "8 to 256"},
        {{.slots = PML_SLOTS_CLASS, .slot_count = 3}, "--slots group"},
        {{.slots = PML_SLOTS_GROUP, .slot_count = 1025}, "at most 1024"},
        {{.slots = PML_SLOTS_GROUP, .slot_count = 6}, "only 5 classes"},
    };
    struct input input = make_input(30, 4, 5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        input.options = cases[i].options;
        refuse(&input, cases[i].part);
    }
    input.options = (struct pml_build_options){.slots = PML_SLOTS_CLASS};
    int unknown = 9;
    memcpy(&input.options.codes, &unknown, sizeof unknown);
    refuse(&input, "--codes pca, spectral, lda, random or class");
    free_input(&input);
}

static void test_features_of_wrong_shape_are_refused(void)
{
    struct input input = make_input(30, 4, 5);
    input.features.rows = 0;
    refuse(&input, "no features");
    input.features.rows = 1;
    input.labels.rows = 1;
    refuse(&input, "at least two");
    input.features.rows = input.labels.rows = PML_ANCHORS_MAX + 1;
    refuse(&input, "give a sample");
    input.features.rows = input.labels.rows = 30;
    input.features.columns = 4097;
    refuse(&input, "at most 4096");
    input.features.columns = 4;
    free_input(&input);
}

static void test_labels_that_do_not_fit_are_refused(void)
{
    struct input input = make_input(30, 4, 5);
    refuse_without(&input, NULL, "need labels");
    input.options.slots = PML_SLOTS_GROUP;
    refuse_without(&input, NULL, "need labels");
    input.labels.rows = 29;
    refuse(&input, "29 labels for 30 rows");
    input.options.slots = PML_SLOTS_ONE;
    refuse(&input, "29 labels for 30 rows");
    input.labels.rows = 30;
    for (size_t i = 0; i < 30; i++)
        input.labels.values[i] = -4;
    input.options.slots = PML_SLOTS_CLASS;
    refuse(&input, "All labels are -4, so there is one class only: use --slots one");
    free_input(&input);
}

static void test_bad_rows_are_named(void)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    struct input input = make_input(600, 4, 5);
    for (size_t i = 0; i < 3; i++) {
        input.features.values[4 * 411 + i] = bad[i];
        refuse(&input, "Row 411 ");
        input.features.values[4 * 411 + i] = 1;
    }
    memset(input.features.values + 4 * 300, 0, 4 * sizeof(float));
    refuse(&input, "Row 300 ");
    free_input(&input);
}

static void test_too_many_classes_are_refused(void)
{
    struct input input = make_input(1100, 2, 1100);
    refuse(&input, "use --slots group");
    input.options.slots = PML_SLOTS_GROUP;
    input.options.slot_count = 1024;
    input.options.cells = 1025;
    refuse(&input, "fewer --cells, slots or --prototypes-per-cell");
    input.options.cells = 65;
    input.options.prototypes_per_cell = 16;
    refuse(&input, "fewer --cells, slots or --prototypes-per-cell");
    input.options.prototypes_per_cell = 0;
    input.options.cells = 2;
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(1024, built.info.slots);
    free(built.bytes);
    input.options.slot_count = 0;
    built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(128, built.info.slots);
    free(built.bytes);
    free_input(&input);
}

static void test_equal_rows_need_a_bandwidth(void)
{
    struct input input = make_input(20, 3, 2);
    for (size_t i = 0; i < 60; i++)
        input.features.values[i] = -2.0f;
    refuse(&input, "Every row has 10 equal ones, so no bandwidth can be found: give --bandwidth");
    input.options.bandwidth = 1e-100; /* lambda is held at its limits */
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(UINT32_MAX, built.info.lambda);
    free(built.bytes);
    input.options.bandwidth = 1e100;
    built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(1, built.info.lambda);
    free(built.bytes);
    free_input(&input);
}

/* A slot of one row would show it to everybody. */
static void test_slots_of_one_row_are_refused(void)
{
    struct input input = make_input(30, 4, 5);
    input.options = (struct pml_build_options){.slots = PML_SLOTS_CLASS, .cells = 2};
    input.labels.values[17] = 1000;
    refuse(&input, "Class 1000 has fewer than 2 different rows");
    assert_said("everybody who has the pack could read them");
    assert_said("--rows-are-public");
    input.labels.values[18] = 1000; /* two, but equal */
    memcpy(input.features.values + 18 * 4, input.features.values + 17 * 4, 4 * sizeof(float));
    refuse(&input, "Class 1000 has fewer than 2 different rows");
    input.options.rows_are_public = 1;
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(6, built.info.slots);
    free(built.bytes);
    input.options.rows_are_public = 0;
    input.options.rows_per_prototype = 1;
    built = build(&input);
    free(built.bytes);
    input.options.slots = PML_SLOTS_ONE;
    input.options.rows_per_prototype = 31;
    refuse(&input, "The features have fewer than 31 different rows");
    free_input(&input);
}

/* Rows that differ in one step of one of many features: nearer than a pack's bandwidth can be small. */
static void test_the_reported_bandwidth_is_the_pack_s(void)
{
    enum { ROWS = 20, COLUMNS = 2000 };
    struct input input = make_input(ROWS, COLUMNS, 2);
    input.options.sketch = 8; /* of 2000 features, 256 take their time under an emulator */
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        input.features.values[i] = i / COLUMNS == i % COLUMNS ? 127.0f : 126.0f;
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(UINT32_MAX, built.info.lambda);
    TEST_ASSERT_TRUE(built.report.bandwidth == sqrt(65536.0 / UINT32_MAX) && built.report.bandwidth_raised);
    free(built.bytes);
    input.options.gaussian = 0;
    built = build(&input);
    TEST_ASSERT_TRUE(built.report.bandwidth == 0.0 && !built.report.bandwidth_raised);
    free(built.bytes);
    input.options.bandwidth = 1.0;
    refuse(&input, "leave --bandwidth out");
    free_input(&input);
}

#if PML_WITH_GAUSSIAN
static void test_a_pack_that_devices_refuse_is_not_handed_out(void)
{
    struct input input = make_input(60, 4, 5);
    input.options.alpha = 4;
    input.options.bandwidth = 0.02;
    refuse(&input, "smaller --alpha or a larger --bandwidth");
    input.options.bandwidth = 1.5;
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(1024, built.info.alpha);
    free(built.bytes);
    free_input(&input);
}
#endif

/* ---- progress ---- */

struct heard {
    unsigned calls, stages;
    char stage[32];
    double done;
};

static void hear(void *context, const char *stage, double done)
{
    struct heard *heard = context;
    TEST_ASSERT_TRUE(done >= 0.0 && done <= 1.0);
    if (strcmp(stage, heard->stage) != 0) {
        TEST_ASSERT_TRUE(strlen(stage) < sizeof heard->stage);
        memcpy(heard->stage, stage, strlen(stage) + 1);
        heard->stages++;
    }
    heard->calls++;
    heard->done = done;
}

static void test_progress_goes_through_all_stages(void)
{
    struct heard heard = {0, 0, "", 0};
    struct input input = make_input(200, 4, 5);
    input.options.progress = hear;
    input.options.progress_context = &heard;
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT(8, heard.stages);
    TEST_ASSERT_TRUE(heard.done == 1.0 && heard.calls > 8);
    free(built.bytes);
    free_input(&input);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_options_out_of_range_are_refused);
    RUN_TEST(test_features_of_wrong_shape_are_refused);
    RUN_TEST(test_labels_that_do_not_fit_are_refused);
    RUN_TEST(test_bad_rows_are_named);
    RUN_TEST(test_too_many_classes_are_refused);
    RUN_TEST(test_equal_rows_need_a_bandwidth);
    RUN_TEST(test_slots_of_one_row_are_refused);
    RUN_TEST(test_the_reported_bandwidth_is_the_pack_s);
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_a_pack_that_devices_refuse_is_not_handed_out);
#endif
    RUN_TEST(test_progress_goes_through_all_stages);
    return UNITY_END();
}
