/* SPDX-License-Identifier: Apache-2.0
 * Exact dot products of int8 rows, many at once, by the best kernels that this CPU runs. They never overflow: 4096
 * products of at most 128² stay below 2^26. */
#include "core/base/kernels.h"
#include "rows.h"

#include <stdatomic.h>

#define CACHED 16384u /* bytes of rows that stay in the first cache while queries pass by */

/* Asking the CPU costs more than a product: it is asked once. */
const struct pml_kernels *pml_rows_kernels(void)
{
    static _Atomic(const struct pml_kernels *) chosen;
    const struct pml_kernels *known = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!known) {
        known = pml_kernels_among(PML_KERNEL_COUNT);
        atomic_store_explicit(&chosen, known, memory_order_relaxed);
    }
    return known;
}

int32_t pml_dot(const int8_t *left, const int8_t *right, size_t columns)
{
    int32_t dot;
    pml_dots(left, right, columns, 1, &dot);
    return dot;
}

void pml_dots(const int8_t *query, const int8_t *rows, size_t columns, size_t row_count, int32_t *out)
{
    pml_rows_kernels()->dots_s8(query, rows, columns, row_count, out);
}

/* How many rows stay in the first cache. */
static size_t cached_rows(size_t columns)
{
    return columns < CACHED / 8 ? CACHED / columns / 8 * 8 : 8;
}

void pml_tile_dots(const int8_t *queries, size_t query_count, const int8_t *rows, size_t row_count, size_t columns,
                   int32_t *out)
{
    const pml_dots_s8_fn dots = pml_rows_kernels()->dots_s8;
    const size_t most = cached_rows(columns);
    for (size_t r = 0; r < row_count; r += most)
        for (size_t q = 0; q < query_count; q++)
            dots(queries + q * columns, rows + r * columns, columns, row_count - r < most ? row_count - r : most,
                 out + q * PML_TILE + r);
}

/* ---- rows of small values ---- */

/* Groups are those that core/base/kernels.h names; at the end of a row some have fewer values. */
uint32_t pml_largest_group(const int8_t *row, size_t columns)
{
    uint32_t largest = 0;
    for (size_t start = 0; start < columns; start += 64) {
        uint32_t groups[16] = {0};
        for (size_t j = start; j < columns && j < start + 64; j++)
            groups[j % 32 / 2] += (uint32_t)(row[j] * row[j]);
        for (size_t i = 0; i < 16; i++)
            largest = groups[i] > largest ? groups[i] : largest;
    }
    return largest;
}

static pml_dots_s8_fn small_kernel(void)
{
#if PML_KERNELS_WIDE
    if (pml_rows_kernels()->dots_small)
        return pml_rows_kernels()->dots_small;
#endif
    return pml_rows_kernels()->dots_s8;
}

void pml_tile_dots_grouped(const int8_t *queries, const uint32_t *query_groups, size_t query_count, const int8_t *rows,
                           const uint32_t *row_groups, size_t row_count, size_t columns, int32_t *out)
{
    const pml_dots_s8_fn dots = pml_rows_kernels()->dots_s8, small = small_kernel();
    const size_t most = cached_rows(columns);
    for (size_t r = 0; r < row_count; r += most) {
        const size_t count = row_count - r < most ? row_count - r : most;
        uint64_t largest = 0;
        for (size_t i = r; i < r + count; i++)
            largest = row_groups[i] > largest ? row_groups[i] : largest;
        for (size_t q = 0; q < query_count; q++)
            (largest * query_groups[q] <= PML_SMALL ? small : dots)(queries + q * columns, rows + r * columns, columns,
                                                                    count, out + q * PML_TILE + r);
    }
}
