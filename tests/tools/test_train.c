/* SPDX-License-Identifier: Apache-2.0
 * Front files stand for the map they were made of, whatever trains it; random maps keep distances. */
#include "train_support.h"

#include "tools/train/front_bytes.h"

#include <string.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static struct trained_rows rows;

/* The row that a front makes of features, as a unit vector, must have this cosine or more with the map in doubles. */
static void check_map(const struct pml_front_bytes *file, const double *wanted, const float *features, size_t inputs,
                      size_t outputs, double least)
{
    pml_front front;
    int64_t scratch[256];
    int8_t row[COLUMNS_MAX];
    double dot = 0.0, one = 0.0, other = 0.0;
    TEST_ASSERT_EQUAL(PML_OK, pml_front_open(&front, file->bytes, file->size));
    TEST_ASSERT_TRUE(pml_front_scratch(&front) <= sizeof scratch);
    TEST_ASSERT_EQUAL(PML_OK, pml_front_map(&front, NULL, features, inputs, scratch, row));
    for (size_t i = 0; i < outputs; i++) {
        dot += row[i] * wanted[i];
        one += (double)row[i] * row[i];
        other += wanted[i] * wanted[i];
    }
    TEST_ASSERT_TRUE(dot / sqrt(one * other) >= least);
}

/* int8 and its inverse norm are what the front sees of the features: the test computes from the same. */
static void unit_row(const float *features, size_t inputs, double *unit)
{
    int8_t row[COLUMNS_MAX];
    TEST_ASSERT_EQUAL(PML_OK, pml_quantise(features, inputs, row));
    for (size_t j = 0; j < inputs; j++)
        unit[j] = row[j] * (pml_inverse_norm(row, inputs) * 0x1p-30);
}

/* Rows of weights that differ a thousandfold in size keep their proportions as far as gains reach. */
static void test_a_matrix_is_kept(void)
{
    enum { IN = 20, OUT = 12 };
    struct pml_generator generator = pml_generator_start(4, 4);
    double offset[OUT];
    struct pml_matrix weights;
    struct pml_message message = {""};
    struct pml_front_bytes file = {0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_matrix_allocate(&weights, OUT, IN));
    for (size_t i = 0; i < OUT; i++) {
        offset[i] = draw_normal(&generator) * (i % 3 == 0 ? 2.0 : 0.01);
        for (size_t j = 0; j < IN; j++)
            pml_matrix_row(&weights, i)[j] = draw_normal(&generator) * pow(0.4, (double)(i % 8));
    }
    TEST_ASSERT_EQUAL(PML_DONE, pml_front_bytes_matrix(&weights, offset, false, &file, &message));
    for (size_t trial = 0; trial < 50; trial++) {
        float features[IN];
        double unit[IN], wanted[OUT];
        for (size_t j = 0; j < IN; j++)
            features[j] = (float)draw_normal(&generator);
        unit_row(features, IN, unit);
        for (size_t i = 0; i < OUT; i++) {
            wanted[i] = offset[i];
            for (size_t j = 0; j < IN; j++)
                wanted[i] += pml_matrix_row(&weights, i)[j] * unit[j];
        }
        check_map(&file, wanted, features, IN, OUT, 0.9998);
    }
    free(file.bytes);
    pml_matrix_free(&weights);
}

static void test_kernels_are_kept(void)
{
    enum { IN = 10, OUT = 6, CENTRES = 30 };
    struct pml_generator generator = pml_generator_start(5, 5);
    struct pml_front_kernel kernels[CENTRES];
    double offset[OUT], places[CENTRES][IN];
    struct pml_matrix coefficients;
    struct pml_rows centres;
    struct pml_message message = {""};
    struct pml_front_bytes file = {0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_matrix_allocate(&coefficients, CENTRES, OUT));
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_allocate(&centres, CENTRES, IN));
    for (size_t c = 0; c < CENTRES; c++) {
        float place[IN];
        for (size_t j = 0; j < IN; j++)
            place[j] = (float)draw_normal(&generator);
        TEST_ASSERT_EQUAL(PML_OK, pml_quantise(place, IN, centres.values + c * IN));
        pml_rows_measure(&centres, c);
        unit_row(place, IN, places[c]);
        kernels[c] = (struct pml_front_kernel){4.0 + 0.2 * (double)c, c % 3 == 0 ? 0.3 : 1.5};
        for (size_t i = 0; i < OUT; i++)
            pml_matrix_row(&coefficients, c)[i] = draw_normal(&generator) * (c % 2 == 0 ? 3.0 : 0.05);
    }
    for (size_t i = 0; i < OUT; i++)
        offset[i] = 0.3 * draw_normal(&generator);
    TEST_ASSERT_EQUAL(PML_DONE,
                      pml_front_bytes_kernels(&centres, kernels, &coefficients, offset, false, &file, &message));
    for (size_t trial = 0; trial < 50; trial++) {
        float features[IN];
        double unit[IN], wanted[OUT];
        for (size_t j = 0; j < IN; j++)
            features[j] = (float)draw_normal(&generator);
        unit_row(features, IN, unit);
        memcpy(wanted, offset, sizeof wanted);
        for (size_t c = 0; c < CENTRES; c++) {
            double cosine = 0.0;
            for (size_t j = 0; j < IN; j++)
                cosine += unit[j] * places[c][j];
            for (size_t i = 0; i < OUT; i++)
                wanted[i] += pml_matrix_row(&coefficients, c)[i] * kernels[c].amplitude *
                             exp(-kernels[c].lambda * (1.0 - cosine));
        }
        check_map(&file, wanted, features, IN, OUT, 0.999);
    }
    free(file.bytes);
    pml_rows_free(&centres);
    pml_matrix_free(&coefficients);
}

