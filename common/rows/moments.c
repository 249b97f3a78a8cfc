/* SPDX-License-Identifier: Apache-2.0
 * Sums second moments in integers and finds their directions by orthogonal iteration. Every sum has one fixed order, so
 * the number of threads changes nothing. */
#include "moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 256u     /* rows whose products are summed in 32 bits */
#define UNIT 2048.0    /* length of a row in the sums: CHUNK·UNIT² = 2^30 */
#define CENTRED 1024.0 /* the same with centres: a row minus a mean may be twice as long */
#define ROUNDS 16
#define VANISHED 1e-12 /* of the sum of all second moments: what is smaller is rounding */

/* ---- second moments: Σ x·xᵀ over unit rows ---- */

static void fill_columns(struct pml_moments *moments, const struct pml_centres *centres)
{
    const struct pml_rows *rows = moments->rows;
    const double unit = centres ? CENTRED : UNIT;
    for (size_t i = 0; i < moments->sample; i++) {
        const size_t row = moments->indices[i];
        const double scale = unit / sqrt((double)rows->squared[row]);
        const double *mean =
            centres ? centres->means + (centres->classes ? centres->classes[row] : 0) * rows->columns : NULL;
        int16_t *at = moments->columns + i / CHUNK * moments->size * CHUNK + i % CHUNK;
        for (size_t j = 0; j < rows->columns; j++) {
            const double value = rows->values[row * rows->columns + j] * scale;
            at[j * CHUNK] = (int16_t)floor((mean ? value - unit * mean[j] : value) + 0.5);
        }
    }
}

/* The products of one column and four others. Four sums keep a vector unit busy, and compilers turn int16 products summed
 * in int32 into one multiply-add instruction. */
static void multiply_columns(const int16_t *restrict column, const int16_t *restrict others, int32_t *restrict out)
{
    const int16_t *restrict b = others + CHUNK, *restrict c = b + CHUNK, *restrict d = c + CHUNK;
    int32_t sums[4] = {0, 0, 0, 0};
    for (size_t i = 0; i < CHUNK; i++) {
        sums[0] += column[i] * others[i];
        sums[1] += column[i] * b[i];
        sums[2] += column[i] * c[i];
        sums[3] += column[i] * d[i];
    }
    memcpy(out, sums, sizeof sums);
}

/* PML_TILE rows of the matrix. */
static pml_outcome sum_tile(void *context, size_t tile)
{
    struct pml_moments *moments = context;
    const size_t size = moments->size;
    int32_t products[4];
    for (size_t chunk = 0; chunk < moments->chunks; chunk++) {
        const int16_t *columns = moments->columns + chunk * size * CHUNK, *own = columns + tile * PML_TILE * CHUNK;
        for (size_t other = 0; other < size; other += 4) /* stay in the first cache while all columns pass by */
            for (size_t i = 0; i < PML_TILE; i++) {
                double *sums = moments->sums + (tile * PML_TILE + i) * size + other;
                multiply_columns(own + i * CHUNK, columns + other * CHUNK, products);
                for (size_t j = 0; j < 4; j++)
                    sums[j] += products[j];
            }
    }
    return PML_DONE;
}

pml_outcome pml_moments_sum(struct pml_moments *moments, const struct pml_rows *rows, const struct pml_centres *centres,
                            uint64_t seed, unsigned threads)
{
    moments->rows = rows;
    moments->columns = NULL;
    moments->sample = pml_rows_sample(rows->count, PML_MOMENTS_SAMPLE, seed, moments->indices);
    moments->chunks = (moments->sample + CHUNK - 1) / CHUNK;
    moments->size = (rows->columns + PML_TILE - 1) / PML_TILE * PML_TILE;
    const size_t size = moments->size;
    moments->columns = calloc(moments->chunks * size * CHUNK, sizeof *moments->columns);
    moments->sums = calloc(size * size, sizeof *moments->sums);
    if (!moments->columns || !moments->sums)
        return PML_NO_MEMORY;
    fill_columns(moments, centres);
    pml_outcome outcome = pml_parallel(threads, size / PML_TILE, sum_tile, moments, NULL);
    free(moments->columns);
    moments->columns = NULL;
    return outcome;
}

