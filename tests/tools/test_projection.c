/* SPDX-License-Identifier: Apache-2.0
 * The projection of sketches: orthonormal, the same everywhere, and better than a random one. */
#define _POSIX_C_SOURCE 200809L
#include "builder_support.h"
#include "common/generator.h"
#include "common/rows/directions.h"
#include "common/rows/knn.h"
#include "common/rows_support.h"
#include "tools/sketch/projection.h"

#include <math.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static int8_t *make(const struct pml_rows *rows, size_t length, unsigned threads)
{
    int8_t *matrix = malloc(length * rows->columns);
    TEST_ASSERT_NOT_NULL(matrix);
    TEST_ASSERT_EQUAL(PML_DONE, pml_projection_make(rows, length, 11, threads, NULL, matrix));
    return matrix;
}

/* The shorter side is orthonormal but for one factor and rounding, which adds at most `size` halves' squares. */
static void check_orthonormal(const int8_t *matrix, size_t length, size_t columns)
{
    const bool by_rows = length <= columns;
    const size_t count = by_rows ? length : columns, size = by_rows ? columns : length;
    double mean = 0.0;
    int8_t largest = 0;
    for (size_t i = 0; i < length * columns; i++) {
        int8_t value = (int8_t)abs(matrix[i]);
        largest = value > largest ? value : largest;
        mean += (double)matrix[i] * matrix[i] / (double)count;
    }
    TEST_ASSERT_EQUAL_INT8(127, largest);
    const double slack = 2.0 * sqrt(mean) + 1.0 + (double)size / 12.0; /* rounding errors are not aligned with a row */
    for (size_t a = 0; a < count; a++)
        for (size_t b = a; b < count; b++) {
            double dot = 0.0;
            for (size_t i = 0; i < size; i++)
                dot += by_rows ? (double)matrix[a * columns + i] * matrix[b * columns + i]
                               : (double)matrix[i * columns + a] * matrix[i * columns + b];
            TEST_ASSERT_DOUBLE_WITHIN(slack, a == b ? mean : 0.0, dot);
        }
}

static void test_projections_are_orthonormal(void)
{
    static const size_t shapes[][3] = {
        {300, 40, 16}, {300, 40, 40}, {300, 40, 64}, {300, 65, 32},
        {300, 3, 8},   {4, 1, 8},     {300, 7, 256}, {5, 100, 32}, /* fewer rows than directions */
        {1, 20, 8},    {1, 20, 20},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct pml_rows rows = drawn(i + 1, shapes[i][0], shapes[i][1], 7);
        int8_t *matrix = make(&rows, shapes[i][2], 2);
        check_orthonormal(matrix, shapes[i][2], shapes[i][1]);
        free(matrix);
        pml_rows_free(&rows);
    }
}

/* Vectors that differ by rounding alone: once is not enough. */
static void test_nearly_parallel_vectors_become_orthonormal(void)
{
    enum { COUNT = 6, SIZE = 50 };
    struct pml_directions directions;
    struct pml_generator generator = pml_generator_start(1, 1);
    TEST_ASSERT_EQUAL(PML_DONE, pml_directions_allocate(&directions, COUNT, SIZE));
    for (size_t c = 0; c < COUNT; c++)
        for (size_t i = 0; i < SIZE; i++)
            *pml_direction(&directions, c, i) = 1.0 + 1e-9 * (double)pml_generator_below(&generator, 1000) / 1000.0;
    pml_directions_settle(&directions, 0.0, &generator);
    for (size_t a = 0; a < COUNT; a++)
        for (size_t b = 0; b <= a; b++) {
            double dot = 0.0;
            for (size_t i = 0; i < SIZE; i++)
                dot += *pml_direction(&directions, a, i) * *pml_direction(&directions, b, i);
            TEST_ASSERT_DOUBLE_WITHIN(1e-13, a == b, dot);
        }
    pml_directions_free(&directions);
}

