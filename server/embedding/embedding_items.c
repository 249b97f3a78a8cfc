/* SPDX-License-Identifier: Apache-2.0
 * The places of gallery items (SPEC 6.2). An item does not depend on another, so pieces may run in any order. */
#include "common/rows/nearest.h"
#include "embedding_parts.h"

#include <stdlib.h>
#include <string.h>

struct placing {
    const struct pml_embedding *embedding;
    const struct pml_rows *rows;
    const uint32_t *slots;
    float *places;
};

/* What a piece of PML_TILE items works with. */
struct bench {
    int32_t dots[PML_TILE * PML_TILE];
    int64_t scores[PML_TILE * PML_NEIGHBOURS_MAX];
    uint32_t neighbours[PML_TILE * PML_NEIGHBOURS_MAX];
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The first-ranked anchors of one item. */
static struct pml_nearest list_of(struct bench *bench, size_t item, unsigned length)
{
    return (struct pml_nearest){bench->scores + item * PML_NEIGHBOURS_MAX,
                                bench->neighbours + item * PML_NEIGHBOURS_MAX, length};
}

static void rank_items(const struct pml_graph *graph, const int8_t *items, size_t count, struct bench *bench)
{
    const size_t n = graph->info.anchors, columns = graph->info.features;
    for (size_t i = 0; i < count; i++) {
        const struct pml_nearest nearest = list_of(bench, i, graph->info.neighbours);
        pml_nearest_clear(&nearest);
    }
    for (size_t first = 0; first < n; first += PML_TILE) {
        size_t anchors = smaller(PML_TILE, n - first);
        pml_tile_dots(items, count, pml_pack_anchor(graph->pack, first), anchors, columns, bench->dots);
        for (size_t i = 0; i < count; i++) {
            const struct pml_nearest nearest = list_of(bench, i, graph->info.neighbours);
            for (size_t a = 0; a < anchors; a++)
                pml_nearest_offer(&nearest, bench->dots[i * PML_TILE + a] * (int64_t)graph->inverse[first + a],
                                  (uint32_t)(first + a));
        }
    }
}

static void place_item(const struct placing *job, size_t item, const uint32_t *neighbours)
{
    const struct pml_embedding *embedding = job->embedding;
    const struct pml_graph *graph = &embedding->graph;
    const unsigned K = graph->info.neighbours, k = graph->info.dimensions;
    double weights[PML_NEIGHBOURS_MAX], place[PML_DIMENSIONS_MAX];
    const struct pml_links links = {neighbours, weights, K, K, job->slots[item]};
    for (unsigned j = 0; j < K; j++)
        weights[j] = pml_graph_feature_weight(graph, job->rows->values + item * job->rows->columns,
                                              job->rows->inverse[item], neighbours[j]);
    memcpy(place, graph->slot_codes + (size_t)job->slots[item] * k, k * sizeof *place);
    for (unsigned time = 0; time <= embedding->iterations; time++)
        pml_graph_step(graph, &links, pml_embedding_at(embedding, embedding->server, time), place, place);
    for (unsigned c = 0; c < k; c++)
        job->places[item * k + c] = (float)place[c];
}

static pml_outcome place_piece(void *context, size_t piece)
{
    const struct placing *job = context;
    const size_t columns = job->rows->columns, first = piece * PML_TILE;
    const size_t count = smaller(PML_TILE, job->rows->count - first);
    struct bench *bench = malloc(sizeof *bench);
    if (!bench)
        return PML_NO_MEMORY;
    rank_items(&job->embedding->graph, job->rows->values + first * columns, count, bench);
    for (size_t i = 0; i < count; i++)
        place_item(job, first + i, bench->neighbours + i * PML_NEIGHBOURS_MAX);
    free(bench);
    return PML_DONE;
}

pml_outcome pml_embedding_items(const struct pml_embedding *embedding, const struct pml_rows *rows,
                                const uint32_t *slots, unsigned threads, float *places)
{
    struct placing job = {embedding, rows, slots, places};
    return pml_parallel(pml_parallel_threads(threads), (rows->count + PML_TILE - 1) / PML_TILE, place_piece, &job,
                        NULL);
}
