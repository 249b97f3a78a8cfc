/* SPDX-License-Identifier: Apache-2.0
 * Maps by the slowest modes of a walk on the graph of neighbours: Laplacian eigenmaps (Belkin and Niyogi 2003) and diffusion
 * maps (Coifman and Lafon 2006). */
#include "map_graph.h"
#include "map_methods.h"

#include "tools/algebra/arpack.h"

#include <math.h>
#include <stdlib.h>

#define MODES 3u   /* the first is the same everywhere */
#define PIECE 512u /* rows */

struct walk {
    const struct pml_map_sparse *graph;
    double *roots; /* of the sums of the rows */
    const double *in;
    double *out;
    unsigned threads;
};

static pml_outcome walk_piece(void *context, size_t piece)
{
    const struct walk *walk = context;
    const struct pml_map_sparse *graph = walk->graph;
    const size_t end = (piece + 1) * PIECE < graph->count ? (piece + 1) * PIECE : graph->count;
    for (size_t i = piece * PIECE; i < end; i++) {
        double sum = 0.0;
        for (size_t e = graph->starts[i]; e < graph->starts[i + 1]; e++)
            sum += (double)graph->values[e] * walk->in[graph->ends[e]] / walk->roots[graph->ends[e]];
        walk->out[i] = sum / walk->roots[i];
    }
    return PML_DONE;
}

static pml_outcome apply(void *context, const double *in, double *out)
{
    struct walk *walk = context;
    walk->in = in;
    walk->out = out;
    return pml_parallel(walk->threads, (walk->graph->count + PIECE - 1) / PIECE, walk_piece, walk, NULL);
}

/* Divides each entry by the powers of the sums of its row and its column. */
static void divide_sums(struct pml_map_sparse *graph, double *sums)
{
    for (size_t i = 0; i < graph->count; i++) {
        sums[i] = 0.0;
        for (size_t e = graph->starts[i]; e < graph->starts[i + 1]; e++)
            sums[i] += (double)graph->values[e];
    }
    for (size_t i = 0; i < graph->count; i++)
        for (size_t e = graph->starts[i]; e < graph->starts[i + 1]; e++)
            graph->values[e] = (float)((double)graph->values[e] / (sums[i] * sums[graph->ends[e]]));
}

/* Places along the second and third mode; `faded`: times their values, what is left of them after a step. */
static pml_outcome find_modes(const struct pml_map_job *job, const struct pml_map_sparse *graph, bool faded,
                              struct pml_message *message)
{
    const size_t n = graph->count;
    struct walk walk = {.graph = graph, .threads = job->options->threads};
    struct pml_generator generator = pml_generator_start(job->options->seed, PML_MAP_STREAM_START);
    double values[MODES], *vectors = malloc(MODES * n * sizeof *vectors), *start = malloc(n * sizeof *start);
    walk.roots = calloc(n, sizeof *walk.roots);
    pml_outcome outcome = vectors && start && walk.roots ? PML_DONE : PML_NO_MEMORY;
    for (size_t i = 0; outcome == PML_DONE && i < n; i++) {
        for (size_t e = graph->starts[i]; e < graph->starts[i + 1]; e++)
            walk.roots[i] += (double)graph->values[e];
        walk.roots[i] = sqrt(walk.roots[i]);
        start[i] = pml_map_uniform(&generator);
    }
    pml_progress_tell(job->options->progress, 0.5);
    if (outcome == PML_DONE)
        outcome = pml_arpack_largest(apply, &walk, n, MODES, start, values, vectors);
    if (outcome == PML_REFUSED)
        pml_say(message, "%s did not settle on these rows. Use tsne, or other --neighbours.",
                pml_map_traits[job->options->method].name);
    for (size_t i = 0; outcome == PML_DONE && i < n; i++)
        for (size_t axis = 0; axis < 2; axis++)
            job->places[2 * i + axis] = vectors[(axis + 1) * n + i] / walk.roots[i] * (faded ? values[axis + 1] : 1.0);
    free(vectors);
    free(start);
    free(walk.roots);
    return outcome;
}

/* An edge counts 1 when both rows list each other, and one half otherwise. */
pml_outcome pml_map_laplacian(const struct pml_map_job *job, struct pml_message *message)
{
    struct pml_map_sparse lists = {0}, graph = {0};
    pml_outcome outcome = pml_map_job_neighbours(job, &lists);
    for (size_t e = 0; outcome == PML_DONE && e < lists.starts[lists.count]; e++)
        lists.values[e] = 0.5f;
    if (outcome == PML_DONE)
        outcome = pml_map_symmetric(&lists, false, &graph);
    if (outcome == PML_DONE)
        outcome = find_modes(job, &graph, false, message);
    pml_map_sparse_free(&lists);
    pml_map_sparse_free(&graph);
    return outcome;
}

/* The kernel is as wide as the last neighbours are far, on average; the density of the rows is divided out. */
pml_outcome pml_map_diffusion(const struct pml_map_job *job, struct pml_message *message)
{
    struct pml_map_sparse lists = {0}, graph = {0};
    const size_t n = job->rows->count;
    double *sums = malloc(n * sizeof *sums), width = 0.0;
    pml_outcome outcome = sums ? pml_map_job_neighbours(job, &lists) : PML_NO_MEMORY;
    for (size_t i = 0; outcome == PML_DONE && i < n; i++)
        width += (double)lists.values[lists.starts[i + 1] - 1] / (double)n;
    for (size_t e = 0; outcome == PML_DONE && e < lists.starts[n]; e++)
        lists.values[e] = width > 0.0 ? (float)fmax(exp(-(double)lists.values[e] / width), 1e-30) : 1.0f;
    if (outcome == PML_DONE)
        outcome = pml_map_symmetric(&lists, true, &graph);
    if (outcome == PML_DONE) {
        divide_sums(&graph, sums);
        outcome = find_modes(job, &graph, true, message);
    }
    free(sums);
    pml_map_sparse_free(&lists);
    pml_map_sparse_free(&graph);
    return outcome;
}