/* How much of a row's length is left, where an orthonormal projection that holds the row would leave all of it. */
static double kept_length(const int8_t *matrix, size_t length, const struct pml_rows *rows, size_t row)
{
    double kept = 0.0, scale = 0.0;
    const size_t d = rows->columns;
    for (size_t i = 0; i < length; i++) {
        double dot = pml_dot(matrix + i * d, rows->values + row * d, d);
        kept += dot * dot;
        scale += pml_dot(matrix + i * d, matrix + i * d, d);
    }
    scale /= (double)(length < d ? length : d);
    return sqrt(kept / scale / rows->squared[row]);
}

/* Rows of low rank lie in the span, the rest is filled up. */
static void test_rows_of_low_rank_are_kept(void)
{
    enum { COLUMNS = 60, ROWS = 90 };
    static float values[ROWS * COLUMNS];
    for (size_t rank = 1; rank <= 8; rank += 7) {
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < COLUMNS; j++)
                values[i * COLUMNS + j] = (i % rank == j % rank ? 1.0f : 0.0f) * (float)((i % 13 + 1) * (j % 7 + 1));
        struct pml_rows rows = quantised(values, ROWS, COLUMNS);
        int8_t *matrix = make(&rows, 16, 2);
        check_orthonormal(matrix, 16, COLUMNS);
        for (size_t i = 0; i < ROWS; i++)
            TEST_ASSERT_DOUBLE_WITHIN(0.02, 1.0, kept_length(matrix, 16, &rows, i));
        free(matrix);
        pml_rows_free(&rows);
    }
    struct pml_rows one = drawn(5, 1, 200, 1);
    int8_t *matrix = make(&one, 8, 1);
    TEST_ASSERT_DOUBLE_WITHIN(0.02, 1.0, kept_length(matrix, 8, &one, 0));
    free(matrix);
    pml_rows_free(&one);
}

static uint64_t hash_of(const int8_t *bytes, size_t size)
{
    uint64_t hash = 0xCBF29CE484222325u; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)bytes[i]) * 0x100000001B3u;
    return hash;
}

/* Every compiler and level of optimisation must find these very bytes. */
static void test_the_bytes_are_the_same_everywhere(void)
{
    struct pml_rows rows = drawn(1, 600, 70, 20);
    int8_t *first = make(&rows, 24, 1);
    for (unsigned threads = 2; threads <= 7; threads += 5) {
        int8_t *again = make(&rows, 24, threads);
        TEST_ASSERT_EQUAL_MEMORY(first, again, 24 * 70);
        free(again);
    }
    TEST_ASSERT_EQUAL_HEX64(0x9297EB46E2C83E9F, hash_of(first, 24 * 70));
    int8_t *other = malloc(24 * 70);
    TEST_ASSERT_NOT_NULL(other);
    TEST_ASSERT_EQUAL(PML_DONE, pml_projection_make(&rows, 24, 12, 1, NULL, other));
    TEST_ASSERT_TRUE(memcmp(first, other, 24 * 70) != 0);
    free(other);
    free(first);
    pml_rows_free(&rows);
}

/* ---- what it is for ---- */

static void sketch_row(const int8_t *matrix, size_t length, const int8_t *row, size_t columns, int8_t *out)
{
    float sums[256];
    for (size_t i = 0; i < length; i++)
        sums[i] = (float)pml_dot(matrix + i * columns, row, columns);
    TEST_ASSERT_EQUAL(PML_OK, pml_quantise(sums, length, out));
}

/* The share of the 8 nearest that are also nearest by sketch. */
static double found_share(const struct pml_rows *rows, const int8_t *matrix, size_t length)
{
    const size_t count = rows->count;
    struct pml_rows sketches;
    uint32_t *true_lists = malloc(count * 8 * sizeof *true_lists), *lists = malloc(count * 8 * sizeof *lists);
    TEST_ASSERT_TRUE(true_lists && lists);
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_allocate(&sketches, count, length));
    for (size_t i = 0; i < count; i++) {
        sketch_row(matrix, length, rows->values + i * rows->columns, rows->columns, sketches.values + i * length);
        pml_rows_measure(&sketches, i);
    }
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(rows, 8, 1, NULL, true_lists));
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&sketches, 8, 1, NULL, lists));
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t a = 0; a < 8; a++)
            for (size_t b = 0; b < 8; b++)
                found += true_lists[8 * i + a] == lists[8 * i + b];
    free(true_lists);
    free(lists);
    pml_rows_free(&sketches);
    return (double)found / (double)(8 * count);
}

