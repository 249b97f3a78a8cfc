/* SPDX-License-Identifier: Apache-2.0
 * Spherical k-means. Floating point is used only to quantise a mean, and no sum has an order that threads could change. */
#include "kmeans.h"
#include "kmeans_start.h"
#include "knn_reach.h"
#include "tiles.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ITERATIONS 25

struct lloyd {
    const struct pml_rows *rows;
    struct pml_rows centres; /* as many as are distinct */
    uint32_t *clusters;      /* per row */
    int64_t *scores;         /* per row ⟨row, centre⟩·inverse norm of the centre */
    uint32_t *members;       /* rows, cluster by cluster */
    uint32_t *starts;        /* of the clusters among them */
    atomic_bool changed;
};

/* ---- rows to their nearest centre ---- */

static void assign_row(struct lloyd *lloyd, size_t row, uint32_t cluster, int64_t score)
{
    if (lloyd->clusters[row] != cluster)
        atomic_store(&lloyd->changed, true);
    lloyd->clusters[row] = cluster;
    lloyd->scores[row] = score;
}

/* The rows of a tile, which are multiplied with every centre. */
static void assign_tile(struct lloyd *lloyd, size_t start, size_t count, struct pml_tile *tile)
{
    const struct pml_rows *centres = &lloyd->centres;
    int32_t dots[PML_TILE * PML_TILE] = {0};
    float limits[PML_TILE];
    int64_t best[PML_TILE];
    uint32_t cluster[PML_TILE] = {0};
    pml_tile_fill(tile, lloyd->rows, NULL, start, count);
    for (size_t i = 0; i < PML_TILE; i++) {
        best[i] = INT64_MIN;
        limits[i] = i < count ? pml_limit_of_score(INT64_MIN) : INFINITY;
    }
    for (size_t centre = 0; centre < centres->count; centre++) {
        const size_t left = centres->count - centre;
        if (centre % PML_TILE == 0)
            pml_tile_multiply(tile, centres, NULL, centre, left < PML_TILE ? left : PML_TILE, dots);
        const int32_t *own = dots + centre % PML_TILE * PML_TILE;
        const float inverse = (float)centres->inverse[centre];
        for (size_t at = 0; at < count; at += PML_SEVERAL) {
            if (!pml_reaches_any(own + at, inverse, limits + at))
                continue;
            for (size_t i = at; i < at + PML_SEVERAL && i < count; i++) {
                const int64_t score = own[i] * (int64_t)centres->inverse[centre];
                if (score <= best[i])
                    continue;
                best[i] = score;
                cluster[i] = (uint32_t)centre;
                limits[i] = pml_limit_of_score(score);
            }
        }
    }
    for (size_t i = 0; i < count; i++)
        assign_row(lloyd, start + i, cluster[i], best[i]);
}

static pml_outcome assign_piece(void *context, size_t piece)
{
    struct lloyd *lloyd = context;
    const size_t start = piece * PML_TILE, left = lloyd->rows->count - start;
    struct pml_tile tile;
    if (pml_tile_allocate(&tile, lloyd->rows->columns) != PML_DONE)
        return PML_NO_MEMORY;
    assign_tile(lloyd, start, left < PML_TILE ? left : PML_TILE, &tile);
    pml_tile_free(&tile);
    return PML_DONE;
}

static pml_outcome assign(struct lloyd *lloyd, unsigned threads)
{
    atomic_store(&lloyd->changed, false);
    return pml_parallel(threads, (lloyd->rows->count + PML_TILE - 1) / PML_TILE, assign_piece, lloyd, NULL);
}

pml_outcome pml_kmeans_assign(const struct pml_rows *rows, const struct pml_rows *centres, unsigned threads,
                              uint32_t *clusters)
{
    struct lloyd lloyd = {.rows = rows, .centres = *centres, .clusters = clusters};
    memset(clusters, 0xFF, rows->count * sizeof *clusters);
    lloyd.scores = malloc(rows->count * sizeof *lloyd.scores);
    pml_outcome outcome = lloyd.scores ? assign(&lloyd, threads) : PML_NO_MEMORY;
    free(lloyd.scores);
    return outcome;
}

/* ---- clusters to their mean ---- */

static void count_members(struct lloyd *lloyd)
{
    memset(lloyd->starts, 0, (lloyd->centres.count + 1) * sizeof *lloyd->starts);
    for (size_t i = 0; i < lloyd->rows->count; i++)
        lloyd->starts[lloyd->clusters[i] + 1]++;
}

/* The row that fits its centre worst, of those that are not the centre and not alone; rows->count when there is none.
 * Expects counts in starts[cluster + 1]. */
