/* SPDX-License-Identifier: Apache-2.0
 * Eigenvectors of sparse matrices are those that LAPACK finds of the same matrices when they are dense. */
#include "common/generator.h"
#include "tools/algebra/algebra.h"
#include "tools/algebra/eigen_sparse.h"
#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 90, MOST = 12 };

static double dense[SIZE * SIZE], values[MOST], expected[MOST], vectors[MOST * SIZE], others[MOST * SIZE];
static size_t starts[SIZE + 1];
static uint32_t columns[SIZE * SIZE];
static double entries[SIZE * SIZE];

void setUp(void)
{
    TEST_ASSERT_TRUE(pml_eigen_sparse_start());
    TEST_ASSERT_TRUE(pml_algebra_start());
}

void tearDown(void)
{
}

/* A symmetric matrix with few entries, unless it is small, and the same as rows of what is not zero. */
static struct pml_sparse draw(size_t size, uint64_t seed)
{
    struct pml_generator generator = {seed};
    size_t filled = 0;
    memset(dense, 0, sizeof dense);
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j <= i; j++)
            if (size < SIZE || pml_generator_below(&generator, 6) == 0)
                dense[i * size + j] = dense[j * size + i] = pml_generator_normal(&generator, 1000) / 1000.0;
    for (size_t i = 0; i < size; i++) {
        starts[i] = filled;
        for (size_t j = 0; j < size; j++)
            if (dense[i * size + j] != 0.0) {
                columns[filled] = (uint32_t)j;
                entries[filled++] = dense[i * size + j];
            }
    }
    starts[size] = filled;
    return (struct pml_sparse){size, starts, columns, entries};
}

static void compare(size_t size, size_t wanted, uint64_t seed)
{
    const struct pml_sparse sparse = draw(size, seed);
    struct pml_matrix matrix = {dense, size, size}, found = {others, wanted, size};
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_eigen_sparse(&sparse, wanted, values, vectors));
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
        compare(SIZE, MOST, seed);
        compare(SIZE, 1, seed);
    }
}

static void test_small_matrices(void)
{
    compare(2, 1, 5);
    compare(5, 4, 6);
    compare(13, MOST, 7);
}

static void test_twice_the_same_bytes(void)
{
    const struct pml_sparse sparse = draw(SIZE, 9);
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_eigen_sparse(&sparse, MOST, values, vectors));
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_eigen_sparse(&sparse, MOST, expected, others));
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
