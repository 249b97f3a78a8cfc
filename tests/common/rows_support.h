/* SPDX-License-Identifier: Apache-2.0
 * Quantised rows for tests of what the builder computes with them. */
#ifndef TEST_ROWS_SUPPORT_H
#define TEST_ROWS_SUPPORT_H

#include "common/rows/rows.h"
#include "server/server_support.h"

static inline struct pml_rows quantised(const float *values, size_t count, size_t columns)
{
    struct pml_rows rows;
    size_t bad;
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_allocate(&rows, count, columns));
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_quantise(&rows, values, 2, NULL, &bad));
    TEST_ASSERT_EQUAL_UINT64(count, bad);
    return rows;
}

static inline struct pml_rows drawn(uint64_t seed, size_t count, size_t columns, size_t classes)
{
    float *values = malloc(count * columns * sizeof *values);
    TEST_ASSERT_NOT_NULL(values);
    draw_rows(seed, count, columns, classes, values);
    struct pml_rows rows = quantised(values, count, columns);
    free(values);
    return rows;
}

#endif
