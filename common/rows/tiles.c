/* SPDX-License-Identifier: Apache-2.0
 * Products of tiles. Woven values need no sums across a vector: a lane is one row of the tile, and adds four products of it
 * at a time. Exact, so all ways give the same numbers. Only for public rows. */
#include "tiles.h"
#include "core/base/kernels.h"

#include <stdlib.h>
#include <string.h>

#if defined(PML_KERNELS_X86_64)
#include <immintrin.h>
#endif

#define FOUR 4u
#define STEP (FOUR * PML_TILE) /* bytes that hold four values of each row */

static size_t steps_of(size_t columns)
{
    return (columns + FOUR - 1) / FOUR;
}

pml_outcome pml_tile_allocate(struct pml_tile *tile, size_t columns)
{
    *tile = (struct pml_tile){.values = malloc(steps_of(columns) * STEP), .columns = columns};
    return tile->values ? PML_DONE : PML_NO_MEMORY;
}

void pml_tile_free(struct pml_tile *tile)
{
    free(tile->values);
    *tile = (struct pml_tile){0};
}

static const int8_t *row_of(const struct pml_rows *rows, const uint32_t *indices, size_t first, size_t at)
{
    return rows->values + (indices ? indices[at] : first + at) * rows->columns;
}

/* ---- woven ---- */

#if defined(PML_KERNELS_X86_64)

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define VECTORS 4u /* of 16 rows each */

bool pml_tile_weaves(void)
{
    return pml_rows_kernels()->dots_s8 == pml_dots_s8_avx512vnni;
}

/* The instruction multiplies unsigned by signed bytes. A query is made unsigned by adding 128, and 128·Σ row is taken off at
 * the start. */
static void weave(struct pml_tile *tile, size_t at, const int8_t *row)
{
    int32_t sum = 0;
    for (size_t j = 0; j < tile->columns; j += FOUR) {
        const size_t count = tile->columns - j < FOUR ? tile->columns - j : FOUR;
        int8_t four[FOUR] = {0};
        if (count == FOUR)
            memcpy(four, row + j, FOUR);
        else
            memcpy(four, row + j, count);
        sum += four[0] + four[1] + four[2] + four[3];
        memcpy(tile->values + j / FOUR * STEP + at * FOUR, four, FOUR);
    }
    tile->starts[at] = -128 * sum;
}

static uint32_t four_of(const int8_t *query, size_t at, size_t columns)
{
    uint32_t four = 0;
    if (columns - at >= FOUR)
        memcpy(&four, query + at, FOUR);
    else
        memcpy(&four, query + at, columns - at);
    return four;
}

AVX512 static void multiply_one(const struct pml_tile *tile, const int8_t *query, int32_t *out)
{
    const __m512i flip = _mm512_set1_epi8(INT8_MIN);
    __m512i sums[VECTORS];
    for (size_t v = 0; v < VECTORS; v++)
        sums[v] = _mm512_loadu_si512(tile->starts + 16 * v);
    for (size_t j = 0; j < tile->columns; j += FOUR) {
        const int8_t *values = tile->values + j / FOUR * STEP;
        const __m512i four = _mm512_xor_si512(_mm512_set1_epi32((int)four_of(query, j, tile->columns)), flip);
        for (size_t v = 0; v < VECTORS; v++)
            sums[v] = _mm512_dpbusd_epi32(sums[v], four, _mm512_loadu_si512(values + 64 * v));
    }
    for (size_t v = 0; v < VECTORS; v++)
        _mm512_storeu_si512(out + 16 * v, sums[v]);
}

/* Four queries share what is read of the tile. columns must be a multiple of four. */
AVX512 static void multiply_four(const struct pml_tile *tile, const int8_t *const queries[4], int32_t *out)
{
    const __m512i flip = _mm512_set1_epi8(INT8_MIN);
    __m512i sums[4][VECTORS];
#pragma GCC unroll 4
    for (size_t q = 0; q < 4; q++)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++)
            sums[q][v] = _mm512_loadu_si512(tile->starts + 16 * v);
    const int8_t *values = tile->values;
    for (size_t j = 0; j < tile->columns; j += FOUR, values += STEP) {
        __m512i rows[VECTORS];
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++)
            rows[v] = _mm512_loadu_si512(values + 64 * v);
#pragma GCC unroll 4
        for (size_t q = 0; q < 4; q++) {
            int32_t four;
            memcpy(&four, queries[q] + j, FOUR);
            const __m512i query = _mm512_xor_si512(_mm512_set1_epi32(four), flip);
#pragma GCC unroll 4
            for (size_t v = 0; v < VECTORS; v++)
                sums[q][v] = _mm512_dpbusd_epi32(sums[q][v], query, rows[v]);
        }
    }
#pragma GCC unroll 4
    for (size_t q = 0; q < 4; q++)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++)
            _mm512_storeu_si512(out + q * PML_TILE + 16 * v, sums[q][v]);
}

static void multiply_woven(const struct pml_tile *tile, const struct pml_rows *rows, const uint32_t *indices,
                           size_t first, size_t count, int32_t *out)
{
    size_t q = 0;
    for (; q + 4 <= count && tile->columns % FOUR == 0; q += 4) {
        const int8_t *const queries[4] = {row_of(rows, indices, first, q), row_of(rows, indices, first, q + 1),
                                          row_of(rows, indices, first, q + 2), row_of(rows, indices, first, q + 3)};
        multiply_four(tile, queries, out + q * PML_TILE);
    }
    for (; q < count; q++)
        multiply_one(tile, row_of(rows, indices, first, q), out + q * PML_TILE);
}

#else

bool pml_tile_weaves(void)
{
    return false;
}

static void weave(struct pml_tile *tile, size_t at, const int8_t *row)
{
    (void)tile, (void)at, (void)row;
}

static void multiply_woven(const struct pml_tile *tile, const struct pml_rows *rows, const uint32_t *indices,
                           size_t first, size_t count, int32_t *out)
{
    (void)tile, (void)rows, (void)indices, (void)first, (void)count, (void)out;
}

#endif

/* ---- all ways ---- */

void pml_tile_fill(struct pml_tile *tile, const struct pml_rows *rows, const uint32_t *indices, size_t first,
                   size_t count)
{
    tile->count = count;
    tile->woven = pml_tile_weaves();
    if (tile->woven && count < PML_TILE) /* rows that it does not have are zero */
        memset(tile->values, 0, steps_of(tile->columns) * STEP);
    memset(tile->starts, 0, sizeof tile->starts);
    for (size_t i = 0; i < count; i++) {
        const int8_t *row = row_of(rows, indices, first, i);
        if (tile->woven)
            weave(tile, i, row);
        else
            memcpy(tile->values + i * tile->columns, row, tile->columns);
    }
}

void pml_tile_multiply(const struct pml_tile *tile, const struct pml_rows *rows, const uint32_t *indices, size_t first,
                       size_t count, int32_t *out)
{
    if (tile->woven) {
        multiply_woven(tile, rows, indices, first, count, out);
        return;
    }
    for (size_t q = 0; q < count; q++)
        pml_tile_dots(row_of(rows, indices, first, q), 1, tile->values, tile->count, tile->columns, out + q * PML_TILE);
}
