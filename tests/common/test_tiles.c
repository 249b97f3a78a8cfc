/* SPDX-License-Identifier: Apache-2.0
 * Products of tiles are those of single rows, for tiles and rows of any size, in any order. */
#define _POSIX_C_SOURCE 200809L
#include "common/rows/tiles.h"
#include "common/rows_support.h"

enum { ROWS = 150 };

void setUp(void)
{
}

void tearDown(void)
{
}

/* Rows of the largest values of both signs, and of all int8 values but −128. */
static struct pml_rows make_rows(uint64_t seed, size_t columns)
{
    struct pml_rows rows;
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_allocate(&rows, ROWS, columns));
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < columns; j++)
            rows.values[i * columns + j] = (int8_t)(i % 5 == 0   ? 127
                                                    : i % 5 == 1 ? -127
                                                                 : (int)draw_between(&seed, -127, 127));
        rows.values[i * columns] = 127;
        pml_rows_measure(&rows, i);
    }
    return rows;
}

static void check_products(const struct pml_rows *rows, const uint32_t *members, size_t first, size_t count,
                           const uint32_t *queries, size_t query_count)
{
    static int32_t out[PML_TILE * PML_TILE];
    struct pml_tile tile;
    TEST_ASSERT_EQUAL(PML_DONE, pml_tile_allocate(&tile, rows->columns));
    pml_tile_fill(&tile, rows, NULL, 3, PML_TILE); /* what was there before does not matter */
    pml_tile_fill(&tile, rows, members, first, count);
    memset(out, 0x55, sizeof out);
    pml_tile_multiply(&tile, rows, queries, 7, query_count, out);
    for (size_t q = 0; q < query_count; q++)
        for (size_t r = 0; r < count; r++) {
            const int8_t *query = rows->values + (queries ? queries[q] : 7 + q) * rows->columns;
            const int8_t *row = rows->values + (members ? members[r] : first + r) * rows->columns;
            TEST_ASSERT_EQUAL_INT32(pml_dot(query, row, rows->columns), out[q * PML_TILE + r]);
        }
    pml_tile_free(&tile);
}

static void test_products(void)
{
    static const size_t columns[] = {1, 2, 3, 4, 5, 7, 64, 127, 256, 258, 4096},
                        counts[] = {1, 2, 15, 17, 33, 63, PML_TILE}, query_counts[] = {1, 3, 4, 6, PML_TILE};
    uint32_t members[PML_TILE], queries[PML_TILE];
    for (size_t i = 0; i < PML_TILE; i++) {
        members[i] = (uint32_t)(i * 67 + 5) % ROWS;
        queries[i] = (uint32_t)(i * 31 + 9) % ROWS;
    }
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
        struct pml_rows rows = make_rows(c + 1, columns[c]);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            for (size_t j = 0; j < sizeof query_counts / sizeof query_counts[0]; j++) {
                check_products(&rows, NULL, ROWS - counts[i], counts[i], NULL, query_counts[j]);
                check_products(&rows, members, 0, counts[i], queries, query_counts[j]);
            }
        pml_rows_free(&rows);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_products);
    return UNITY_END();
}
