/* SPDX-License-Identifier: Apache-2.0
 * Neighbours of items and of guests in clusters near their own. */
#include "knn_near.h"
#include "kmeans.h"
#include "knn.h"
#include "nearest.h"

#include <stdbool.h>
#include <stdlib.h>

enum { CLUSTERS_LOOKED_AT = 16, ROWS_A_CLUSTER = 16, CLUSTERS_NEAR_MAX = 64 };

/* Rows by their clusters: the items, or the guests. */
struct flock {
    const struct pml_rows *rows;
    uint32_t *clusters;         /* of each row */
    uint32_t *starts, *members; /* rows of cluster c: members[starts[c]] … members[starts[c + 1] − 1], ascending */
    struct pml_rows grouped;    /* the rows in this order */
    unsigned reach;
    uint32_t *neighbours; /* the result: `reach` items of each row */
};

struct near {
    size_t looked_at, cluster_count;
    struct pml_rows centres;
    unsigned near_count;
    uint32_t *near; /* near_count clusters of each cluster, nearest first */
    struct flock items, guests;
};

/* ---- clusters ---- */

/* Centres from a sample: k-means of all rows would cost more than the search it is for. */
static pml_outcome find_centres(struct near *near, unsigned threads)
{
    const struct pml_rows *rows = near->items.rows;
    const size_t size = near->looked_at / CLUSTERS_LOOKED_AT > 0 ? near->looked_at / CLUSTERS_LOOKED_AT : 1,
                 wanted = (rows->count + size - 1) / size, most = wanted * ROWS_A_CLUSTER;
    uint32_t *indices = malloc(rows->count * sizeof *indices);
    struct pml_rows sample = {0};
    struct pml_kmeans result = {.clusters = near->items.clusters};
    pml_outcome outcome = indices ? pml_rows_allocate(&near->centres, wanted, rows->columns) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_rows_gather(rows, indices, pml_rows_sample(rows->count, most, 0, indices), &sample);
    if (outcome == PML_DONE) {
        result.centres = near->centres.values;
        outcome = pml_kmeans(&sample, wanted, 0, threads, NULL, &result);
    }
    if (outcome == PML_DONE) {
        near->centres.count = near->cluster_count = result.distinct;
        for (size_t i = 0; i < result.distinct; i++)
            pml_rows_measure(&near->centres, i);
    }
    pml_rows_free(&sample);
    free(indices);
    return outcome;
}

static pml_outcome find_near_clusters(struct near *near, unsigned threads)
{
    const size_t clusters = near->cluster_count;
    near->near_count = clusters > CLUSTERS_NEAR_MAX ? CLUSTERS_NEAR_MAX : (unsigned)clusters - 1;
    near->near = malloc((clusters * near->near_count + 1) * sizeof *near->near);
    if (!near->near)
        return PML_NO_MEMORY;
    return near->near_count > 0 ? pml_knn(&near->centres, near->near_count, threads, NULL, near->near) : PML_DONE;
}

static pml_outcome group(struct flock *flock, size_t clusters)
{
    const size_t count = flock->rows->count;
    flock->starts = calloc(clusters + 1, sizeof *flock->starts);
    if (!flock->starts)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        flock->starts[flock->clusters[i] + 1]++;
    for (size_t c = 0; c < clusters; c++)
        flock->starts[c + 1] += flock->starts[c];
    for (size_t i = count; i-- > 0;)
        flock->members[--flock->starts[flock->clusters[i] + 1]] = (uint32_t)i;
    /* Each entry has moved down to the start of its cluster: one place too high for it. */
    for (size_t c = 0; c < clusters; c++)
        flock->starts[c] = flock->starts[c + 1];
    flock->starts[clusters] = (uint32_t)count;
    return pml_rows_gather(flock->rows, flock->members, count, &flock->grouped);
}

/* ---- the search ---- */

/* Rows of a cluster that are searched for together, and the lists of each. */
struct tile {
    const struct near *near;
    const struct flock *flock;
    size_t first, count; /* in grouped */
    int64_t scores[PML_TILE * PML_KNN_NEAR_MAX];
};

static struct pml_nearest list_of(struct tile *tile, size_t row)
{
    const struct flock *flock = tile->flock;
    return (struct pml_nearest){tile->scores + row * flock->reach,
                                flock->neighbours + (size_t)flock->members[tile->first + row] * flock->reach,
                                flock->reach};
}

static void clear(struct tile *tile)
{
    for (size_t i = 0; i < tile->count; i++) {
        const struct pml_nearest nearest = list_of(tile, i);
        pml_nearest_clear(&nearest);
    }
}

