/* SPDX-License-Identifier: Apache-2.0
 * The neighbours of the items of a large slot, as far as these are in clusters near their own. All are not compared with
 * all: of a million items each is compared with thousands, and few neighbours are missed. */
#include "common/rows/kmeans.h"
#include "common/rows/knn.h"
#include "common/rows/nearest.h"
#include "index_lists_parts.h"

#include <stdlib.h>

enum { CLUSTERS_LOOKED_AT = 16, ROWS_A_CLUSTER = 16, CLUSTERS_NEAR_MAX = 64 };

struct near {
    const struct pml_rows *rows;
    unsigned reach;
    size_t looked_at;
    struct pml_rows centres;
    unsigned near_count;
    uint32_t *near;             /* near_count clusters of each cluster, nearest first */
    uint32_t *clusters;         /* of each row */
    uint32_t *starts, *members; /* rows of cluster c: members[starts[c]] … members[starts[c + 1] − 1], ascending */
    struct pml_rows grouped;    /* the rows in this order */
    uint32_t *neighbours;       /* the result */
};

/* ---- clusters ---- */

/* Centres from a sample: k-means of all rows would cost more than the search it is for. */
static pml_outcome find_centres(struct near *near, unsigned threads)
{
    const struct pml_rows *rows = near->rows;
    const size_t size = near->looked_at / CLUSTERS_LOOKED_AT > 0 ? near->looked_at / CLUSTERS_LOOKED_AT : 1,
                 wanted = (rows->count + size - 1) / size, most = wanted * ROWS_A_CLUSTER;
    uint32_t *indices = malloc(rows->count * sizeof *indices);
    struct pml_rows sample = {0};
    struct pml_kmeans result = {.clusters = near->clusters};
    pml_outcome outcome = indices ? pml_rows_allocate(&near->centres, wanted, rows->columns) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_rows_gather(rows, indices, pml_rows_sample(rows->count, most, 0, indices), &sample);
    if (outcome == PML_DONE) {
        result.centres = near->centres.values;
        outcome = pml_kmeans(&sample, wanted, 0, threads, NULL, &result);
    }
    if (outcome == PML_DONE) {
        near->centres.count = result.distinct;
        for (size_t i = 0; i < result.distinct; i++)
            pml_rows_measure(&near->centres, i);
    }
    pml_rows_free(&sample);
    free(indices);
    return outcome;
}

static pml_outcome group(struct near *near)
{
    const size_t clusters = near->centres.count;
    for (size_t i = 0; i < near->rows->count; i++)
        near->starts[near->clusters[i] + 1]++;
    for (size_t c = 0; c < clusters; c++)
        near->starts[c + 1] += near->starts[c];
    for (size_t i = near->rows->count; i-- > 0;)
        near->members[--near->starts[near->clusters[i] + 1]] = (uint32_t)i;
    /* Each entry has moved down to the start of its cluster: one place too high for it. */
    for (size_t c = 0; c < clusters; c++)
        near->starts[c] = near->starts[c + 1];
    near->starts[clusters] = (uint32_t)near->rows->count;
    return pml_rows_gather(near->rows, near->members, near->rows->count, &near->grouped);
}

/* ---- the search ---- */

/* Rows of a cluster that are searched for together, and the lists of each. */
struct tile {
    const struct near *near;
    size_t first, count; /* in grouped */
    int64_t scores[PML_TILE * PML_LISTS_NEIGHBOURS];
};

static struct pml_nearest list_of(struct tile *tile, size_t row)
{
    const unsigned reach = tile->near->reach;
    return (struct pml_nearest){tile->scores + row * reach,
                                tile->near->neighbours + (size_t)tile->near->members[tile->first + row] * reach, reach};
}

