/* SPDX-License-Identifier: Apache-2.0
 * In: int8 rows. Out: exact dot products, many at once.
 * Never overflows: 4096 products of at most 128² stay below 2^26. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

int32_t pml_dot(const int8_t *left, const int8_t *right, size_t columns)
{
    int32_t sum = 0;
    for (size_t i = 0; i < columns; i++)
        sum += (int16_t)(left[i] * right[i]);
    return sum;
}

int16_t *pml_tile_allocate(size_t columns)
{
    return malloc(PML_TILE * pml_tile_stride(columns) * sizeof(int16_t));
}

void pml_tile_widen(const int8_t *values, size_t count, size_t columns, int16_t *tile)
{
    const size_t stride = pml_tile_stride(columns);
    for (size_t row = 0; row < count; row++, values += columns, tile += stride) {
        for (size_t i = 0; i < columns; i++)
            tile[i] = values[i];
        memset(tile + columns, 0, (stride - columns) * sizeof *tile);
    }
    memset(tile, 0, ((0 - count) & 3) * stride * sizeof *tile);
}

/* Two queries against four rows: eight sums keep a vector unit busy and still fit its registers. Compilers turn int16
 * products summed in int32 into one multiply-add instruction. */
static void dots_2x4(const int16_t *restrict queries, const int16_t *restrict rows, size_t stride,
                     int32_t *restrict out)
{
    const int16_t *restrict p = queries, *restrict q = queries + stride;
    const int16_t *restrict a = rows, *restrict b = rows + stride;
    const int16_t *restrict c = rows + 2 * stride, *restrict d = rows + 3 * stride;
    int32_t pa = 0, pb = 0, pc = 0, pd = 0, qa = 0, qb = 0, qc = 0, qd = 0;
    for (size_t i = 0; i < stride; i++) {
        pa += p[i] * a[i];
        pb += p[i] * b[i];
        pc += p[i] * c[i];
        pd += p[i] * d[i];
        qa += q[i] * a[i];
        qb += q[i] * b[i];
        qc += q[i] * c[i];
        qd += q[i] * d[i];
    }
    out[0] = pa, out[1] = pb, out[2] = pc, out[3] = pd;
    out += PML_TILE;
    out[0] = qa, out[1] = qb, out[2] = qc, out[3] = qd;
}

void pml_tile_dots(const int16_t *queries, size_t query_count, const int16_t *rows, size_t row_count, size_t columns,
                   int32_t *out)
{
    const size_t stride = pml_tile_stride(columns);
    for (size_t r = 0; r < row_count; r += 4) /* four rows stay in the first cache while all queries pass by */
        for (size_t q = 0; q < query_count; q += 2)
            dots_2x4(queries + q * stride, rows + r * stride, stride, out + q * PML_TILE + r);
}