/* Offers the items first … end − 1 of grouped to the tile. */
static void look_at(struct tile *tile, size_t first, size_t end)
{
    const struct flock *items = &tile->near->items;
    const bool themselves = tile->flock == items;
    const size_t columns = items->grouped.columns;
    int32_t dots[PML_TILE * PML_TILE];
    for (; first < end; first += PML_TILE) {
        const size_t count = end - first < PML_TILE ? end - first : PML_TILE;
        pml_tile_dots(tile->flock->grouped.values + tile->first * columns, tile->count,
                      items->grouped.values + first * columns, count, columns, dots);
        for (size_t i = 0; i < tile->count; i++) {
            const struct pml_nearest nearest = list_of(tile, i);
            for (size_t j = 0; j < count; j++)
                if (!themselves || first + j != tile->first + i)
                    pml_nearest_offer(&nearest, dots[i * PML_TILE + j] * (int64_t)items->grouped.inverse[first + j],
                                      items->members[first + j]);
        }
    }
}

/* The clusters nearest to the tile's own, until enough items were seen; all of them where even these are too few. */
static void search_tile(struct tile *tile, uint32_t cluster)
{
    const struct near *near = tile->near;
    const uint32_t *others = near->near + (size_t)cluster * near->near_count, *starts = near->items.starts;
    size_t seen = starts[cluster + 1] - starts[cluster];
    clear(tile);
    look_at(tile, starts[cluster], starts[cluster + 1]);
    for (unsigned i = 0; i < near->near_count && (seen < near->looked_at || seen <= tile->flock->reach); i++) {
        look_at(tile, starts[others[i]], starts[others[i] + 1]);
        seen += starts[others[i] + 1] - starts[others[i]];
    }
    if (seen <= tile->flock->reach && near->cluster_count > 1) {
        clear(tile);
        look_at(tile, 0, near->items.grouped.count);
    }
}

struct search {
    const struct near *near;
    const struct flock *flock;
};

/* A piece of the grouped rows, cluster by cluster. */
static pml_outcome search_piece(void *context, size_t piece)
{
    const struct search *search = context;
    const struct flock *flock = search->flock;
    struct tile tile = {.near = search->near, .flock = flock, .first = piece * PML_TILE};
    const size_t end = tile.first + PML_TILE < flock->rows->count ? tile.first + PML_TILE : flock->rows->count;
    for (; tile.first < end; tile.first += tile.count) {
        const uint32_t cluster = flock->clusters[flock->members[tile.first]];
        const size_t last = flock->starts[cluster + 1] < end ? flock->starts[cluster + 1] : end;
        tile.count = last - tile.first;
        search_tile(&tile, cluster);
    }
    return PML_DONE;
}

static pml_outcome search_for(const struct near *near, const struct flock *flock, unsigned threads,
                              const struct pml_progress *progress)
{
    struct search search = {near, flock};
    if (flock->reach == 0 || flock->rows->count == 0)
        return PML_DONE;
    return pml_parallel(threads, (flock->rows->count + PML_TILE - 1) / PML_TILE, search_piece, &search, progress);
}

/* ---- all of it ---- */

static struct flock flock_of(const struct pml_knn_side *side)
{
    return (struct flock){.rows = side->rows,
                          .clusters = calloc(side->rows->count + 1, sizeof(uint32_t)),
                          .members = malloc((side->rows->count + 1) * sizeof(uint32_t)),
                          .reach = side->reach,
                          .neighbours = side->lists};
}

static void free_flock(struct flock *flock)
{
    pml_rows_free(&flock->grouped);
    free(flock->clusters);
    free(flock->starts);
    free(flock->members);
}

/* Both with all in one cluster, or by clusters. */
static pml_outcome search_all(struct near *near, bool clustered, unsigned threads, const struct pml_progress *progress)
{
    pml_outcome outcome = near->items.clusters && near->items.members && near->guests.clusters && near->guests.members
                              ? PML_DONE
                              : PML_NO_MEMORY;
    near->cluster_count = 1;
    if (outcome == PML_DONE && clustered)
        outcome = find_centres(near, threads);
    if (outcome == PML_DONE && clustered)
        outcome = pml_kmeans_assign(near->items.rows, &near->centres, threads, near->items.clusters);
    if (outcome == PML_DONE && clustered && near->guests.rows->count > 0)
        outcome = pml_kmeans_assign(near->guests.rows, &near->centres, threads, near->guests.clusters);
    if (outcome == PML_DONE)
        outcome = find_near_clusters(near, threads);
    if (outcome == PML_DONE)
        outcome = group(&near->items, near->cluster_count);
    if (outcome == PML_DONE)
        outcome = group(&near->guests, near->cluster_count);
    if (outcome == PML_DONE && clustered)
        outcome = search_for(near, &near->items, threads, progress);
    if (outcome == PML_DONE)
        outcome = search_for(near, &near->guests, threads, NULL);
    pml_rows_free(&near->centres);
    free(near->near);
    free_flock(&near->items);
    free_flock(&near->guests);
    return outcome;
}

pml_outcome pml_knn_near(const struct pml_knn_side *items, const struct pml_knn_side *guests, size_t looked_at,
                         unsigned threads, const struct pml_progress *progress)
{
    struct near near = {.looked_at = looked_at, .items = flock_of(items), .guests = flock_of(guests)};
    return search_all(&near, looked_at > 0, threads, progress);
}
