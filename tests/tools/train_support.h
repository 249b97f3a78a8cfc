/* SPDX-License-Identifier: Apache-2.0
 * Rows for the tests of trainers. */
#ifndef TEST_TRAIN_SUPPORT_H
#define TEST_TRAIN_SUPPORT_H

#include "common/generator.h"
#include "tools/train/train_measure.h"
#include "unity.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_MAX = 600, COLUMNS_MAX = 32 };

/* A set of all `count` rows, in memory that lives as long as the program. */
struct trained_rows {
    float values[2][ROWS_MAX * COLUMNS_MAX];
    int32_t labels[ROWS_MAX];
    uint32_t indices[ROWS_MAX];
    struct pml_features features[2];
    struct pml_train_set set;
};

static inline double draw_normal(struct pml_generator *generator)
{
    return pml_generator_normal(generator, 4096) / 4096.0;
}

static inline void view_rows(struct trained_rows *rows, size_t count, size_t first, size_t second, bool labels)
{
    rows->features[0] = (struct pml_features){rows->values[0], count, first};
    rows->features[1] = (struct pml_features){rows->values[1], count, second};
    for (size_t i = 0; i < count; i++)
        rows->indices[i] = (uint32_t)i;
    rows->set = (struct pml_train_set){.features = {&rows->features[0], &rows->features[1]},
                                       .modalities = second > 0 ? 2 : 1,
                                       .labels = labels ? rows->labels : NULL,
                                       .indices = rows->indices,
                                       .count = count};
}

/* Classes around centres of their own; the noise of the first column is ten times that of the others. */
static inline void draw_classes(struct trained_rows *rows, size_t count, size_t first, size_t second, size_t classes,
                                double noise, uint64_t seed)
{
    struct pml_generator generator = pml_generator_start(seed, 1);
    double centres[2][8][COLUMNS_MAX];
    const size_t columns[2] = {first, second};
    for (size_t v = 0; v < 2; v++)
        for (size_t c = 0; c < classes; c++)
            for (size_t j = 0; j < columns[v]; j++)
                centres[v][c][j] = draw_normal(&generator);
    for (size_t i = 0; i < count; i++) {
        const size_t c = (size_t)pml_generator_below(&generator, classes);
        rows->labels[i] = (int32_t)(c * 5) - 7;
        for (size_t v = 0; v < 2; v++)
            for (size_t j = 0; j < columns[v]; j++)
                rows->values[v][i * columns[v] + j] =
                    (float)(centres[v][c][j] + noise * (j == 0 ? 10.0 : 1.0) * draw_normal(&generator));
    }
    view_rows(rows, count, first, second, true);
}

enum { CROSS_COLUMNS = 6 };

/* Class 0 lies around ± the first axis, class 1 around ± the second: all means are the same. */
static inline void draw_cross(struct trained_rows *out, size_t count, uint64_t seed)
{
    struct pml_generator generator = pml_generator_start(seed, 5);
    for (size_t i = 0; i < count; i++) {
        out->labels[i] = (int32_t)(i % 2);
        for (size_t j = 0; j < CROSS_COLUMNS; j++)
            out->values[0][i * CROSS_COLUMNS + j] =
                (float)((j == i % 2 ? (i % 4 < 2 ? 1.0 : -1.0) : 0.0) + 0.2 * draw_normal(&generator));
    }
    view_rows(out, count, CROSS_COLUMNS, 0, true);
}

static inline struct pml_train_result trained(pml_train_method method, const struct pml_train_set *set,
                                              size_t dimensions, size_t centres)
{
    const struct pml_train_options options = {
        .method = method, .dimensions = dimensions, .centres = centres, .seed = 9, .threads = 2};
    struct pml_train_result result;
    struct pml_message message = {""};
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_train(&options, set, &result, &message), message.text);
    return result;
}

static inline uint64_t load_le(const uint8_t *bytes, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

/* Weight j of output i of a matrix front, in units of the integers. */
static inline double weight(const struct pml_train_result *result, size_t outputs, size_t inputs, size_t i, size_t j)
{
    const uint8_t *records = result->bytes[0] + PML_FRONT_FILE_HEADER, *rows = records + 12 * outputs;
    return (double)load_le(records + 12 * i + 8, 4) * (int8_t)rows[i * inputs + j];
}

#endif
