/* SPDX-License-Identifier: Apache-2.0
 * Coded sketches as they are built: levels are means of what is nearest to them, bits follow the variance, the same code
 * whatever the number of threads, and neighbours are found better than by plain sketches of as many bytes. */
#define _POSIX_C_SOURCE 200809L
#include "builder_support.h"
#include "common/rows/knn.h"
#include "common/rows_support.h"
#include "server/gallery/answer_list.h"
#include "tools/sketch/quantiser.h"
#include "tools/sketch/sketch_coder.h"

#include <math.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- levels ---- */

/* Twelve uniform numbers make nearly a normal one, with tails that are a little shorter. */
static double draw_normal(uint64_t *state)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++)
        sum += (double)(draw64(state) >> 11) * 0x1p-53;
    return sum;
}

static double error_of(const double *sample, size_t size, const double *levels, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < size; i++) {
        double least = 1e9;
        for (size_t j = 0; j < count; j++)
            least = fmin(least, (sample[i] - levels[j]) * (sample[i] - levels[j]));
        sum += least;
    }
    return sum / (double)size;
}

/* The errors of the best quantisers of a normal variable are known (Max, 1960). */
static void test_levels_of_normal_numbers(void)
{
    enum { SIZE = 40000 };
    static double sample[SIZE], sums[SIZE + 1], levels[128];
    static const double best[] = {0.3634, 0.1175, 0.03454, 0.009497, 0.002499, 0.00064, 0.000163};
    uint64_t state = 5;
    for (unsigned bits = 1; bits <= 7; bits++) {
        for (size_t i = 0; i < SIZE; i++)
            sample[i] = draw_normal(&state);
        pml_quantiser_levels(sample, SIZE, sums, levels, (size_t)1 << bits);
        TEST_ASSERT_DOUBLE_WITHIN(0.15 * best[bits - 1], best[bits - 1],
                                  error_of(sample, SIZE, levels, (size_t)1 << bits));
        for (size_t i = 1; i < (size_t)1 << bits; i++)
            TEST_ASSERT_TRUE(levels[i - 1] < levels[i]);
    }
}

static void test_levels_of_strange_samples(void)
{
    double sums[9], levels[4];
    double few[] = {3.0, -1.0}, same[] = {2.0, 2.0, 2.0}, far[] = {0.0, 1e-300, 1e300, 1.0, 2.0, 3.0, 4.0, 5.0};
    pml_quantiser_levels(few, 0, sums, levels, 4);
    for (int i = 0; i < 4; i++)
        TEST_ASSERT_TRUE(levels[i] == 0.0);
    pml_quantiser_levels(few, 2, sums, levels, 4);
    TEST_ASSERT_TRUE(error_of(few, 2, levels, 4) < 1e-9);
    pml_quantiser_levels(same, 3, sums, levels, 4);
    for (int i = 0; i < 4; i++)
        TEST_ASSERT_TRUE(levels[i] == 2.0);
    pml_quantiser_levels(far, 8, sums, levels, 4);
    for (int i = 1; i < 4; i++)
        TEST_ASSERT_TRUE(levels[i - 1] <= levels[i] && isfinite(levels[i]));
}

/* ---- the code ---- */

static struct pml_sketch_coder make(const struct pml_rows *rows, size_t bytes, unsigned threads)
{
    struct pml_sketch_coder coder;
    TEST_ASSERT_EQUAL(PML_DONE, pml_sketch_coder_make(&coder, rows, bytes, 11, threads, NULL));
    return coder;
}

static void check_shape(const struct pml_sketch_coder *coder, size_t bytes, size_t columns)
{
    size_t directions = 0, sum = 0;
    for (unsigned bits = 1; bits <= PML_CODER_BITS; bits++) {
        directions += PML_CODER_BLOCK * coder->blocks[bits - 1];
        sum += bits * coder->blocks[bits - 1];
    }
    TEST_ASSERT_EQUAL_UINT64(coder->directions, directions);
    TEST_ASSERT_EQUAL_UINT64(coder->bytes, sum);
    TEST_ASSERT_TRUE(coder->bytes >= 1 && coder->bytes <= bytes && directions < columns + PML_CODER_BLOCK);
}

static void test_shapes(void)
{
    static const size_t shapes[][3] = {{300, 40, 16}, {300, 40, 35}, {300, 65, 32}, {300, 3, 7}, {4, 1, 7},
                                       {300, 7, 7},   {5, 100, 32},  {1, 20, 8},    {2, 20, 20}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        float *values = malloc(shapes[i][0] * shapes[i][1] * sizeof *values);
        draw_rows(i + 1, shapes[i][0], shapes[i][1], 5, values);
        struct pml_rows rows = quantised(values, shapes[i][0], shapes[i][1]);
        struct pml_sketch_coder one = make(&rows, shapes[i][2], 1), two = make(&rows, shapes[i][2], 3);
        check_shape(&one, shapes[i][2], shapes[i][1]);
        TEST_ASSERT_EQUAL_UINT64(one.directions, two.directions);
        TEST_ASSERT_EQUAL_MEMORY(one.levels, two.levels, sizeof one.levels);
        TEST_ASSERT_EQUAL_MEMORY(one.rows, two.rows, one.directions * shapes[i][1]);
        TEST_ASSERT_EQUAL_MEMORY(one.middles, two.middles, one.directions * sizeof *one.middles);
        TEST_ASSERT_EQUAL_MEMORY(one.widths, two.widths, one.directions * sizeof *one.widths);
        pml_sketch_coder_free(&one);
        pml_sketch_coder_free(&two);
        pml_rows_free(&rows);
        free(values);
    }
}

