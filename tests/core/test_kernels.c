/* SPDX-License-Identifier: Apache-2.0
 * Dot products of every kernel set that this CPU runs against plain C: all lengths, all alignments, the largest values,
 * memory that ends where the data ends; and which kernels the platform chooses. The other kernels: test_kernels_query.c. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "privatemail_platform.h"
#include "stages/stages.h"
#include "support/fenced.h"
#include "support/kernel_sets.h"

static struct kernel_sets sets;

void setUp(void)
{
    sets = kernel_sets_of_cpu();
}

void tearDown(void)
{
}

/* ---- dots ---- */

enum filling { RANDOM, ALL_LARGEST, ALL_SMALLEST, ALTERNATING, EXTREMES, LOWEST, FILLINGS };

/* Queries hold −127 … 127, rows any int8. */
static void fill(uint64_t *state, enum filling filling, bool query, int8_t *out, size_t count)
{
    const int low = query ? -127 : -128;
    for (size_t i = 0; i < count; i++)
        switch (filling) {
        case RANDOM:
            out[i] = (int8_t)draw_between(state, low, 127);
            break;
        case ALL_LARGEST:
            out[i] = 127;
            break;
        case ALL_SMALLEST: /* the smallest sums */
            out[i] = (int8_t)(query ? 127 : low);
            break;
        case ALTERNATING:
            out[i] = (int8_t)(i % 2 == 0 ? 127 : low);
            break;
        case EXTREMES:
            out[i] = (int8_t)(draw_below(state, 2) == 0 ? 127 : low);
            break;
        default: /* LOWEST: the largest sums */
            out[i] = (int8_t)low;
            break;
        }
}

#define ROWS_MOST 33u
static struct fenced query_fence, rows_fence;

static void check_dots(const struct pml_kernels *kernels, const int8_t *query, const int8_t *rows, size_t count,
                       size_t row_count)
{
    int32_t out[ROWS_MOST + 1];
    out[row_count] = 0x5AFE;
    kernels->dots_s8(query, rows, count, row_count, out);
    for (size_t i = 0; i < row_count; i++)
        TEST_ASSERT_EQUAL_INT64_MESSAGE(plain_dot(query, rows + i * count, count), out[i], kernels->name);
    TEST_ASSERT_EQUAL_INT32_MESSAGE(0x5AFE, out[row_count], kernels->name);
}

/* Query and rows end before a page that cannot be read. */
static void check_at_the_fence(uint64_t *state, size_t count, size_t row_count, enum filling filling)
{
    int8_t *query = query_fence.end - count, *rows = rows_fence.end - count * row_count;
    fill(state, filling, true, query, count);
    fill(state, filling, false, rows, count * row_count);
    for (size_t k = 0; k < sets.count; k++)
        check_dots(sets.of[k], query, rows, count, row_count);
}

static void test_dots_equal_plain_sums_for_every_count(void)
{
    uint64_t state = 1;
    for (size_t count = 1; count <= 200; count++)
        for (int filling = RANDOM; filling < FILLINGS; filling++)
            for (size_t row_count = 1; row_count <= 9; row_count += row_count < 5 ? 1 : 4)
                check_at_the_fence(&state, count, row_count, (enum filling)filling);
}

static void test_dots_equal_plain_sums_for_every_number_of_rows(void)
{
    const size_t counts[] = {1, 2, 15, 16, 31, 33, 64, 127, 128, 512, 1000, 2048, 4095, 4096};
    uint64_t state = 2;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (size_t row_count = 0; row_count <= ROWS_MOST; row_count++)
            check_at_the_fence(&state, counts[i], row_count, (enum filling)(row_count % FILLINGS));
}

static void test_dots_hold_the_largest_sums(void)
{
    uint64_t state = 3;
    for (int filling = ALL_LARGEST; filling < FILLINGS; filling++)
        for (size_t count = PML_FEATURES_MAX - 40; count <= PML_FEATURES_MAX; count++)
            check_at_the_fence(&state, count, 5, (enum filling)filling);
}

/* A sum of two products that left int16 would show here: every pair of values beside every other, in every place. */
static void test_dots_hold_every_pair_of_products(void)
{
    static const int8_t queries[] = {-127, -126, -1, 0, 1, 126, 127}, rows[] = {-128, -127, -1, 0, 1, 127};
    int8_t query[128], row[128];
    for (size_t q = 0; q < sizeof queries * sizeof queries; q++)
        for (size_t r = 0; r < sizeof rows * sizeof rows; r++) {
            for (size_t i = 0; i < sizeof query; i++) {
                query[i] = queries[i / 2 % 2 == i % 2 ? q % sizeof queries : q / sizeof queries];
                row[i] = rows[i / 2 % 2 == i % 2 ? r % sizeof rows : r / sizeof rows];
            }
            for (size_t k = 0; k < sets.count; k++)
                check_dots(sets.of[k], query, row, sizeof query, 1);
        }
}

