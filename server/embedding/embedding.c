/* SPDX-License-Identifier: Apache-2.0
 * The conductor of the embedding. From a pack it makes the anchors at all times on both sides, aligned; then it places
 * the rows of releases. It never sees a query: all it knows of one is the release. */
#include "embedding.h"
#include "common/message.h"
#include "common/rows/knn.h"
#include "embedding_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 256u /* anchors */

/* The anchors' neighbours on one of the two sides, and the walk over its times. */
struct walk {
    const struct pml_graph *graph;
    const struct pml_kdtree *tree;
    const double *now;
    double *next;
    unsigned count; /* neighbours of an anchor: min(K, n−1) */
    uint32_t *neighbours;
    double *weights;
    double width;
    pml_outcome (*visit)(struct walk *walk, uint32_t anchor);
    unsigned threads;
    const struct pml_progress *progress;
};

static pml_outcome visit_piece(void *context, size_t piece)
{
    struct walk *walk = context;
    const size_t first = piece * PIECE, n = walk->graph->info.anchors;
    for (size_t i = first; i < n && i < first + PIECE; i++)
        if (walk->visit(walk, (uint32_t)i) != PML_DONE)
            return PML_NO_MEMORY;
    return PML_DONE;
}

static pml_outcome visit_all(struct walk *walk, pml_outcome (*visit)(struct walk *walk, uint32_t anchor),
                             const struct pml_progress *progress)
{
    walk->visit = visit;
    return pml_parallel(walk->threads, (walk->graph->info.anchors + PIECE - 1) / PIECE, visit_piece, walk, progress);
}

static size_t edges_of(const struct walk *walk, uint32_t anchor)
{
    return (size_t)anchor * walk->count;
}

/* ---- neighbours by features ---- */

static pml_outcome read_list(struct walk *walk, uint32_t anchor)
{
    return pml_pack_list(walk->graph->pack, anchor, walk->neighbours + edges_of(walk, anchor)) == PML_OK
               ? PML_DONE
               : PML_NO_MEMORY;
}

static pml_outcome rank_anchors(struct walk *walk)
{
    const pml_pack_info *info = &walk->graph->info;
    struct pml_rows rows;
    if (pml_rows_allocate(&rows, info->anchors, info->features) != 0)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < rows.count; i++) {
        memcpy(rows.values + i * rows.columns, pml_pack_anchor(walk->graph->pack, i), rows.columns);
        pml_rows_measure(&rows, i);
    }
    pml_outcome outcome = pml_knn(&rows, walk->count, walk->threads, walk->progress, walk->neighbours);
    pml_rows_free(&rows);
    return outcome;
}

static pml_outcome weigh_by_features(struct walk *walk, uint32_t anchor)
{
    const struct pml_graph *graph = walk->graph;
    const size_t first = edges_of(walk, anchor);
    for (unsigned j = 0; j < walk->count; j++)
        walk->weights[first + j] = pml_graph_feature_weight(graph, pml_pack_anchor(graph->pack, anchor),
                                                            graph->inverse[anchor], walk->neighbours[first + j]);
    return PML_DONE;
}

/* ---- neighbours by rows ---- */

/* Leaves squared distances in the place of the weights. */
static pml_outcome find_nearest(struct walk *walk, uint32_t anchor)
{
    const size_t first = edges_of(walk, anchor);
    pml_kdtree_nearest(walk->tree, walk->now + (size_t)anchor * walk->graph->info.dimensions, walk->count, anchor,
                       walk->neighbours + first, walk->weights + first);
    return PML_DONE;
}

