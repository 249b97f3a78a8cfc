/* SPDX-License-Identifier: Apache-2.0
 * Eigenvectors by ARPACK are those that LAPACK finds of the same matrices. */
#include "common/generator.h"
#include "tools/algebra/algebra.h"
#include "tools/algebra/arpack.h"
#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 90, MOST = 50 };

static double dense[SIZE * SIZE], values[MOST], expected[MOST], vectors[MOST * SIZE], others[MOST * SIZE];
static double start[SIZE];

void setUp(void)
{
    TEST_ASSERT_TRUE(pml_arpack_start());
    TEST_ASSERT_TRUE(pml_algebra_start());
}

void tearDown(void)
{
}

/* A symmetric matrix with few entries, unless it is small. */
static void draw(size_t size, uint64_t seed)
{
    struct pml_generator generator = {seed};
    memset(dense, 0, sizeof dense);
    for (size_t i = 0; i < size; i++) {
        start[i] = 1.0 + (double)pml_generator_below(&generator, 1000);
        for (size_t j = 0; j <= i; j++)
            if (size < SIZE || pml_generator_below(&generator, 6) == 0)
                dense[i * size + j] = dense[j * size + i] = pml_generator_normal(&generator, 1000) / 1000.0;
    }
}

static pml_outcome multiply(void *context, const double *in, double *out)
{
    const size_t size = *(const size_t *)context;
    for (size_t i = 0; i < size; i++) {
        out[i] = 0.0;
        for (size_t j = 0; j < size; j++)
            out[i] += dense[i * size + j] * in[j];
    }
    return PML_DONE;
}

static void compare(size_t size, size_t wanted, uint64_t seed)
{
    struct pml_matrix matrix = {dense, size, size}, found = {others, wanted, size};
    draw(size, seed);
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_arpack_largest(multiply, &size, size, wanted, start, values, vectors));
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_eigen(&matrix, NULL, PML_LARGEST, expected, &found));
    for (size_t i = 0; i < wanted; i++) {
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, expected[i], values[i]);
        for (size_t j = 0; j < size; j++) /* the sign is the same too */
            TEST_ASSERT_DOUBLE_WITHIN(1e-6, others[i * size + j], vectors[i * size + j]);
    }
}

static void test_they_are_those_of_lapack(void)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        compare(SIZE, MOST, seed); /* more than the usual basis holds */
        compare(SIZE, 1, seed);
    }
}

static void test_small_matrices(void)
{
    compare(2, 1, 5);
    compare(5, 4, 6);
    compare(51, MOST, 7);
    compare(13, 12, 8);
}

static void test_twice_the_same_bytes(void)
{
    size_t size = SIZE;
    draw(SIZE, 9);
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_arpack_largest(multiply, &size, SIZE, MOST, start, values, vectors));
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_arpack_largest(multiply, &size, SIZE, MOST, start, expected, others));
    TEST_ASSERT_EQUAL_MEMORY(vectors, others, sizeof vectors);
    TEST_ASSERT_EQUAL_MEMORY(values, expected, sizeof values);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_they_are_those_of_lapack);
    RUN_TEST(test_small_matrices);
    RUN_TEST(test_twice_the_same_bytes);
    return UNITY_END();
}
