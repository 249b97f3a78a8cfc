/* SPDX-License-Identifier: Apache-2.0
 * The conductor of the frames. In: a pack; then releases. Out: its anchors at all times in both frames, aligned; then
 * the places of released rows. Never sees a query: what it knows of one is the release. */
#include "embedding.h"
#include "common/message.h"
#include "common/rows/knn.h"
#include "embedding_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 256u /* anchors */

/* The anchors' neighbours in one of the frames, and the walk over its times. */
struct walk {
    const struct pml_graph *graph;
    const struct pml_kdtree *tree;
    const double *now;
    double *next;
    unsigned count; /* neighbours of an anchor: min(K, n−1) */
    uint32_t *neighbours;
    double *weights;
    double width;
    int (*visit)(struct walk *walk, uint32_t anchor);
    unsigned threads;
    const struct pml_progress *progress;
};

static int visit_piece(void *context, size_t piece)
{
    struct walk *walk = context;
    const size_t first = piece * PIECE, n = walk->graph->info.anchors;
    for (size_t i = first; i < n && i < first + PIECE; i++)
        if (walk->visit(walk, (uint32_t)i) != 0)
            return -1;
    return 0;
}

static int visit_all(struct walk *walk, int (*visit)(struct walk *walk, uint32_t anchor),
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

static int read_list(struct walk *walk, uint32_t anchor)
{
    return pml_pack_list(walk->graph->pack, anchor, walk->neighbours + edges_of(walk, anchor)) == PML_OK ? 0 : -1;
}

static int rank_anchors(struct walk *walk)
{
    const pml_pack_info *info = &walk->graph->info;
    struct pml_rows rows;
    if (pml_rows_allocate(&rows, info->anchors, info->features) != 0)
        return -1;
    for (size_t i = 0; i < rows.count; i++) {
        memcpy(rows.values + i * rows.columns, pml_pack_anchor(walk->graph->pack, i), rows.columns);
        pml_rows_measure(&rows, i);
    }
    int status = pml_knn(&rows, walk->count, walk->threads, walk->progress, walk->neighbours);
    pml_rows_free(&rows);
    return status;
}

static int weigh_by_features(struct walk *walk, uint32_t anchor)
{
    const struct pml_graph *graph = walk->graph;
    const size_t first = edges_of(walk, anchor);
    for (unsigned j = 0; j < walk->count; j++)
        walk->weights[first + j] = pml_graph_feature_weight(graph, pml_pack_anchor(graph->pack, anchor),
                                                            graph->inverse[anchor], walk->neighbours[first + j]);
    return 0;
}

/* ---- neighbours by rows ---- */

/* Leaves squared distances in the place of the weights. */
static int find_nearest(struct walk *walk, uint32_t anchor)
{
    const size_t first = edges_of(walk, anchor);
    pml_kdtree_nearest(walk->tree, walk->now + (size_t)anchor * walk->graph->info.dimensions, walk->count, anchor,
                       walk->neighbours + first, walk->weights + first);
    return 0;
}

static int weigh_by_distance(struct walk *walk, uint32_t anchor)
{
    const size_t first = edges_of(walk, anchor);
    for (unsigned j = 0; j < walk->count; j++)
        walk->weights[first + j] = pml_graph_distance_weight(walk->graph, walk->weights[first + j], walk->width);
    return 0;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* σ' of SPEC 6.3. */
static int find_width(struct walk *walk)
{
    const size_t n = walk->graph->info.anchors;
    double *distances = malloc(n * sizeof *distances);
    if (!distances)
        return -1;
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
    return 0;
}

/* ---- the two frames ---- */

static int step_anchor(struct walk *walk, uint32_t anchor)
{
    const struct pml_graph *graph = walk->graph;
    const size_t first = edges_of(walk, anchor), at = (size_t)anchor * graph->info.dimensions;
    const struct pml_links links = {walk->neighbours + first, walk->weights + first, walk->count,
                                    pml_graph_label_count(graph, anchor), graph->slots[anchor]};
    pml_graph_step(graph, &links, walk->now, walk->now + at, walk->next + at);
    return 0;
}

static int take_steps(struct walk *walk, double *rows, unsigned steps)
{
    const size_t size = (size_t)walk->graph->info.anchors * walk->graph->info.dimensions;
    for (unsigned time = 0; time < steps; time++) {
        walk->now = rows + time * size;
        walk->next = rows + (time + 1) * size;
        if (visit_all(walk, step_anchor, NULL) != 0)
            return -1;
    }
    return 0;
}

static int read_code(struct walk *walk, uint32_t anchor)
{
    const unsigned k = walk->graph->info.dimensions;
    int16_t code[PML_DIMENSIONS_MAX];
    if (pml_pack_anchor_code(walk->graph->pack, anchor, code) != PML_OK)
        return -1;
    for (unsigned c = 0; c < k; c++)
        walk->next[(size_t)anchor * k + c] = code[c];
    return 0;
}

static int make_server(struct pml_embedding *frames, struct walk *walk)
{
    int status = 0;
    if (frames->graph.info.lists)
        status = visit_all(walk, read_list, NULL);
    else if (walk->count > 0)
        status = rank_anchors(walk);
    walk->next = frames->server;
    if (status != 0 || visit_all(walk, weigh_by_features, NULL) != 0 || visit_all(walk, read_code, NULL) != 0)
        return -1;
    return take_steps(walk, frames->server, frames->iterations + 1);
}

static int make_client(struct pml_embedding *frames, struct walk *walk)
{
    const pml_pack_info *info = &frames->graph.info;
    memcpy(frames->client, pml_embedding_at(frames, frames->server, 1),
           (size_t)info->anchors * info->dimensions * sizeof *frames->client);
    if (pml_kdtree_build(&frames->tree, frames->client, info->anchors, info->dimensions) != 0)
        return -1;
    walk->tree = frames->tree;
    walk->now = frames->client;
    if (visit_all(walk, find_nearest, walk->progress) != 0 || find_width(walk) != 0 ||
        visit_all(walk, weigh_by_distance, NULL) != 0)
        return -1;
    frames->width = walk->width;
    return take_steps(walk, frames->client, frames->iterations);
}

static int make_both(struct pml_embedding *frames, unsigned threads, const struct pml_progress *progress)
{
    const pml_pack_info *info = &frames->graph.info;
    const size_t n = info->anchors, k = info->dimensions, T = frames->iterations;
    struct walk walk = {.graph = &frames->graph, .threads = threads, .progress = progress};
    walk.count = info->neighbours < n ? info->neighbours : (unsigned)n - 1;
    walk.neighbours = malloc((n * walk.count + 1) * sizeof *walk.neighbours); /* one alone has none */
    walk.weights = malloc((n * walk.count + 1) * sizeof *walk.weights);
    frames->server = malloc((T + 2) * n * k * sizeof *frames->server);
    frames->client = malloc((T + 1) * n * k * sizeof *frames->client);
    int status = walk.neighbours && walk.weights && frames->server && frames->client ? 0 : -1;
    if (status == 0)
        status = make_server(frames, &walk);
    if (status == 0)
        status = make_client(frames, &walk);
    free(walk.neighbours);
    free(walk.weights);
    return status;
}

/* ---- public ---- */

static int make(struct pml_embedding *frames, const pml_pack *pack, unsigned threads,
                const struct pml_progress *progress, struct pml_message *message)
{
    if (pml_graph_make(&frames->graph, pack) != 0 || make_both(frames, pml_parallel_threads(threads), progress) != 0)
        return pml_say_memory(message);
    pml_align(pml_embedding_at(frames, frames->client, frames->iterations),
              pml_embedding_at(frames, frames->server, frames->iterations + 1), frames->graph.info.anchors,
              frames->graph.info.dimensions, true, &frames->similarity);
    return pml_embedding_check_range(frames, message);
}

int pml_embedding_make(struct pml_embedding **made, const pml_pack *pack, unsigned iterations, unsigned threads,
                       const struct pml_progress *progress, struct pml_message *message)
{
    pml_pack_info info;
    *made = NULL;
    if (pml_pack_describe(pack, &info) != PML_OK || info.anchors == 0)
        return pml_say(message, "The pack has no anchors, and so no embedding: use a pack made with "
                                "--gaussian.");
    if (iterations > PML_ITERATIONS_MAX)
        return pml_say(message, "%u iterations are too many: give at most %u.", iterations, PML_ITERATIONS_MAX);
    struct pml_embedding *frames = calloc(1, sizeof *frames);
    if (!frames)
        return pml_say_memory(message);
    frames->iterations = iterations;
    int status = make(frames, pack, threads, progress, message);
    if (status == 0)
        *made = frames;
    else
        pml_embedding_free(frames);
    return status;
}

void pml_embedding_free(struct pml_embedding *frames)
{
    if (!frames)
        return;
    pml_graph_free(&frames->graph);
    pml_kdtree_free(frames->tree);
    free(frames->server);
    free(frames->client);
    free(frames);
}

int pml_embedding_place(const struct pml_embedding *frames, const float *released, double *places)
{
    const struct pml_graph *graph = &frames->graph;
    const unsigned K = graph->info.neighbours, k = graph->info.dimensions;
    for (uint32_t slot = 0; slot < graph->info.slots; slot++) {
        uint32_t neighbours[PML_NEIGHBOURS_MAX];
        double weights[PML_NEIGHBOURS_MAX], *row = places + (size_t)slot * k;
        for (unsigned c = 0; c < k; c++)
            row[c] = released[(size_t)slot * k + c];
        pml_kdtree_nearest(frames->tree, row, K, PML_KDTREE_ALL, neighbours, weights);
        for (unsigned j = 0; j < K; j++)
            weights[j] = pml_graph_distance_weight(graph, weights[j], frames->width);
        const struct pml_links links = {neighbours, weights, K, K, slot};
        for (unsigned time = 0; time < frames->iterations; time++)
            pml_graph_step(graph, &links, pml_embedding_at(frames, frames->client, time), row, row);
    }
    pml_similarity_apply(&frames->similarity, places, graph->info.slots);
    return 0;
}