static pml_outcome weigh_by_distance(struct walk *walk, uint32_t anchor)
{
    const size_t first = edges_of(walk, anchor);
    for (unsigned j = 0; j < walk->count; j++)
        walk->weights[first + j] = pml_graph_distance_weight(walk->graph, walk->weights[first + j], walk->width);
    return PML_DONE;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* σ' of SPEC 6.3. */
static pml_outcome find_width(struct walk *walk)
{
    const size_t n = walk->graph->info.anchors;
    double *distances = malloc(n * sizeof *distances);
    if (!distances)
        return PML_NO_MEMORY;
    walk->width = 0.0;
    if (walk->count > 0) {
        for (size_t i = 0; i < n; i++)
            distances[i] = sqrt(walk->weights[(i + 1) * walk->count - 1]);
        qsort(distances, n, sizeof *distances, by_size);
        walk->width = (distances[(n - 1) / 2] + distances[n / 2]) / 2.0;
        for (size_t i = n / 2; walk->width <= 0.0 && i < n; i++)
            walk->width = distances[i];
    }
    if (walk->width <= 0.0)
        walk->width = 1.0;
    free(distances);
    return PML_DONE;
}

/* ---- the two sides ---- */

static pml_outcome step_anchor(struct walk *walk, uint32_t anchor)
{
    const struct pml_graph *graph = walk->graph;
    const size_t first = edges_of(walk, anchor), at = (size_t)anchor * graph->info.dimensions;
    const struct pml_links links = {walk->neighbours + first, walk->weights + first, walk->count,
                                    pml_graph_label_count(graph, anchor), graph->slots[anchor]};
    pml_graph_step(graph, &links, walk->now, walk->now + at, walk->next + at);
    return PML_DONE;
}

static pml_outcome take_steps(struct walk *walk, double *rows, unsigned steps)
{
    const size_t size = (size_t)walk->graph->info.anchors * walk->graph->info.dimensions;
    for (unsigned time = 0; time < steps; time++) {
        walk->now = rows + time * size;
        walk->next = rows + (time + 1) * size;
        if (visit_all(walk, step_anchor, NULL) != 0)
            return PML_NO_MEMORY;
    }
    return PML_DONE;
}

static pml_outcome read_code(struct walk *walk, uint32_t anchor)
{
    const unsigned k = walk->graph->info.dimensions;
    int16_t code[PML_DIMENSIONS_MAX];
    if (pml_pack_anchor_code(walk->graph->pack, anchor, code) != PML_OK)
        return PML_NO_MEMORY;
    for (unsigned c = 0; c < k; c++)
        walk->next[(size_t)anchor * k + c] = code[c];
    return PML_DONE;
}

static pml_outcome make_server(struct pml_embedding *embedding, struct walk *walk)
{
    pml_outcome outcome = PML_DONE;
    if (embedding->graph.info.lists)
        outcome = visit_all(walk, read_list, NULL);
    else if (walk->count > 0)
        outcome = rank_anchors(walk);
    walk->next = embedding->server;
    if (outcome != PML_DONE || visit_all(walk, weigh_by_features, NULL) != 0 || visit_all(walk, read_code, NULL) != 0)
        return PML_NO_MEMORY;
    return take_steps(walk, embedding->server, embedding->iterations + 1);
}

static pml_outcome make_client(struct pml_embedding *embedding, struct walk *walk)
{
    const pml_pack_info *info = &embedding->graph.info;
    memcpy(embedding->client, pml_embedding_at(embedding, embedding->server, 1),
           (size_t)info->anchors * info->dimensions * sizeof *embedding->client);
    if (pml_kdtree_build(&embedding->tree, embedding->client, info->anchors, info->dimensions) != 0)
        return PML_NO_MEMORY;
    walk->tree = embedding->tree;
    walk->now = embedding->client;
    if (visit_all(walk, find_nearest, walk->progress) != 0 || find_width(walk) != 0 ||
        visit_all(walk, weigh_by_distance, NULL) != 0)
        return PML_NO_MEMORY;
    embedding->width = walk->width;
    return take_steps(walk, embedding->client, embedding->iterations);
}

static pml_outcome make_both(struct pml_embedding *embedding, unsigned threads, const struct pml_progress *progress)
{
    const pml_pack_info *info = &embedding->graph.info;
    const size_t n = info->anchors, k = info->dimensions, T = embedding->iterations;
    struct walk walk = {.graph = &embedding->graph, .threads = threads, .progress = progress};
    walk.count = info->neighbours < n ? info->neighbours : (unsigned)n - 1;
    walk.neighbours = malloc((n * walk.count + 1) * sizeof *walk.neighbours); /* one alone has none */
    walk.weights = malloc((n * walk.count + 1) * sizeof *walk.weights);
    embedding->server = malloc((T + 2) * n * k * sizeof *embedding->server);
    embedding->client = malloc((T + 1) * n * k * sizeof *embedding->client);
    pml_outcome outcome =
        walk.neighbours && walk.weights && embedding->server && embedding->client ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = make_server(embedding, &walk);
    if (outcome == PML_DONE)
        outcome = make_client(embedding, &walk);
    free(walk.neighbours);
    free(walk.weights);
    return outcome;
}

/* ---- public ---- */

static pml_outcome make(struct pml_embedding *embedding, const pml_pack *pack, unsigned threads,
                        const struct pml_progress *progress, struct pml_message *message)
{
    if (pml_graph_make(&embedding->graph, pack) != 0 ||
        make_both(embedding, pml_parallel_threads(threads), progress) != 0)
        return pml_say_memory(message);
    pml_align(pml_embedding_at(embedding, embedding->client, embedding->iterations),
              pml_embedding_at(embedding, embedding->server, embedding->iterations + 1), embedding->graph.info.anchors,
              embedding->graph.info.dimensions, true, &embedding->similarity);
    return pml_embedding_check_range(embedding, message);
}

pml_outcome pml_embedding_make(struct pml_embedding **made, const pml_pack *pack, unsigned iterations, unsigned threads,
                               const struct pml_progress *progress, struct pml_message *message)
{
    pml_pack_info info;
    *made = NULL;
    if (pml_pack_describe(pack, &info) != PML_OK || info.anchors == 0)
        return pml_say(message, "The pack has no anchors, and so no embedding: use a pack made with "
                                "--gaussian.");
    if (iterations > PML_ITERATIONS_MAX)
        return pml_say(message, "%u iterations are too many: give at most %u.", iterations, PML_ITERATIONS_MAX);
    struct pml_embedding *embedding = calloc(1, sizeof *embedding);
    if (!embedding)
        return pml_say_memory(message);
    embedding->iterations = iterations;
    pml_outcome outcome = make(embedding, pack, threads, progress, message);
    if (outcome == PML_DONE)
        *made = embedding;
    else
        pml_embedding_free(embedding);
    return outcome;
}

void pml_embedding_free(struct pml_embedding *embedding)
{
    if (!embedding)
        return;
    pml_graph_free(&embedding->graph);
    pml_kdtree_free(embedding->tree);
    free(embedding->server);
    free(embedding->client);
    free(embedding);
}

void pml_embedding_place(const struct pml_embedding *embedding, const float *released, double *places)
{
    const struct pml_graph *graph = &embedding->graph;
    const unsigned K = graph->info.neighbours, k = graph->info.dimensions;
    for (uint32_t slot = 0; slot < graph->info.slots; slot++) {
        uint32_t neighbours[PML_NEIGHBOURS_MAX];
        double weights[PML_NEIGHBOURS_MAX], *row = places + (size_t)slot * k;
        for (unsigned c = 0; c < k; c++)
            row[c] = released[(size_t)slot * k + c];
        pml_kdtree_nearest(embedding->tree, row, K, PML_KDTREE_ALL, neighbours, weights);
        for (unsigned j = 0; j < K; j++)
            weights[j] = pml_graph_distance_weight(graph, weights[j], embedding->width);
        const struct pml_links links = {neighbours, weights, K, K, slot};
        for (unsigned time = 0; time < embedding->iterations; time++)
            pml_graph_step(graph, &links, pml_embedding_at(embedding, embedding->client, time), row, row);
    }
    pml_similarity_apply(&embedding->similarity, places, graph->info.slots);
}