/* Offers the rows first … end − 1 of grouped to the tile. */
static void look_at(struct tile *tile, size_t first, size_t end)
{
    const struct near *near = tile->near;
    const size_t columns = near->grouped.columns;
    int32_t dots[PML_TILE * PML_TILE];
    for (; first < end; first += PML_TILE) {
        const size_t count = end - first < PML_TILE ? end - first : PML_TILE;
        pml_tile_dots(near->grouped.values + tile->first * columns, tile->count, near->grouped.values + first * columns,
                      count, columns, dots);
        for (size_t i = 0; i < tile->count; i++) {
            const struct pml_nearest nearest = list_of(tile, i);
            for (size_t j = 0; j < count; j++)
                if (first + j != tile->first + i)
                    pml_nearest_offer(&nearest, dots[i * PML_TILE + j] * (int64_t)near->grouped.inverse[first + j],
                                      near->members[first + j]);
        }
    }
}

/* The clusters nearest to the tile's own, until enough rows were seen; all of them where even these are too few. */
static void search_tile(struct tile *tile, uint32_t cluster)
{
    const struct near *near = tile->near;
    const uint32_t *others = near->near + (size_t)cluster * near->near_count;
    size_t seen = near->starts[cluster + 1] - near->starts[cluster];
    for (size_t i = 0; i < tile->count; i++) {
        const struct pml_nearest nearest = list_of(tile, i);
        pml_nearest_clear(&nearest);
    }
    look_at(tile, near->starts[cluster], near->starts[cluster + 1]);
    for (unsigned i = 0; i < near->near_count && (seen < near->looked_at || seen <= near->reach); i++) {
        look_at(tile, near->starts[others[i]], near->starts[others[i] + 1]);
        seen += near->starts[others[i] + 1] - near->starts[others[i]];
    }
    if (seen <= near->reach) {
        for (size_t i = 0; i < tile->count; i++) {
            const struct pml_nearest nearest = list_of(tile, i);
            pml_nearest_clear(&nearest);
        }
        look_at(tile, 0, near->grouped.count);
    }
}

static pml_outcome search_cluster(void *context, size_t cluster)
{
    const struct near *near = context;
    struct tile tile = {.near = near};
    const size_t end = near->starts[cluster + 1];
    for (tile.first = near->starts[cluster]; tile.first < end; tile.first += PML_TILE) {
        tile.count = end - tile.first < PML_TILE ? end - tile.first : PML_TILE;
        search_tile(&tile, (uint32_t)cluster);
    }
    return PML_DONE;
}

static pml_outcome search(struct near *near, unsigned threads, const struct pml_progress *progress)
{
    const size_t clusters = near->centres.count;
    near->near_count = clusters > CLUSTERS_NEAR_MAX ? CLUSTERS_NEAR_MAX : (unsigned)clusters - 1;
    near->near = malloc((clusters * near->near_count + 1) * sizeof *near->near);
    near->starts = calloc(clusters + 1, sizeof *near->starts);
    if (!near->near || !near->starts || group(near) != 0 ||
        (near->near_count > 0 && pml_knn(&near->centres, near->near_count, threads, NULL, near->near) != 0))
        return PML_NO_MEMORY;
    return pml_parallel(threads, clusters, search_cluster, near, progress);
}

pml_outcome pml_lists_near(const struct pml_rows *rows, unsigned reach, size_t looked_at, unsigned threads,
                           const struct pml_progress *progress, uint32_t *neighbours)
{
    struct near near = {.rows = rows, .reach = reach, .looked_at = looked_at, .neighbours = neighbours};
    near.clusters = malloc(rows->count * sizeof *near.clusters);
    near.members = malloc(rows->count * sizeof *near.members);
    pml_outcome outcome = near.clusters && near.members ? find_centres(&near, threads) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_kmeans_assign(rows, &near.centres, threads, near.clusters);
    if (outcome == PML_DONE)
        outcome = search(&near, threads, progress);
    pml_rows_free(&near.centres);
    pml_rows_free(&near.grouped);
    free(near.near);
    free(near.clusters);
    free(near.starts);
    free(near.members);
    return outcome;
}