static void test_dots_agree_at_every_alignment(void)
{
    static int8_t buffer[2][1024];
    uint64_t state = 4;
    fill(&state, RANDOM, true, buffer[0], sizeof buffer[0]);
    fill(&state, RANDOM, false, buffer[1], sizeof buffer[1]);
    for (size_t a = 0; a < 65; a++)
        for (size_t b = 0; b < 65; b++)
            for (size_t k = 0; k < sets.count; k++)
                check_dots(sets.of[k], buffer[0] + a, buffer[1] + b, 133, 5);
}

/* ---- rows of small values ---- */

#if PML_KERNELS_WIDE
/* Values of one size, and one less now and then: all of one sign, of the other, or of any. */
static void fill_small(uint64_t *state, int size, int sign, int8_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int value = size - (i % 64 == 0);
        out[i] = (int8_t)(sign > 0 || (sign == 0 && draw_below(state, 2) == 0) ? value : -value);
    }
}

static void test_dots_of_small_values_hold_the_largest_that_are_allowed(void)
{
    static const int sizes[][2] = {{127, 63}, {90, 89}, {63, 127}, {1, 127}, {100, 80}};
    uint64_t state = 10;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int signs = 0; signs < 9; signs++)
            for (size_t count = 1; count <= 200; count++) {
                int8_t *query = query_fence.end - count, *rows = rows_fence.end - count * 13;
                TEST_ASSERT_TRUE((uint64_t)(16 * sizes[s][0] * sizes[s][0]) * (uint64_t)(sizes[s][1] * sizes[s][1]) <=
                                 PML_SMALL);
                fill_small(&state, sizes[s][0], signs % 3 - 1, query, count);
                fill_small(&state, sizes[s][1], signs / 3 - 1, rows, count * 13);
                for (size_t k = 0; k < sets.count; k++) {
                    struct pml_kernels small = *sets.of[k];
                    small.dots_s8 = small.dots_small ? small.dots_small : small.dots_s8;
                    check_dots(&small, query, rows, count, 13);
                }
            }
}
#endif

/* ---- the choice ---- */

static void test_platform_chooses_the_last_of_the_list_that_runs(void)
{
    printf("kernels of this CPU:");
    for (size_t k = 0; k < sets.count; k++)
        printf(" %s", sets.of[k]->name);
    printf("\n");
    TEST_ASSERT_EQUAL_PTR(sets.of[sets.count - 1], pml_platform_kernels());
    TEST_ASSERT_EQUAL_PTR(&pml_kernels_portable, pml_kernels_among(1));
    TEST_ASSERT_EQUAL_PTR(&pml_kernels_portable, pml_kernels_among(0));
}

/* tests/platforms/linux.sh says what an emulated CPU must be given. */
static void test_platform_chooses_what_is_expected(void)
{
    const char *expected = getenv("PML_EXPECTED_KERNELS");
    if (!expected)
        TEST_IGNORE_MESSAGE("PML_EXPECTED_KERNELS is not set");
    TEST_ASSERT_EQUAL_STRING(expected, pml_platform_kernels()->name);
}

int main(void)
{
    query_fence = fenced(PML_FEATURES_MAX);
    rows_fence = fenced(ROWS_MOST * PML_FEATURES_MAX);
    UNITY_BEGIN();
    RUN_TEST(test_dots_equal_plain_sums_for_every_count);
    RUN_TEST(test_dots_equal_plain_sums_for_every_number_of_rows);
    RUN_TEST(test_dots_hold_the_largest_sums);
    RUN_TEST(test_dots_hold_every_pair_of_products);
    RUN_TEST(test_dots_agree_at_every_alignment);
#if PML_KERNELS_WIDE
    RUN_TEST(test_dots_of_small_values_hold_the_largest_that_are_allowed);
#endif
    RUN_TEST(test_platform_chooses_the_last_of_the_list_that_runs);
    RUN_TEST(test_platform_chooses_what_is_expected);
    take_down(&query_fence);
    take_down(&rows_fence);
    return UNITY_END();
}