static size_t farthest_row(const struct lloyd *lloyd)
{
    const struct pml_rows *rows = lloyd->rows;
    size_t farthest = rows->count;
    int64_t smallest = 0;
    for (size_t i = 0; i < rows->count; i++) {
        uint32_t cluster = lloyd->clusters[i];
        int64_t cosine = lloyd->scores[i] * rows->inverse[i];
        if (lloyd->starts[cluster + 1] < 2 || (farthest < rows->count && cosine >= smallest))
            continue;
        if (memcmp(rows->values + i * rows->columns, lloyd->centres.values + cluster * rows->columns, rows->columns) !=
            0) {
            farthest = i;
            smallest = cosine;
        }
    }
    return farthest;
}

/* Gives each empty cluster one row; leaves in starts where each cluster begins. Returns whether a row moved. */
static bool fill_empty_clusters(struct lloyd *lloyd)
{
    bool moved = false;
    count_members(lloyd);
    for (size_t cluster = 0; cluster < lloyd->centres.count; cluster++) {
        if (lloyd->starts[cluster + 1] != 0)
            continue;
        size_t row = farthest_row(lloyd);
        if (row == lloyd->rows->count)
            break;
        lloyd->starts[lloyd->clusters[row] + 1]--;
        lloyd->starts[cluster + 1] = 1;
        lloyd->clusters[row] = (uint32_t)cluster;
        moved = true;
    }
    for (size_t cluster = 0; cluster < lloyd->centres.count; cluster++)
        lloyd->starts[cluster + 1] += lloyd->starts[cluster];
    return moved;
}

static void list_members(struct lloyd *lloyd)
{
    for (size_t i = lloyd->rows->count; i-- > 0;)
        lloyd->members[--lloyd->starts[lloyd->clusters[i] + 1]] = (uint32_t)i;
    /* Each entry has moved down to the start of its cluster: one place too high for it. */
    memmove(lloyd->starts, lloyd->starts + 1, lloyd->centres.count * sizeof *lloyd->starts);
    lloyd->starts[lloyd->centres.count] = (uint32_t)lloyd->rows->count;
}

static pml_outcome move_centre(void *context, size_t cluster)
{
    struct lloyd *lloyd = context;
    size_t first = lloyd->starts[cluster], count = lloyd->starts[cluster + 1] - first;
    int8_t *centre = lloyd->centres.values + cluster * lloyd->centres.columns;
    if (count == 0)
        return PML_DONE;
    pml_outcome outcome = pml_rows_mean(lloyd->rows, lloyd->members + first, NULL, count, centre);
    if (outcome == PML_DONE)
        pml_rows_measure(&lloyd->centres, cluster);
    return outcome == PML_REFUSED ? PML_DONE : outcome; /* a mean of zero has no direction: the centre stays */
}

/* ---- the iteration ---- */

static pml_outcome iterate(struct lloyd *lloyd, unsigned threads, const struct pml_progress *progress)
{
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        if (assign(lloyd, threads) != PML_DONE)
            return PML_NO_MEMORY;
        bool moved = fill_empty_clusters(lloyd);
        if (!moved && !atomic_load(&lloyd->changed))
            return PML_DONE;
        list_members(lloyd);
        if (pml_parallel(threads, lloyd->centres.count, move_centre, lloyd, NULL) != PML_DONE)
            return PML_NO_MEMORY;
        pml_progress_tell(progress, 0.5 + 0.5 * (iteration + 1) / ITERATIONS);
    }
    return assign(lloyd, threads);
}

pml_outcome pml_kmeans(const struct pml_rows *rows, size_t clusters, uint64_t seed, unsigned threads,
                       const struct pml_progress *progress, struct pml_kmeans *result)
{
    const size_t columns = rows->columns;
    struct lloyd lloyd = {.rows = rows, .clusters = result->clusters};
    lloyd.scores = malloc(rows->count * sizeof *lloyd.scores);
    lloyd.members = malloc(rows->count * sizeof *lloyd.members);
    lloyd.starts = malloc((clusters + 1) * sizeof *lloyd.starts);
    pml_outcome outcome = lloyd.scores && lloyd.members && lloyd.starts ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_rows_allocate(&lloyd.centres, clusters, columns);
    if (outcome == PML_DONE)
        outcome = pml_kmeans_start(rows, clusters, seed, threads, progress, &lloyd.centres);
    if (outcome == PML_DONE) {
        memset(lloyd.clusters, 0xFF, rows->count * sizeof *lloyd.clusters);
        outcome = iterate(&lloyd, threads, progress);
    }
    if (outcome == PML_DONE) {
        result->distinct = lloyd.centres.count;
        for (size_t i = 0; i < clusters; i++)
            memcpy(result->centres + i * columns, lloyd.centres.values + i % result->distinct * columns, columns);
    }
    pml_rows_free(&lloyd.centres);
    free(lloyd.scores);
    free(lloyd.members);
    free(lloyd.starts);
    return outcome;
}
