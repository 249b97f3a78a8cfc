/* SPDX-License-Identifier: Apache-2.0
 * Draws rows that are far from one another, and never two that are equal. */
#include "kmeans_start.h"
#include "common/generator.h"

#include <stdlib.h>
#include <string.h>

#define PIECE 1024u /* rows */

struct start {
    const struct pml_rows *rows;
    uint64_t *weights; /* per row 1 − cosine to its nearest centre, in 2^-40 */
    size_t centre;     /* the row that became one last */
};

static pml_outcome weigh_piece(void *context, size_t piece)
{
    struct start *start = context;
    const struct pml_rows *rows = start->rows;
    const int8_t *centre = rows->values + start->centre * rows->columns;
    size_t end = (piece + 1) * PIECE < rows->count ? (piece + 1) * PIECE : rows->count;
    int32_t dots[PIECE];
    pml_dots(centre, rows->values + piece * PIECE * rows->columns, rows->columns, end - piece * PIECE, dots);
    for (size_t i = piece * PIECE; i < end; i++) {
        const int32_t dot = dots[i - piece * PIECE];
        int64_t cosine = dot * (int64_t)rows->inverse[i] * rows->inverse[start->centre];
        uint64_t weight = ((uint64_t)(((int64_t)1 << 60) - cosine) >> 20) + 1;
        /* Inverse norms are rounded down: of equal rows the cosine falls short of 1, so that is asked exactly. */
        if ((uint32_t)dot == rows->squared[i] && rows->squared[i] == rows->squared[start->centre])
            weight = 0;
        if (weight < start->weights[i])
            start->weights[i] = weight;
    }
    return PML_DONE;
}

/* A row drawn by weight; rows->count when all weights are 0. At most 2^20 weights below 2^42: the sum is exact. */
static size_t draw_row(const struct start *start, struct pml_generator *generator)
{
    const size_t count = start->rows->count;
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += start->weights[i];
    if (total == 0)
        return count;
    uint64_t left = pml_generator_below(generator, total);
    size_t row = 0;
    for (; left >= start->weights[row]; row++)
        left -= start->weights[row];
    return row;
}

pml_outcome pml_kmeans_start(const struct pml_rows *rows, size_t clusters, uint64_t seed, unsigned threads,
                             const struct pml_progress *progress, struct pml_rows *centres)
{
    struct start start = {rows, malloc(rows->count * sizeof *start.weights), 0};
    if (!start.weights)
        return PML_NO_MEMORY;
    struct pml_generator generator = {seed};
    for (size_t i = 0; i < rows->count; i++)
        start.weights[i] = (uint64_t)1 << 42; /* more than any */
    centres->count = 0;
    while (centres->count < clusters) {
        start.centre = draw_row(&start, &generator);
        if (start.centre == rows->count)
            break;
        memcpy(centres->values + centres->count * rows->columns, rows->values + start.centre * rows->columns,
               rows->columns);
        pml_rows_measure(centres, centres->count++);
        pml_parallel(threads, (rows->count + PIECE - 1) / PIECE, weigh_piece, &start, NULL);
        pml_progress_tell(progress, 0.5 * (double)centres->count / (double)clusters);
    }
    free(start.weights);
    return PML_DONE;
}
