/* SPDX-License-Identifier: Apache-2.0
 * Sketches of many items are those that pml_sketch gives of each, coded and plain, whatever the threads. */
#define _XOPEN_SOURCE 700
#include "common/rows_support.h"
#include "server/lists/index_sketches.h"
#include "tools/builder_support.h"

enum { ROWS = 700 };

void setUp(void)
{
}

void tearDown(void)
{
}

/* Rows like those of the pack, rows of noise, and rows along single features, which are far from all others. */
static struct pml_rows make_rows(size_t columns)
{
    struct pml_rows rows = drawn(1, ROWS, columns, 4), noise = drawn(2, ROWS, columns, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        int8_t *row = rows.values + i * columns;
        if (i % 3 == 1)
            memcpy(row, noise.values + i * columns, columns);
        if (i % 3 == 2) {
            memset(row, 0, columns);
            row[i % columns] = i % 2 ? 127 : -127;
        }
        pml_rows_measure(&rows, i);
    }
    pml_rows_free(&noise);
    return rows;
}

static void check_sketches(size_t columns, unsigned size, int plain)
{
    struct input input = make_input(300, columns, 4);
    input.options.sketch = size;
    input.options.plain_sketches = plain;
    struct built built = build(&input);
    struct pml_rows rows = make_rows(columns);
    struct pml_sketches *sketches;
    const size_t bytes = built.info.sketch;
    int8_t *expected = malloc(ROWS * bytes), *found = malloc(ROWS * bytes);
    TEST_ASSERT_TRUE(expected && found);
    TEST_ASSERT_EQUAL(plain ? 0 : 1, built.info.directions > 0);
    for (size_t i = 0; i < ROWS; i++)
        TEST_ASSERT_EQUAL(PML_OK, pml_sketch(&built.pack, NULL, rows.values + i * columns, expected + i * bytes));
    TEST_ASSERT_EQUAL(PML_DONE, pml_sketches_open(&sketches, &built.pack));
    for (unsigned threads = 1; threads <= 3; threads++) {
        memset(found, 0x55, ROWS * bytes);
        TEST_ASSERT_EQUAL(PML_DONE, pml_sketches_make(sketches, &rows, threads, NULL, found));
        TEST_ASSERT_EQUAL_MEMORY(expected, found, ROWS * bytes);
    }
    pml_sketches_close(sketches);
    pml_sketches_close(NULL);
    free(expected);
    free(found);
    pml_rows_free(&rows);
    free_input(&input);
    free(built.bytes);
}

static void test_coded_sketches(void)
{
    check_sketches(24, 0, 0);
    check_sketches(24, 8, 0);
    check_sketches(70, 40, 0);
    check_sketches(130, 256, 0);
}

static void test_plain_sketches(void)
{
    check_sketches(24, 16, 1);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_coded_sketches);
    RUN_TEST(test_plain_sketches);
    return UNITY_END();
}
