/* SPDX-License-Identifier: Apache-2.0
 * In: quantised features of gallery items. Out: their places in the server's frame (SPEC 6.2).
 * Never lets one item touch another: pieces may run in any order. */
#include "frames_parts.h"

#include <stdlib.h>
#include <string.h>

struct placing {
    const struct pml_frames *frames;
    const struct pml_rows *rows;
    const uint32_t *slots;
    float *places;
};

/* The first-ranked anchors of one item (SPEC 5.3). */
struct ranking {
    int64_t scores[PML_NEIGHBOURS_MAX];
    uint32_t neighbours[PML_NEIGHBOURS_MAX];
    unsigned held;
};

/* What a piece of PML_TILE items works with. */
struct bench {
    int16_t *items, *anchors; /* tiles */
    int32_t dots[PML_TILE * PML_TILE];
    struct ranking rankings[PML_TILE];
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Anchors arrive in ascending order, so an equal score never overtakes. */
static void offer(struct ranking *ranking, unsigned wanted, int64_t score, uint32_t index)
{
    if (ranking->held == wanted) {
        if (score <= ranking->scores[wanted - 1])
            return;
        ranking->held--;
    }
    unsigned at = ranking->held++;
    for (; at > 0 && ranking->scores[at - 1] < score; at--) {
        ranking->scores[at] = ranking->scores[at - 1];
        ranking->neighbours[at] = ranking->neighbours[at - 1];
    }
    ranking->scores[at] = score;
    ranking->neighbours[at] = index;
}

static void rank_items(const struct pml_graph *graph, const int8_t *items, size_t count, struct bench *bench)
{
    const size_t n = graph->info.anchors, columns = graph->info.features;
    pml_tile_widen(items, count, columns, bench->items);
    for (size_t first = 0; first < n; first += PML_TILE) {
        size_t anchors = smaller(PML_TILE, n - first);
        pml_tile_widen(pml_pack_anchor(graph->pack, first), anchors, columns, bench->anchors);
        pml_tile_dots(bench->items, count, bench->anchors, anchors, columns, bench->dots);
        for (size_t i = 0; i < count; i++)
            for (size_t a = 0; a < anchors; a++)
                offer(&bench->rankings[i], graph->info.neighbours,
                      bench->dots[i * PML_TILE + a] * (int64_t)graph->inverse[first + a], (uint32_t)(first + a));
    }
}

static void place_item(const struct placing *job, size_t item, const struct ranking *ranking)
{
    const struct pml_frames *frames = job->frames;
    const struct pml_graph *graph = &frames->graph;
    const unsigned K = graph->info.neighbours, k = graph->info.dimensions;
    double weights[PML_NEIGHBOURS_MAX], place[PML_DIMENSIONS_MAX];
    const struct pml_links links = {ranking->neighbours, weights, K, K, job->slots[item]};
    for (unsigned j = 0; j < K; j++)
        weights[j] = pml_graph_feature_weight(graph, job->rows->values + item * job->rows->columns,
                                              job->rows->inverse[item], ranking->neighbours[j]);
    memcpy(place, graph->slot_codes + (size_t)job->slots[item] * k, k * sizeof *place);
    for (unsigned time = 0; time <= frames->iterations; time++)
        pml_graph_step(graph, &links, pml_frames_at(frames, frames->server, time), place, place);
    for (unsigned c = 0; c < k; c++)
        job->places[item * k + c] = (float)place[c];
}

static int place_piece(void *context, size_t piece)
{
    const struct placing *job = context;
    const size_t columns = job->rows->columns, first = piece * PML_TILE;
    const size_t count = smaller(PML_TILE, job->rows->count - first);
    struct bench *bench = calloc(1, sizeof *bench);
    if (!bench)
        return -1;
    bench->items = pml_tile_allocate(columns);
    bench->anchors = pml_tile_allocate(columns);
    int status = bench->items && bench->anchors ? 0 : -1;
    if (status == 0) {
        rank_items(&job->frames->graph, job->rows->values + first * columns, count, bench);
        for (size_t i = 0; i < count; i++)
            place_item(job, first + i, &bench->rankings[i]);
    }
    free(bench->items);
    free(bench->anchors);
    free(bench);
    return status;
}

int pml_frames_items(const struct pml_frames *frames, const struct pml_rows *rows, const uint32_t *slots,
                     unsigned threads, float *places)
{
    struct placing job = {frames, rows, slots, places};
    return pml_parallel(pml_parallel_threads(threads), (rows->count + PML_TILE - 1) / PML_TILE, place_piece, &job,
                        NULL);
}