/* Widths, which are deviations times the largest level, do not rise along directions of one depth. */
static void test_bits_follow_the_variance(void)
{
    enum { ROWS = 2000, COLUMNS = 64 };
    float *values = malloc(ROWS * COLUMNS * sizeof *values);
    uint64_t state = 6;
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) /* the later a column, the less it varies */
        values[i] = (float)(draw_normal(&state) / (1.0 + (double)(i % COLUMNS)));
    struct pml_rows rows = quantised(values, ROWS, COLUMNS);
    struct pml_sketch_coder coder = make(&rows, 16, 1);
    check_shape(&coder, 16, COLUMNS);
    TEST_ASSERT_EQUAL_UINT64(16, coder.bytes);
    TEST_ASSERT_TRUE(coder.directions < COLUMNS);
    for (size_t i = 0; i < coder.directions; i++) {
        TEST_ASSERT_TRUE(coder.widths[i] > 0);
        TEST_ASSERT_TRUE(i % PML_CODER_BLOCK == 0 || coder.widths[i] <= coder.widths[i - 1] + coder.widths[i - 1] / 8);
    }
    pml_sketch_coder_free(&coder);
    pml_rows_free(&rows);
    free(values);
}

/* ---- what it finds ---- */

static int8_t *sketches_of(const struct built *built, const struct pml_rows *rows)
{
    int8_t *sketches = malloc(rows->count * built->info.sketch);
    TEST_ASSERT_NOT_NULL(sketches);
    for (size_t i = 0; i < rows->count; i++)
        TEST_ASSERT_EQUAL(PML_OK, pml_sketch(&built->pack, NULL, rows->values + i * rows->columns,
                                             sketches + i * built->info.sketch));
    return sketches;
}

/* Ranks all rows for one of them, as a device does, and counts the true nearest among the first eight others. */
static size_t found_for(const struct built *built, const struct pml_rows *rows, const float *values, size_t query,
                        const int8_t *sketches, const uint32_t *nearest)
{
    struct pml_candidate *candidates = malloc(rows->count * sizeof *candidates);
    size_t count = 0;
    TEST_ASSERT_NOT_NULL(candidates);
    struct pml_bytes answer = {0};
    for (size_t i = 0; i < rows->count; i++)
        if (i != query)
            candidates[count++] =
                (struct pml_candidate){i, 0, sketches + i * built->info.sketch, built->info.sketch, NULL, 0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_answer_write_header(&answer, &built->info, 1, rows->count));
    TEST_ASSERT_EQUAL(PML_DONE, pml_answer_write_list(&answer, &built->info, 0, candidates, count));
    free(candidates);
    static uint8_t memory[PML_RANKING_MEMORY(64, PML_SKETCH_MAX, PML_DIRECTIONS_MAX)];
    pml_match matches[8];
    pml_answer_summary summary;
    pml_ranking *ranking;
    const pml_query asked = {.features = values + query * rows->columns, .count = rows->columns};
    const pml_ranking_config config = {.matches = matches, .capacity = 8, .scope = PML_OWN_SLOT};
    TEST_ASSERT_EQUAL(PML_OK, pml_ranking_begin(&ranking, memory, sizeof memory, &built->pack, &asked, &config));
    TEST_ASSERT_EQUAL(PML_OK, pml_ranking_feed(ranking, answer.bytes, answer.size));
    TEST_ASSERT_EQUAL(PML_OK, pml_ranking_finish(ranking, &summary));
    size_t found = 0;
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++)
            found += matches[i].item == nearest[j];
    pml_bytes_free(&answer);
    return found;
}

static double share_found(const struct input *input, const struct pml_rows *rows, unsigned bytes, bool plain)
{
    struct input with = *input;
    with.options.sketch = bytes;
    with.options.plain_sketches = plain;
    struct built built = build(&with);
    uint32_t *lists = malloc(rows->count * 8 * sizeof *lists);
    int8_t *sketches = sketches_of(&built, rows);
    size_t found = 0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(rows, 8, 2, NULL, lists));
    for (size_t i = 0; i < 60; i++)
        found += found_for(&built, rows, input->features.values, i * 7, sketches, lists + i * 7 * 8);
    free(lists);
    free(sketches);
    free(built.bytes);
    return (double)found / (60 * 8);
}

static void test_neighbours_are_found_better_than_by_plain_sketches(void)
{
    struct input input = make_input(600, 64, 20);
    input.options.slots = PML_SLOTS_ONE;
    input.options.gaussian = 0;
    struct pml_rows rows = quantised(input.features.values, 600, 64);
    const double plain = share_found(&input, &rows, 16, true), coded = share_found(&input, &rows, 16, false),
                 half = share_found(&input, &rows, 32, false), whole = share_found(&input, &rows, 64, true);
    printf("plain 16: %.3f, coded 16: %.3f, coded 32: %.3f, plain 64: %.3f\n", plain, coded, half, whole);
    TEST_ASSERT_TRUE(coded > plain + 0.05);
    TEST_ASSERT_TRUE(half > whole - 0.15);
    pml_rows_free(&rows);
    free_input(&input);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_levels_of_normal_numbers);
    RUN_TEST(test_levels_of_strange_samples);
    RUN_TEST(test_shapes);
    RUN_TEST(test_bits_follow_the_variance);
    RUN_TEST(test_neighbours_are_found_better_than_by_plain_sketches);
    return UNITY_END();
}
