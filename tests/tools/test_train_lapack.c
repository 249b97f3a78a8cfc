/* SPDX-License-Identifier: Apache-2.0
 * Trainers that need LAPACKE find what is known to be there. */
#include "train_support.h"

#include <string.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static struct trained_rows rows, test;

/* A row of length 1 near a point of the sphere's equator: (1, 0, 0, …) plus small numbers with known spreads. */
static void draw_cap(struct trained_rows *out, size_t count, size_t columns, const double *spreads, uint64_t seed)
{
    struct pml_generator generator = pml_generator_start(seed, 2);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < columns; j++)
            out->values[0][i * columns + j] = (float)((j == 0 ? 1.0 : 0.0) + spreads[j] * draw_normal(&generator));
    view_rows(out, count, columns, 0, false);
}

/* pca's directions are the one that all rows share, then the coordinates that vary, in the order of their spreads. */
static void test_pca_finds_the_spreads(void)
{
    enum { IN = 8, OUT = 4 };
    const double spreads[IN] = {0.0, 0.02, 0.30, 0.02, 0.15, 0.02, 0.22, 0.02};
    const size_t order[OUT] = {0, 2, 6, 4};
    draw_cap(&rows, 600, IN, spreads, 1);
    struct pml_train_result result = trained(PML_TRAIN_PCA, &rows.set, OUT, 0);
    for (size_t i = 0; i < OUT; i++) {
        double size = 0.0;
        for (size_t j = 0; j < IN; j++)
            size += weight(&result, OUT, IN, i, j) * weight(&result, OUT, IN, i, j);
        TEST_ASSERT_TRUE(weight(&result, OUT, IN, i, order[i]) / sqrt(size) > 0.9); /* positive: the sign is fixed */
    }
    pml_train_free(&result);
}

/* Two classes that differ in one coordinate, under noise of another size in each: lda weighs by the noise. */
static void test_lda_is_that_of_known_gaussians(void)
{
    enum { IN = 6 };
    struct pml_generator generator = pml_generator_start(3, 3);
    const double noise[IN] = {0.0, 0.05, 0.05, 0.20, 0.05, 0.05}, differ[IN] = {0.0, 0.1, 0.0, 0.1, 0.0, 0.0};
    for (size_t i = 0; i < 600; i++) {
        rows.labels[i] = (int32_t)(i % 2);
        for (size_t j = 0; j < IN; j++)
            rows.values[0][i * IN + j] =
                (float)((j == 0) + (i % 2 == 0 ? -differ[j] : differ[j]) + noise[j] * draw_normal(&generator));
    }
    view_rows(&rows, 600, IN, 0, true);
    struct pml_train_result result = trained(PML_TRAIN_LDA, &rows.set, 1, 0);
    /* In theory difference / variance: 0.1/0.0025 against 0.1/0.04, 16 to 1; shrinkage of the mean variance, about
     * 0.001, makes it 0.1/0.0035 to 0.1/0.041. */
    const double ratio = weight(&result, 1, IN, 0, 1) / weight(&result, 1, IN, 0, 3);
    TEST_ASSERT_TRUE(ratio > 8.0 && ratio < 18.0);
    for (size_t j = 2; j < IN; j += j == 2 ? 2 : 1)
        TEST_ASSERT_TRUE(fabs(weight(&result, 1, IN, 0, j)) < 0.25 * weight(&result, 1, IN, 0, 1));
    pml_train_free(&result);
}

/* Two modalities share one hidden number, each in a direction of its own: the first pair of directions finds it. */
static void test_cca_finds_what_two_modalities_share(void)
{
    enum { FIRST = 6, SECOND = 4, COUNT = 500 };
    struct pml_generator generator = pml_generator_start(6, 6);
    struct pml_message message = {""};
    double shared[COUNT], along = 0.0, across = 0.0, sums[2] = {0}, squares[2] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        shared[i] = draw_normal(&generator);
        for (size_t j = 0; j < FIRST; j++)
            rows.values[0][i * FIRST + j] = (float)((j == 0) + 0.1 * draw_normal(&generator) +
                                                    (j == 2   ? 0.1
                                                     : j == 3 ? -0.1
                                                              : 0.0) *
                                                        shared[i]);
        for (size_t j = 0; j < SECOND; j++)
            rows.values[1][i * SECOND + j] =
                (float)((j == 0) + 0.1 * draw_normal(&generator) + (j == 1 ? 0.2 : 0.0) * shared[i]);
    }
    view_rows(&rows, COUNT, FIRST, SECOND, false);
    struct pml_train_result result = trained(PML_TRAIN_CCA, &rows.set, 2, 0);
    struct pml_rows mapped[2];
    for (size_t v = 0; v < 2; v++) {
        pml_front front;
        size_t unmapped = 0;
        TEST_ASSERT_EQUAL(PML_OK, pml_front_open(&front, result.bytes[v], result.sizes[v]));
        TEST_ASSERT_EQUAL(PML_DONE, pml_train_map(&front, &rows.set, v, 1, &mapped[v], &unmapped, &message));
    }
    for (size_t i = 0; i < COUNT; i++) { /* the first coordinate of unit rows, against each other */
        const double one = mapped[0].values[2 * i] * (mapped[0].inverse[i] * 0x1p-30);
        const double other = mapped[1].values[2 * i] * (mapped[1].inverse[i] * 0x1p-30);
        along += one * other;
        across += mapped[0].values[2 * i + 1] * (mapped[0].inverse[i] * 0x1p-30) * other;
        sums[0] += one;
        sums[1] += other;
        squares[0] += one * one;
        squares[1] += other * other;
    }
    TEST_ASSERT_TRUE(along / sqrt(squares[0] * squares[1]) > 0.6);
    TEST_ASSERT_TRUE(fabs(across) < 0.4 * along);
    TEST_ASSERT_TRUE(fabs(sums[0]) < 0.2 * (double)COUNT && fabs(sums[1]) < 0.2 * (double)COUNT); /* around the mean */
    for (size_t v = 0; v < 2; v++)
        pml_rows_free(&mapped[v]);
    pml_train_free(&result);
}

