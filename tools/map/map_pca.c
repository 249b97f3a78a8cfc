/* SPDX-License-Identifier: Apache-2.0
 * The rows' main directions, and where methods that descend start. */
#include "map_lanczos.h"
#include "map_methods.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 512u       /* rows; sums of a piece are added in one order, whatever thread made them */
#define START_ROWS 4000u /* are enough to find a place to start from */
#define LANES 8u

struct scatter {
    const struct pml_rows *rows;
    double *mean;         /* of the unit vectors */
    const double *vector; /* what is multiplied; NULL: the sum of the rows is wanted */
    double *parts;        /* per piece: columns, and one for the sum of the factors */
    unsigned threads;
};

static double dot(const int8_t *row, const double *vector, size_t columns)
{
    double sums[LANES] = {0}, sum = 0.0;
    size_t k = 0;
    for (; k + LANES <= columns; k += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += row[k + lane] * vector[k + lane];
    for (size_t lane = 0; k < columns; k++, lane++)
        sums[lane] += row[k] * vector[k];
    for (size_t lane = 0; lane < LANES; lane++)
        sum += sums[lane];
    return sum;
}

static pml_outcome scatter_piece(void *context, size_t piece)
{
    const struct scatter *scatter = context;
    const struct pml_rows *rows = scatter->rows;
    const size_t columns = rows->columns, end = (piece + 1) * PIECE < rows->count ? (piece + 1) * PIECE : rows->count;
    double *part = scatter->parts + piece * (columns + 1), offset = 0.0;
    memset(part, 0, (columns + 1) * sizeof *part);
    for (size_t k = 0; scatter->vector && k < columns; k++)
        offset += scatter->mean[k] * scatter->vector[k];
    for (size_t i = piece * PIECE; i < end; i++) {
        const int8_t *row = rows->values + i * columns;
        const double scale = 1.0 / sqrt((double)rows->squared[i]);
        const double factor = scatter->vector ? dot(row, scatter->vector, columns) * scale - offset : 1.0;
        for (size_t k = 0; k < columns; k++)
            part[k] += factor * scale * row[k];
        part[columns] += factor;
    }
    return PML_DONE;
}

/* out = Σ factor·(row − mean), and without a vector Σ row. */
static pml_outcome add_rows(struct scatter *scatter, const double *vector, double *out)
{
    const size_t columns = scatter->rows->columns, pieces = (scatter->rows->count + PIECE - 1) / PIECE;
    scatter->vector = vector;
    pml_outcome outcome = pml_parallel(scatter->threads, pieces, scatter_piece, scatter, NULL);
    memset(out, 0, columns * sizeof *out);
    for (size_t p = 0; p < pieces; p++)
        for (size_t k = 0; k < columns; k++) {
            const double *part = scatter->parts + p * (columns + 1);
            out[k] += part[k] - (vector ? part[columns] * scatter->mean[k] : 0.0);
        }
    return outcome;
}

static pml_outcome apply(void *context, const double *in, double *out)
{
    return add_rows(context, in, out);
}

/* The mean of the unit vectors and their two main directions: columns numbers each. */
static pml_outcome find_directions(const struct pml_rows *rows, uint64_t seed, unsigned threads, double *mean,
                                   double *directions)
{
    const size_t pieces = (rows->count + PIECE - 1) / PIECE, wanted = rows->columns < 2 ? 1 : 2;
    struct scatter scatter = {.rows = rows, .mean = mean, .threads = threads};
    double values[2];
    scatter.parts = malloc(pieces * (rows->columns + 1) * sizeof *scatter.parts);
    if (!scatter.parts)
        return PML_NO_MEMORY;
    pml_outcome outcome = add_rows(&scatter, NULL, mean);
    for (size_t k = 0; k < rows->columns; k++)
        mean[k] /= (double)rows->count;
    memset(directions, 0, 2 * rows->columns * sizeof *directions);
    if (outcome == PML_DONE)
        outcome = pml_map_lanczos(apply, &scatter, rows->columns, wanted, seed, values, directions);
    free(scatter.parts);
    return outcome;
}

/* Places of all rows along the directions of `some` of them. */
static pml_outcome project(const struct pml_map_job *job, const struct pml_rows *some)
{
    const struct pml_rows *rows = job->rows;
    const size_t columns = rows->columns;
    double *mean = malloc(3 * columns * sizeof *mean);
    if (!mean)
        return PML_NO_MEMORY;
    pml_outcome outcome = find_directions(some, job->options->seed, job->options->threads, mean, mean + columns);
    for (size_t i = 0; outcome == PML_DONE && i < rows->count; i++)
        for (size_t axis = 0; axis < 2; axis++) {
            const double *direction = mean + (axis + 1) * columns;
            double offset = 0.0;
            for (size_t k = 0; k < columns; k++)
                offset += mean[k] * direction[k];
            job->places[2 * i + axis] =
                dot(rows->values + i * columns, direction, columns) / sqrt((double)rows->squared[i]) - offset;
        }
    free(mean);
    return outcome;
}

pml_outcome pml_map_pca(const struct pml_map_job *job, struct pml_message *message)
{
    (void)message;
    return project(job, job->rows);
}

pml_outcome pml_map_start(const struct pml_map_job *job, double deviation)
{
    const struct pml_rows *rows = job->rows;
    const size_t n = rows->count;
    struct pml_generator generator = pml_generator_start(job->options->seed, PML_MAP_STREAM_START);
    struct pml_rows some = {0};
    uint32_t *indices = malloc((n < START_ROWS ? n : START_ROWS) * sizeof *indices);
    pml_outcome outcome = indices ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE && n > START_ROWS)
        outcome = pml_rows_gather(rows, indices, pml_rows_sample(n, START_ROWS, job->options->seed, indices), &some);
    if (outcome == PML_DONE)
        outcome = project(job, n > START_ROWS ? &some : rows);
    double squares = 0.0;
    for (size_t i = 0; i < n; i++)
        squares += job->places[2 * i] * job->places[2 * i];
    const double scale = squares > 0.0 ? deviation / sqrt(squares / (double)n) : 0.0;
    for (size_t i = 0; outcome == PML_DONE && i < 2 * n; i++)
        job->places[i] = job->places[i] * scale + 0.01 * deviation * pml_map_uniform(&generator);
    pml_rows_free(&some);
    free(indices);
    return outcome;
}
