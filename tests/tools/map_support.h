/* SPDX-License-Identifier: Apache-2.0
 * Rows for the tests of maps. */
#ifndef MAP_SUPPORT_H
#define MAP_SUPPORT_H

#include "common/generator.h"
#include "tools/map/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unity.h>

/* Nearly normal, of deviation 1. */
static inline double draw_normal(struct pml_generator *generator)
{
    return pml_generator_normal(generator, 32767) / 32767.0;
}

static inline struct pml_rows quantised(const float *values, size_t count, size_t columns)
{
    struct pml_rows rows;
    size_t bad;
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_allocate(&rows, count, columns));
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_quantise(&rows, values, 1, NULL, &bad));
    TEST_ASSERT_EQUAL(count, bad);
    return rows;
}

/* `groups` groups around random directions, taking turns, with noise of deviation `noise`. */
static inline struct pml_rows draw_groups(size_t count, size_t columns, size_t groups, double noise, uint64_t seed)
{
    struct pml_generator generator = pml_generator_start(seed, 1);
    double *middles = malloc(groups * columns * sizeof *middles);
    float *values = malloc(count * columns * sizeof *values);
    for (size_t i = 0; i < groups * columns; i++)
        middles[i] = draw_normal(&generator);
    for (size_t i = 0; i < count * columns; i++)
        values[i] = (float)(middles[i / columns % groups * columns + i % columns] + noise * draw_normal(&generator));
    struct pml_rows rows = quantised(values, count, columns);
    free(middles);
    free(values);
    return rows;
}

/* The map, or a failed test. */
static inline struct pml_map_result mapped(const struct pml_rows *rows, struct pml_map_options options)
{
    struct pml_map_result result;
    struct pml_message message = {""};
    options.threads = options.threads > 0 ? options.threads : 2;
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_map(rows, &options, &result, &message), message.text);
    for (size_t i = 0; i < 2 * rows->count; i++)
        TEST_ASSERT_TRUE(isfinite(result.places[i]));
    return result;
}

static inline double distance(const float *places, size_t left, size_t right)
{
    return hypot((double)places[2 * left] - (double)places[2 * right],
                 (double)places[2 * left + 1] - (double)places[2 * right + 1]);
}

/* The share of rows whose nearest on the map is of another group, for draw_groups. */
static inline double mixed(const float *places, size_t count, size_t groups)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        size_t nearest = i == 0 ? 1 : 0;
        for (size_t j = 0; j < count; j++)
            if (j != i && distance(places, i, j) < distance(places, i, nearest))
                nearest = j;
        wrong += nearest % groups != i % groups;
    }
    return (double)wrong / (double)count;
}

#endif
