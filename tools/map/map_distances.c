/* SPDX-License-Identifier: Apache-2.0
 * Classical scaling (Torgerson 1952): of distances between rows, or along the graph of neighbours (Isomap, Tenenbaum
 * et al. 2000). */
#include "map_distances.h"
#include "map_graph.h"
#include "map_lanczos.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float *pml_map_square_matrix(size_t count)
{
    return count > 0 && count <= SIZE_MAX / sizeof(float) / count ? malloc(count * count * sizeof(float)) : NULL;
}

/* ---- scaling ---- */

struct centred {
    const float *squares;
    double *in; /* centred */
    double *out;
    size_t count;
    unsigned threads;
};

#define PIECE 64u /* rows */
#define LANES 4u

static pml_outcome multiply_piece(void *context, size_t piece)
{
    const struct centred *centred = context;
    const size_t n = centred->count, end = (piece + 1) * PIECE < n ? (piece + 1) * PIECE : n;
    for (size_t i = piece * PIECE; i < end; i++) {
        const float *row = centred->squares + i * n;
        double sums[LANES] = {0};
        size_t j = 0;
        for (; j + LANES <= n; j += LANES)
            for (size_t lane = 0; lane < LANES; lane++)
                sums[lane] += (double)row[j + lane] * centred->in[j + lane];
        for (size_t lane = 0; j < n; j++, lane++)
            sums[lane] += (double)row[j] * centred->in[j];
        centred->out[i] = -0.5 * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
    return PML_DONE;
}

static void centre(double *vector, size_t count)
{
    double mean = 0.0;
    for (size_t i = 0; i < count; i++)
        mean += vector[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        vector[i] -= mean;
}

/* −½·J·D·J, where J subtracts the mean. */
static pml_outcome apply(void *context, const double *in, double *out)
{
    struct centred *centred = context;
    memcpy(centred->in, in, centred->count * sizeof *in);
    centre(centred->in, centred->count);
    centred->out = out;
    pml_outcome outcome =
        pml_parallel(centred->threads, (centred->count + PIECE - 1) / PIECE, multiply_piece, centred, NULL);
    centre(out, centred->count);
    return outcome;
}

pml_outcome pml_map_scale(const struct pml_map_job *job, const float *squares)
{
    const size_t n = job->rows->count;
    struct centred centred = {.squares = squares, .count = n, .threads = job->options->threads};
    double values[2], *vectors = malloc(3 * n * sizeof *vectors);
    if (!vectors)
        return PML_NO_MEMORY;
    centred.in = vectors + 2 * n;
    pml_outcome outcome = pml_map_lanczos(apply, &centred, n, 2, job->options->seed, values, vectors);
    for (size_t axis = 0; outcome == PML_DONE && axis < 2; axis++)
        for (size_t i = 0; i < n; i++)
            job->places[2 * i + axis] = vectors[axis * n + i] * sqrt(fmax(values[axis], 0.0));
    free(vectors);
    return outcome;
}

/* ---- the distances themselves ---- */

struct filling {
    const struct pml_rows *rows;
    const struct pml_map_sparse *graph; /* with lengths; NULL: straight distances */
    float *squares;
};

static pml_outcome straight_row(void *context, size_t row)
{
    const struct filling *filling = context;
    const size_t n = filling->rows->count;
    int32_t *dots = malloc(n * sizeof *dots);
    double *squares = malloc(n * sizeof *squares);
    const pml_outcome outcome = dots && squares ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        pml_map_squares(filling->rows, row, dots, squares);
        for (size_t i = 0; i < n; i++)
            filling->squares[row * n + i] = (float)squares[i];
    }
    free(dots);
    free(squares);
    return outcome;
}

static pml_outcome scale_with(const struct pml_map_job *job, struct filling *filling, pml_piece_fn fill)
{
    const size_t n = job->rows->count;
    struct pml_progress told;
    filling->squares = pml_map_square_matrix(n);
    pml_outcome outcome = filling->squares ? pml_parallel(job->options->threads, n, fill, filling,
                                                          pml_map_stage(job->options, "distances", &told))
                                           : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_map_scale(job, filling->squares);
    free(filling->squares);
    return outcome;
}

pml_outcome pml_map_mds(const struct pml_map_job *job, struct pml_message *message)
{
    struct filling filling = {.rows = job->rows};
    (void)message;
    return scale_with(job, &filling, straight_row);
}

/* ---- along the graph ---- */

struct heap {
    uint32_t *rows;  /* the nearest is the first */
    uint32_t *where; /* of each row; UINT32_MAX: not in it */
    size_t count;
};

static void lift(struct heap *heap, const float *distances, size_t at)
{
    const uint32_t row = heap->rows[at];
    for (; at > 0 && distances[row] < distances[heap->rows[(at - 1) / 2]]; at = (at - 1) / 2) {
        heap->rows[at] = heap->rows[(at - 1) / 2];
        heap->where[heap->rows[at]] = (uint32_t)at;
    }
    heap->rows[at] = row;
    heap->where[row] = (uint32_t)at;
}

static uint32_t take_nearest(struct heap *heap, const float *distances)
{
    const uint32_t nearest = heap->rows[0], last = heap->rows[--heap->count];
    size_t at = 0;
    for (size_t child = 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && distances[heap->rows[child + 1]] < distances[heap->rows[child]])
            child++;
        if (!(distances[heap->rows[child]] < distances[last]))
            break;
        heap->rows[at] = heap->rows[child];
        heap->where[heap->rows[at]] = (uint32_t)at;
        at = child;
    }
    if (heap->count > 0) {
        heap->rows[at] = last;
        heap->where[last] = (uint32_t)at;
    }
    return nearest;
}