void pml_moments_free(struct pml_moments *moments)
{
    free(moments->columns);
    free(moments->sums);
    moments->columns = NULL;
    moments->sums = NULL;
}

double pml_moments_total(const struct pml_moments *moments)
{
    double total = 0.0;
    for (size_t i = 0; i < moments->size; i++)
        total += moments->sums[i * moments->size + i];
    return total;
}

double pml_moments_along(const struct pml_moments *moments, const struct pml_directions *directions, size_t index)
{
    double along = 0.0;
    for (size_t i = 0; i < directions->size; i++) {
        double product = 0.0;
        for (size_t j = 0; j < directions->size; j++)
            product += moments->sums[i * moments->size + j] * *pml_direction(directions, index, j);
        along += *pml_direction(directions, index, i) * product;
    }
    return along;
}

/* ---- principal directions: orthogonal iteration ---- */

struct product {
    const struct pml_moments *moments;
    const struct pml_directions *from, *to;
};

/* Four rows of the matrix with one group of vectors. */
static void multiply_group(const double *restrict rows, size_t stride, const double *restrict group, size_t columns,
                           double sums[PML_LANES][PML_LANES])
{
    double local[PML_LANES][PML_LANES] = {{0}}; /* in registers */
    for (size_t j = 0; j < columns; j++)
        for (size_t row = 0; row < PML_LANES; row++)
            for (size_t lane = 0; lane < PML_LANES; lane++)
                local[row][lane] += rows[row * stride + j] * group[j * PML_LANES + lane];
    memcpy(sums, local, sizeof local);
}

static pml_outcome multiply_tile(void *context, size_t tile)
{
    const struct product *product = context;
    const size_t columns = product->from->size, end = (tile + 1) * PML_TILE < columns ? (tile + 1) * PML_TILE : columns;
    for (size_t row = tile * PML_TILE; row < end; row += PML_LANES)
        for (size_t group = 0; group < pml_directions_groups(product->from); group++) {
            const size_t first = group * columns * PML_LANES, count = end - row < PML_LANES ? end - row : PML_LANES;
            double sums[PML_LANES][PML_LANES];
            multiply_group(product->moments->sums + row * product->moments->size, product->moments->size,
                           product->from->values + first, columns, sums);
            memcpy(product->to->values + first + row * PML_LANES, sums, count * sizeof sums[0]);
        }
    return PML_DONE;
}

pml_outcome pml_moments_directions(const struct pml_moments *moments, struct pml_directions *directions,
                                   struct pml_generator *generator, unsigned threads,
                                   const struct pml_progress *progress)
{
    struct pml_directions next;
    const double all = pml_moments_total(moments);
    const size_t count = directions->count;
    pml_outcome outcome = pml_directions_allocate(&next, count, directions->size);
    directions->count = next.count = count < moments->sample ? count : moments->sample;
    if (outcome == PML_DONE)
        pml_directions_settle(directions, 0.0, generator);
    for (int round = 0; outcome == PML_DONE && round < ROUNDS; round++) {
        struct product product = {moments, directions, &next};
        outcome = pml_parallel(threads, moments->size / PML_TILE, multiply_tile, &product, NULL);
        struct pml_directions swap = *directions;
        *directions = next;
        next = swap;
        pml_directions_settle(directions, VANISHED * all, generator);
        pml_progress_tell(progress, (round + 1.0) / (ROUNDS + 1));
    }
    directions->count = count;
    if (outcome == PML_DONE)
        pml_directions_settle(directions, 0.0, generator); /* what was not iterated is zero still */
    pml_directions_free(&next);
    return outcome;
}
