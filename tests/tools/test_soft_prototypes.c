/* SPDX-License-Identifier: Apache-2.0
 * Soft prototypes are the weighted means that their definition says, and none shows what a single row is. */
#define _POSIX_C_SOURCE 200809L
#include "common/rows_support.h"
#include "tools/pack/soft_prototypes.h"

#include <math.h>

enum { PROTOTYPES_MAX = 40, COLUMNS_MAX = 16, NEAREST = 8 };

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- the definition, in doubles ---- */

static double cosine(const int8_t *left, const int8_t *right, size_t columns)
{
    double dot = 0.0, one = 0.0, other = 0.0;
    for (size_t i = 0; i < columns; i++) {
        dot += (double)left[i] * right[i];
        one += (double)left[i] * left[i];
        other += (double)right[i] * right[i];
    }
    return dot / sqrt(one * other);
}

/* Weight of a row for prototype p: 0 when eight others are nearer. */
static double weight_of(const struct pml_rows *rows, size_t row, const int8_t *prototypes, size_t count, size_t p)
{
    const int8_t *values = rows->values + row * rows->columns;
    const double own = 1.0 - cosine(values, prototypes + p * rows->columns, rows->columns);
    double least = own;
    unsigned nearer = 0;
    for (size_t q = 0; q < count; q++) {
        const double other = 1.0 - cosine(values, prototypes + q * rows->columns, rows->columns);
        nearer += other < own;
        least = fmin(least, other);
    }
    return nearer < NEAREST ? pow(least / own, 3.0) : 0.0;
}

/* Returns how many rows are nearest to p; adds all rows up by their weights. */
static size_t add_up(const struct pml_rows *rows, const int8_t *prototypes, size_t count, size_t p, double *sums)
{
    size_t nearest = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const double weight = weight_of(rows, i, prototypes, count, p);
        const int8_t *row = rows->values + i * rows->columns;
        nearest += weight >= 1.0;
        for (size_t j = 0; j < rows->columns; j++)
            sums[j] += weight * row[j] * rows->inverse[i];
    }
    return nearest;
}

/* ---- against it ---- */

static void check(const struct pml_rows *rows, size_t count, size_t least, size_t *kept)
{
    const size_t columns = rows->columns;
    int8_t before[PROTOTYPES_MAX * COLUMNS_MAX], after[PROTOTYPES_MAX * COLUMNS_MAX], again[sizeof after];
    for (size_t i = 0; i < count * columns; i++) /* between a row and the next: never at a row */
        before[i] = (int8_t)((2 * rows->values[i] + rows->values[i + columns]) / 3);
    memcpy(after, before, sizeof after);
    memcpy(again, before, sizeof again);
    TEST_ASSERT_EQUAL(PML_DONE, pml_prototypes_soften(rows, rows->count, least, 3, after, count));
    TEST_ASSERT_EQUAL(PML_DONE, pml_prototypes_soften(rows, rows->count, least, 1, again, count));
    TEST_ASSERT_EQUAL_MEMORY(after, again, count * columns);
    for (size_t p = 0; p < count; p++) {
        double sums[COLUMNS_MAX] = {0.0}, most = 0.0;
        if (add_up(rows, before, count, p, sums) < least) {
            TEST_ASSERT_EQUAL_MEMORY(before + p * columns, after + p * columns, columns);
            ++*kept;
            continue;
        }
        for (size_t j = 0; j < columns; j++)
            most = fmax(most, fabs(sums[j]));
        for (size_t j = 0; j < columns; j++)
            TEST_ASSERT_INT_WITHIN(1, (int)lround(127.0 * sums[j] / most), after[p * columns + j]);
    }
}

static void test_prototypes_are_the_weighted_means_of_the_definition(void)
{
    static const struct {
        size_t rows, columns, classes, prototypes, least;
    } cases[] = {{200, 12, 20, 40, 2}, {300, 16, 30, 25, 3}, {120, 8, 12, 30, 6}, {60, 6, 5, 4, 2}, {50, 9, 50, 9, 1}};
    size_t kept = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pml_rows rows = drawn(i + 1, cases[i].rows, cases[i].columns, cases[i].classes);
        check(&rows, cases[i].prototypes, cases[i].least, &kept);
        pml_rows_free(&rows);
    }
    TEST_ASSERT_TRUE(kept > 0);
}

/* Equal rows are one: however many there are, their prototype does not become them. */
static void test_copies_of_a_row_are_one_row(void)
{
    float values[40 * 2];
    for (size_t i = 0; i < 40; i++) { /* one direction, and two on the other side */
        values[2 * i] = i < 20 ? 1.0f : -1.0f;
        values[2 * i + 1] = i < 20 ? 0.5f : i % 2 == 0 ? 0.25f : -0.25f;
    }
    struct pml_rows rows = quantised(values, 40, 2);
    int8_t prototypes[4] = {127, 0, -127, 10};
    TEST_ASSERT_EQUAL(PML_DONE, pml_prototypes_soften(&rows, rows.count, 2, 1, prototypes, 2));
    TEST_ASSERT_EQUAL_INT8(127, prototypes[0]);
    TEST_ASSERT_EQUAL_INT8(0, prototypes[1]);
    TEST_ASSERT_EQUAL_INT8(-127, prototypes[2]);
    TEST_ASSERT_TRUE(prototypes[3] < 10);
    pml_rows_free(&rows);
}

/* One of the rows is of the gallery: while it would count, the prototype stays. */
static void test_a_single_row_of_the_gallery_moves_no_prototype(void)
{
    float values[12 * 2];
    for (size_t i = 0; i < 12; i++) {
        values[2 * i] = 1.0f;
        values[2 * i + 1] = 0.05f * (float)i;
    }
    struct pml_rows rows = quantised(values, 12, 2);
    for (size_t public_count = 10; public_count <= 12; public_count++) {
        int8_t prototypes[2] = {127, 3};
        TEST_ASSERT_EQUAL(PML_DONE, pml_prototypes_soften(&rows, public_count, 2, 1, prototypes, 1));
        TEST_ASSERT_EQUAL(public_count == 11, prototypes[1] == 3);
    }
    pml_rows_free(&rows);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_single_row_of_the_gallery_moves_no_prototype);
    RUN_TEST(test_prototypes_are_the_weighted_means_of_the_definition);
    RUN_TEST(test_copies_of_a_row_are_one_row);
    return UNITY_END();
}
