/* SPDX-License-Identifier: Apache-2.0
 * Spectral codes: the eigenvectors of the normalised graph of nearest neighbours that change least from a row to its
 * neighbours (Laplacian eigenmaps). The graph is the lists and their reverse, so an edge that both ends list counts twice. */
#include "codes_parts.h"
#include "common/generator.h"
#include "common/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPARE 8u    /* vectors beyond those wanted, for these to settle sooner */
#define ROUNDS 24   /* after each, vectors are made orthonormal */
#define STEPS 4     /* products per round */
#define PIECE 1024u /* rows */

struct graph {
    size_t rows;
    size_t *starts;       /* edges of row i are starts[i] … starts[i+1]−1 */
    uint32_t *neighbours; /* of each edge */
    double *scale;        /* of each row, 1/√degree */
    const double *from;   /* one group of vectors */
    double *to;
};

/* ---- the graph ---- */

static void fill_edges(const struct graph *graph, const struct pml_code_lists *lists, size_t *next)
{
    memcpy(next, graph->starts, graph->rows * sizeof *next);
    for (size_t i = 0; i < graph->rows; i++)
        for (size_t j = 0; j < lists->length; j++) {
            const uint32_t other = lists->values[i * lists->length + j];
            graph->neighbours[next[i]++] = other;
            graph->neighbours[next[other]++] = (uint32_t)i;
        }
}

static pml_outcome make_graph(struct graph *graph, const struct pml_code_lists *lists)
{
    const size_t n = graph->rows, listed = n * lists->length;
    size_t *next = malloc(n * sizeof *next);
    graph->starts = calloc(n + 1, sizeof *graph->starts);
    graph->neighbours = malloc(2 * listed * sizeof *graph->neighbours);
    graph->scale = malloc(n * sizeof *graph->scale);
    if (!next || !graph->starts || !graph->neighbours || !graph->scale) {
        free(next);
        return PML_NO_MEMORY;
    }
    for (size_t e = 0; e < listed; e++)
        graph->starts[lists->values[e] + 1]++;
    for (size_t i = 0; i < n; i++) {
        const size_t degree = graph->starts[i + 1] + lists->length;
        graph->scale[i] = 1.0 / sqrt((double)degree);
        graph->starts[i + 1] = graph->starts[i] + degree;
    }
    fill_edges(graph, lists, next);
    free(next);
    return PML_DONE;
}

static void free_graph(struct graph *graph)
{
    free(graph->starts);
    free(graph->neighbours);
    free(graph->scale);
}

/* ---- eigenvectors ---- */

/* to = ½·from + ½·D^−½·A·D^−½·from: no eigenvalue is below 0, and the largest are those wanted. */
static pml_outcome multiply_piece(void *context, size_t piece)
{
    const struct graph *graph = context;
    const size_t end = (piece + 1) * PIECE < graph->rows ? (piece + 1) * PIECE : graph->rows;
    for (size_t i = piece * PIECE; i < end; i++) {
        double sums[PML_LANES] = {0};
        for (size_t e = graph->starts[i]; e < graph->starts[i + 1]; e++) {
            const uint32_t other = graph->neighbours[e];
            for (size_t lane = 0; lane < PML_LANES; lane++)
                sums[lane] += graph->scale[other] * graph->from[other * PML_LANES + lane];
        }
        for (size_t lane = 0; lane < PML_LANES; lane++)
            graph->to[i * PML_LANES + lane] =
                0.5 * graph->from[i * PML_LANES + lane] + 0.5 * (graph->scale[i] * sums[lane]);
    }
    return PML_DONE;
}

static pml_outcome multiply(struct graph *graph, struct pml_directions *from, struct pml_directions *to,
                            unsigned threads)
{
    pml_outcome outcome = PML_DONE;
    for (size_t group = 0; group < pml_directions_groups(from) && outcome == PML_DONE; group++) {
        graph->from = from->values + group * graph->rows * PML_LANES;
        graph->to = to->values + group * graph->rows * PML_LANES;
        outcome = pml_parallel(threads, (graph->rows + PIECE - 1) / PIECE, multiply_piece, graph, NULL);
    }
    struct pml_directions swap = *from;
    *from = *to;
    *to = swap;
    return outcome;
}

/* Vector 0 is the one that says nothing: constant but for the degrees. */
static pml_outcome find_vectors(struct graph *graph, const struct pml_code_source *source,
                                struct pml_directions *vectors)
{
    struct pml_generator generator = pml_generator_start(source->seed, PML_STREAM_ANCHORS);
    struct pml_directions next = {0};
    pml_outcome outcome = pml_directions_allocate(&next, vectors->count, vectors->size);
    for (size_t i = 0; i < graph->rows; i++)
        *pml_direction(vectors, 0, i) = 1.0 / graph->scale[i];
    if (outcome == PML_DONE)
        pml_directions_settle(vectors, 0.0, &generator);
    for (int round = 0; round < ROUNDS && outcome == PML_DONE; round++) {
        for (int step = 0; step < STEPS && outcome == PML_DONE; step++)
            outcome = multiply(graph, vectors, &next, source->threads);
        pml_directions_settle(vectors, 0.0, &generator);
        pml_progress_tell(source->progress, (round + 1.0) / ROUNDS);
    }
    pml_directions_free(&next);
    return outcome;
}

static pml_outcome take_points(const struct graph *graph, const struct pml_directions *vectors, unsigned k,
                               double **points)
{
    *points = malloc(graph->rows * k * sizeof **points);
    for (size_t i = 0; *points && i < graph->rows; i++)
        for (unsigned c = 0; c < k; c++)
            (*points)[i * k + c] = graph->scale[i] * *pml_direction(vectors, c + 1, i);
    return *points ? PML_DONE : PML_NO_MEMORY;
}

pml_outcome pml_codes_graph(const struct pml_code_source *source, unsigned *dimensions, double **points,
                            struct pml_message *message)
{
    struct graph graph = {.rows = source->rows->count};
    struct pml_code_lists lists = {0};
    struct pml_directions vectors = {0};
    if (pml_codes_dimensions(dimensions, graph.rows - 1, "the number of other rows is", message) != PML_DONE)
        return PML_REFUSED;
    const size_t count = *dimensions + 1 + SPARE;
    pml_outcome outcome = pml_codes_lists(source, &lists);
    if (outcome == PML_DONE)
        outcome = make_graph(&graph, &lists);
    free(lists.own);
    if (outcome == PML_DONE)
        outcome = pml_directions_allocate(&vectors, count < graph.rows ? count : graph.rows, graph.rows);
    if (outcome == PML_DONE)
        outcome = find_vectors(&graph, source, &vectors);
    if (outcome == PML_DONE)
        outcome = take_points(&graph, &vectors, *dimensions, points);
    pml_directions_free(&vectors);
    free_graph(&graph);
    return outcome == PML_DONE ? PML_DONE : pml_say_memory(message);
}
