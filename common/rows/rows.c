/* SPDX-License-Identifier: Apache-2.0
 * Makes int8 rows with norms from public features; copies and averages rows. */
#include "rows.h"
#include "common/generator.h"
#include "common/system.h"
#include "privatemail_public.h"

#include <stdlib.h>
#include <string.h>

#define PIECE 256u     /* rows */
#define CACHE_LINE 64u /* bytes; a vector that lies in two takes twice the time to load */

pml_outcome pml_rows_allocate(struct pml_rows *rows, size_t count, size_t columns)
{
    *rows = (struct pml_rows){
        .values = pml_system_allocate(CACHE_LINE, count * columns),
        .inverse = malloc((count + 1) * sizeof *rows->inverse),
        .squared = malloc((count + 1) * sizeof *rows->squared),
        .count = count,
        .columns = columns,
    };
    if (rows->values && rows->inverse && rows->squared)
        return PML_DONE;
    pml_rows_free(rows);
    return PML_NO_MEMORY;
}

void pml_rows_free(struct pml_rows *rows)
{
    pml_system_free(rows->values);
    free(rows->inverse);
    free(rows->squared);
    *rows = (struct pml_rows){0};
}

void pml_rows_measure(struct pml_rows *rows, size_t index)
{
    const int8_t *row = rows->values + index * rows->columns;
    rows->inverse[index] = pml_inverse_norm(row, rows->columns);
    rows->squared[index] = (uint32_t)pml_dot(row, row, rows->columns);
}

struct pml_rows pml_rows_slice(const struct pml_rows *rows, size_t first, size_t count)
{
    return (struct pml_rows){
        .values = rows->values + first * rows->columns,
        .inverse = rows->inverse + first,
        .squared = rows->squared + first,
        .count = count,
        .columns = rows->columns,
    };
}

pml_outcome pml_rows_gather(const struct pml_rows *rows, const uint32_t *indices, size_t count, struct pml_rows *out)
{
    const size_t columns = rows->columns;
    if (pml_rows_allocate(out, count, columns) != PML_DONE)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        memcpy(out->values + i * columns, rows->values + indices[i] * columns, columns);
        out->inverse[i] = rows->inverse[indices[i]];
        out->squared[i] = rows->squared[indices[i]];
    }
    return PML_DONE;
}

size_t pml_rows_sample(size_t count, size_t most, uint64_t seed, uint32_t *indices)
{
    struct pml_generator generator = {seed};
    const size_t wanted = count < most ? count : most;
    for (size_t i = 0; i < wanted; i++) {
        size_t first = i * count / wanted, end = (i + 1) * count / wanted;
        indices[i] = (uint32_t)(first + pml_generator_below(&generator, end - first));
    }
    return wanted;
}

struct mapping {
    struct pml_rows *rows;
    const pml_front *front;
    const float *values;
    size_t *bad; /* first bad row of each piece, or the number of rows */
};

static pml_outcome map_piece(void *context, size_t piece)
{
    struct mapping *job = context;
    struct pml_rows *rows = job->rows;
    const size_t inputs = job->front->inputs, first = piece * PIECE,
                 end = first + PIECE < rows->count ? first + PIECE : rows->count;
    int64_t *scratch = malloc(pml_front_scratch(job->front) + 1);
    if (!scratch)
        return PML_NO_MEMORY;
    job->bad[piece] = rows->count;
    for (size_t i = first; i < end; i++) {
        if (pml_front_map(job->front, pml_rows_kernels(), job->values + i * inputs, inputs, scratch,
                          rows->values + i * rows->columns) == PML_OK)
            pml_rows_measure(rows, i);
        else if (job->bad[piece] == rows->count)
            job->bad[piece] = i;
    }
    free(scratch);
    return PML_DONE;
}

pml_outcome pml_rows_map(struct pml_rows *rows, const pml_front *front, const float *values, unsigned threads,
                         const struct pml_progress *progress, size_t *bad)
{
    size_t pieces = (rows->count + PIECE - 1) / PIECE;
    struct mapping job = {rows, front, values, malloc((pieces + 1) * sizeof *job.bad)};
    if (!job.bad)
        return PML_NO_MEMORY;
    pml_outcome outcome = pml_parallel(threads, pieces, map_piece, &job, progress);
    *bad = rows->count;
    for (size_t i = pieces; outcome == PML_DONE && i-- > 0;)
        if (job.bad[i] < rows->count)
            *bad = job.bad[i];
    free(job.bad);
    return outcome;
}

pml_outcome pml_rows_quantise(struct pml_rows *rows, const float *values, unsigned threads,
                              const struct pml_progress *progress, size_t *bad)
{
    const uint32_t columns = (uint32_t)rows->columns;
    const pml_front none = {.kind = PML_FRONT_NONE, .inputs = columns, .outputs = columns};
    return pml_rows_map(rows, &none, values, threads, progress, bad);
}

pml_outcome pml_rows_mean(const struct pml_rows *rows, const uint32_t *indices, const uint32_t *weights, size_t count,
                          int8_t *out)
{
    /* |q|·inverse ≤ 2^30, weights ≤ 2^12 and count ≤ 2^20: the sums are exact, in whatever order they are made. */
    int64_t *sums = calloc(rows->columns, sizeof *sums);
    float *mean = malloc(rows->columns * sizeof *mean);
    int8_t *quantised = malloc(rows->columns);
    pml_outcome outcome = PML_NO_MEMORY;
    if (sums && mean && quantised) {
        for (size_t i = 0; i < count; i++) {
            const int8_t *row = rows->values + indices[i] * rows->columns;
            const int64_t inverse = (int64_t)rows->inverse[indices[i]] * (weights ? weights[i] : 1);
            for (size_t j = 0; j < rows->columns; j++)
                sums[j] += row[j] * inverse;
        }
        for (size_t j = 0; j < rows->columns; j++)
            mean[j] = (float)sums[j];
        outcome = pml_quantise(mean, rows->columns, quantised) == PML_OK ? PML_DONE : PML_REFUSED;
        if (outcome == PML_DONE)
            memcpy(out, quantised, rows->columns);
    }
    free(sums);
    free(mean);
    free(quantised);
    return outcome;
}