/* Dijkstra's shortest paths from one row, in place of the row of the matrix; squared at the end. */
static pml_outcome path_row(void *context, size_t row)
{
    const struct filling *filling = context;
    const struct pml_map_sparse *graph = filling->graph;
    const size_t n = graph->count;
    float *distances = filling->squares + row * n;
    struct heap heap = {malloc(n * sizeof *heap.rows), malloc(n * sizeof *heap.where), 0};
    const pml_outcome outcome = heap.rows && heap.where ? PML_DONE : PML_NO_MEMORY;
    for (size_t i = 0; outcome == PML_DONE && i < n; i++) {
        distances[i] = INFINITY;
        heap.where[i] = UINT32_MAX;
    }
    if (outcome == PML_DONE) {
        distances[row] = 0.0f;
        heap.rows[heap.count++] = (uint32_t)row;
    }
    while (heap.count > 0) {
        const uint32_t nearest = take_nearest(&heap, distances);
        for (size_t e = graph->starts[nearest]; e < graph->starts[nearest + 1]; e++) {
            const uint32_t next = graph->ends[e];
            const float through = distances[nearest] + graph->values[e];
            if (!(through < distances[next]))
                continue;
            distances[next] = through;
            if (heap.where[next] == UINT32_MAX)
                heap.where[next] = (uint32_t)heap.count++;
            heap.rows[heap.where[next]] = next;
            lift(&heap, distances, heap.where[next]);
        }
    }
    for (size_t i = 0; outcome == PML_DONE && i < n; i++)
        distances[i] *= distances[i];
    free(heap.rows);
    free(heap.where);
    return outcome;
}

pml_outcome pml_map_isomap(const struct pml_map_job *job, struct pml_message *message)
{
    struct pml_map_sparse lists = {0}, graph = {0};
    struct filling filling = {.rows = job->rows, .graph = &graph};
    (void)message;
    pml_outcome outcome = pml_map_job_neighbours(job, &lists);
    if (outcome == PML_DONE)
        outcome = pml_map_symmetric(&lists, true, &graph);
    for (size_t e = 0; outcome == PML_DONE && e < graph.starts[graph.count]; e++)
        graph.values[e] = sqrtf(graph.values[e]);
    if (outcome == PML_DONE)
        outcome = scale_with(job, &filling, path_row);
    pml_map_sparse_free(&lists);
    pml_map_sparse_free(&graph);
    return outcome;
}