/* Classes in classes: as features of pictures, the rows extend far in few directions and little in most. */
static struct pml_rows clustered(size_t count, size_t columns)
{
    float *values = malloc(count * columns * sizeof *values);
    TEST_ASSERT_NOT_NULL(values);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < columns; j++)
            values[i * columns + j] = 0.0f;
    for (size_t i = 0; i < count; i++) {
        uint64_t own = 900 + i;
        for (uint64_t direction = 0; direction < 24; direction++) {
            uint64_t class = 40 * direction + i % 12, along = 77 + direction;
            float size = (float)draw_between(&class, -1000, 1000) + (float)draw_between(&own, -800, 800);
            for (size_t j = 0; j < columns; j++)
                values[i * columns + j] += size * (float)draw_between(&along, -10, 10) / (float)(1 + direction / 6);
        }
        for (size_t j = 0; j < columns; j++)
            values[i * columns + j] += (float)draw_between(&own, -2000, 2000);
    }
    struct pml_rows rows = quantised(values, count, columns);
    free(values);
    return rows;
}

static void test_neighbours_are_found_by_sketch(void)
{
    enum { ROWS = 600, COLUMNS = 96, LENGTH_MAX = 96 };
    static int8_t random[LENGTH_MAX * COLUMNS];
    static const size_t lengths[] = {8, 24, LENGTH_MAX};
    static const double least[] = {0.65, 0.95, 0.98};
    struct pml_rows rows = clustered(ROWS, COLUMNS);
    struct pml_generator generator = pml_generator_start(3, 3);
    for (size_t i = 0; i < sizeof random; i++)
        random[i] = (int8_t)(pml_generator_below(&generator, 3) - 1);
    double before = 0.0;
    for (size_t i = 0; i < 3; i++) {
        int8_t *matrix = make(&rows, lengths[i], 2);
        double found = found_share(&rows, matrix, lengths[i]), by_chance = found_share(&rows, random, lengths[i]);
        TEST_ASSERT_TRUE(found > least[i] && found > before && found > by_chance + 0.2);
        before = found;
        free(matrix);
    }
    pml_rows_free(&rows);
}

/* A device's sketch is the one by this projection. */
static void test_the_projection_reaches_the_pack(void)
{
    struct input input = make_input(120, 30, 5);
    input.options.slots = PML_SLOTS_ONE;
    input.options.sketch = 20;
    input.options.plain_sketches = 1;
    struct built built = build(&input);
    struct pml_rows rows = quantised(input.features.values, 120, 30);
    int8_t matrix[20 * 30], wanted[20], got[20];
    TEST_ASSERT_EQUAL(PML_DONE, pml_projection_make(&rows, 20, input.options.seed, 1, NULL, matrix));
    for (size_t i = 0; i < 120; i++) {
        sketch_row(matrix, 20, rows.values + 30 * i, 30, wanted);
        TEST_ASSERT_EQUAL(PML_OK, pml_sketch(&built.pack, NULL, rows.values + 30 * i, got));
        TEST_ASSERT_EQUAL_INT8_ARRAY(wanted, got, 20);
    }
    pml_rows_free(&rows);
    free(built.bytes);
    free_input(&input);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_projections_are_orthonormal);
    RUN_TEST(test_nearly_parallel_vectors_become_orthonormal);
    RUN_TEST(test_rows_of_low_rank_are_kept);
    RUN_TEST(test_the_bytes_are_the_same_everywhere);
    RUN_TEST(test_neighbours_are_found_by_sketch);
    RUN_TEST(test_the_projection_reaches_the_pack);
    return UNITY_END();
}