static struct pml_train_measures measured(const struct pml_train_result *result)
{
    struct pml_train_measures measures;
    struct pml_message message = {""};
    TEST_ASSERT_EQUAL(PML_DONE, pml_train_measure(result, &rows.set, &test.set, 2, &measures, &message));
    return measures;
}

/* One drawing, dealt out: rows to train with, and rows to ask with. */
static void draw_pairs(uint64_t seed, double noise)
{
    static struct trained_rows all;
    uint32_t indices[ROWS_MAX];
    struct pml_train_set kept, held;
    draw_classes(&all, 600, 12, 7, 4, noise, seed);
    pml_train_split(&all.set, 1, indices, &kept, &held);
    memcpy(&rows, &all, sizeof all);
    memcpy(&test, &all, sizeof all);
    view_rows(&rows, 600, 12, 7, true);
    view_rows(&test, 600, 12, 7, true);
    memcpy(rows.indices, kept.indices, kept.count * sizeof *indices);
    memcpy(test.indices, held.indices, held.count * sizeof *indices);
    rows.set.count = kept.count;
    test.set.count = held.count;
}

static void test_kernels_find_the_other_modality(void)
{
    for (int method = PML_TRAIN_CODES; method <= PML_TRAIN_MNSE; method++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            draw_pairs(seed, 0.5);
            struct pml_train_result result = trained((pml_train_method)method, &rows.set, 3, 40);
            const struct pml_train_measures measures = measured(&result);
            TEST_ASSERT_TRUE(measures.map_first > 0.5 && measures.map_second > 0.5); /* chance: 0.25 */
            TEST_ASSERT_TRUE(measures.accuracy > 0.5);
            TEST_ASSERT_EQUAL_UINT64(0, measures.unmapped);
            pml_train_free(&result);
        }
}

static void test_the_objective_of_mnse_never_rises(void)
{
    size_t steps = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        draw_pairs(seed, 0.05 * (double)(seed * seed));
        struct pml_train_result result = trained(PML_TRAIN_MNSE, &rows.set, 3, 30);
        const struct pml_train_theorem *theorem = &result.theorem;
        TEST_ASSERT_TRUE(theorem->steps >= 1 && theorem->steps <= PML_TRAIN_STEPS);
        for (size_t i = 1; i < theorem->steps; i++)
            TEST_ASSERT_TRUE(theorem->objective[i] <= theorem->objective[i - 1]);
        TEST_ASSERT_TRUE(theorem->lipschitz > 0.0 && theorem->eta > 0.0 && theorem->gamma >= 0.0);
        TEST_ASSERT_EQUAL(theorem->gamma > 2.0 * theorem->eta, theorem->delta > 0.0);
        steps += theorem->steps;
        pml_train_free(&result);
    }
    TEST_ASSERT_TRUE(steps > 6); /* widths do change */
}

/* Pairs that are the same in both modalities, and classes that are far apart: here the theorem's condition holds. */
static void test_the_condition_can_hold(void)
{
    struct pml_generator generator = pml_generator_start(8, 8);
    for (size_t i = 0; i < 60; i++) {
        rows.labels[i] = (int32_t)(i % 3);
        for (size_t j = 0; j < 3; j++)
            rows.values[0][3 * i + j] = rows.values[1][3 * i + j] =
                (float)((j == i % 3 ? 1.0 : 0.0) + 0.01 * draw_normal(&generator));
    }
    view_rows(&rows, 60, 3, 3, true);
    struct pml_train_result result = trained(PML_TRAIN_MNSE, &rows.set, 2, 6);
    TEST_ASSERT_TRUE(result.theorem.gamma > 2.0 * result.theorem.eta);
    TEST_ASSERT_TRUE(result.theorem.delta > 0.0);
    pml_train_free(&result);
}

int main(void)
{
    UNITY_BEGIN();
    if (!pml_train_has_lapack())
        return UNITY_END();
    RUN_TEST(test_pca_finds_the_spreads);
    RUN_TEST(test_lda_is_that_of_known_gaussians);
    RUN_TEST(test_cca_finds_what_two_modalities_share);
    RUN_TEST(test_kernels_find_the_other_modality);
    RUN_TEST(test_the_objective_of_mnse_never_rises);
    RUN_TEST(test_the_condition_can_hold);
    return UNITY_END();
}