static void test_maps_that_are_none_are_refused(void)
{
    struct pml_matrix weights;
    struct pml_front_bytes file = {0};
    struct pml_message message = {""};
    TEST_ASSERT_EQUAL(PML_DONE, pml_matrix_allocate(&weights, 3, 4));
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_front_bytes_matrix(&weights, NULL, false, &file, &message));
    TEST_ASSERT_NULL(file.bytes);
    weights.values[5] = NAN;
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_front_bytes_matrix(&weights, NULL, false, &file, &message));
    weights.values[5] = INFINITY;
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_front_bytes_matrix(&weights, NULL, false, &file, &message));
    pml_matrix_free(&weights);
}

/* The lowest frequency of a cosine transform is the mean; the others are orthogonal to it and to each other. */
static void test_dct_is_orthonormal(void)
{
    draw_classes(&rows, 20, 16, 0, 3, 1.0, 1);
    struct pml_train_result result = trained(PML_TRAIN_DCT, &rows.set, 16, 0);
    const double size = 16.0 * weight(&result, 16, 16, 0, 0) * weight(&result, 16, 16, 0, 0);
    for (size_t a = 0; a < 16; a++)
        for (size_t b = 0; b < 16; b++) {
            double dot = 0.0;
            for (size_t j = 0; j < 16; j++)
                dot += weight(&result, 16, 16, a, j) * weight(&result, 16, 16, b, j);
            TEST_ASSERT_DOUBLE_WITHIN(0.02, a == b ? 1.0 : 0.0, dot / size);
        }
    pml_train_free(&result);
}

static void test_random_maps_keep_distances(void)
{
    struct trained_rows *test = calloc(1, sizeof *test);
    struct pml_message message = {""};
    TEST_ASSERT_NOT_NULL(test);
    draw_classes(&rows, 300, 32, 0, 8, 1.0, 2);
    draw_classes(test, 200, 32, 0, 8, 1.0, 3);
    for (int method = PML_TRAIN_SIGNS; method <= PML_TRAIN_GAUSS; method++) {
        double before = 1.0;
        for (size_t outputs = 16; outputs <= 1024; outputs *= 8) {
            struct pml_train_result result = trained((pml_train_method)method, &rows.set, outputs, 0);
            struct pml_train_measures measures;
            TEST_ASSERT_EQUAL(PML_DONE, pml_train_measure(&result, &rows.set, &test->set, 2, &measures, &message));
            TEST_ASSERT_TRUE(measures.distance_error < before);
            before = measures.distance_error;
            pml_train_free(&result);
        }
        TEST_ASSERT_TRUE(before < 0.05);
    }
    free(test);
}

/* A split is a permutation of the rows, a third of it held out. */
static void test_splits_hold_out_a_third(void)
{
    uint32_t indices[ROWS_MAX];
    bool seen[ROWS_MAX] = {false};
    struct pml_train_set kept, held;
    draw_classes(&rows, 100, 4, 0, 2, 1.0, 2);
    pml_train_split(&rows.set, 7, indices, &kept, &held);
    TEST_ASSERT_EQUAL_UINT64(33, held.count);
    TEST_ASSERT_EQUAL_UINT64(67, kept.count);
    for (size_t i = 0; i < 100; i++) {
        const uint32_t row = i < 33 ? held.indices[i] : kept.indices[i - 33];
        TEST_ASSERT_TRUE(row < 100 && !seen[row]);
        seen[row] = true;
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_matrix_is_kept);
    RUN_TEST(test_kernels_are_kept);
    RUN_TEST(test_maps_that_are_none_are_refused);
    RUN_TEST(test_dct_is_orthonormal);
    RUN_TEST(test_random_maps_keep_distances);
    RUN_TEST(test_splits_hold_out_a_third);
    return UNITY_END();
}
