/* SPDX-License-Identifier: Apache-2.0
 * In: the items of a large slot. Out: their neighbours, as far as these are in clusters near their own.
 * Never compares all with all: of a million items each is compared with thousands, and few neighbours are missed. */
#include "index_lists_parts.h"
#include "kmeans.h"
#include "knn.h"

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
    uint32_t *neighbours;       /* the result */
};

/* ---- clusters ---- */

/* Centres from a sample: k-means of all rows would cost more than the search it is for. */
static int find_centres(struct near *near, unsigned threads)
{
    const struct pml_rows *rows = near->rows;
    const size_t size = near->looked_at / CLUSTERS_LOOKED_AT > 0 ? near->looked_at / CLUSTERS_LOOKED_AT : 1,
                 wanted = (rows->count + size - 1) / size, most = wanted * ROWS_A_CLUSTER;
    uint32_t *indices = malloc(rows->count * sizeof *indices);
    struct pml_rows sample = {0};
    struct pml_kmeans result = {.clusters = near->clusters};
    int status = indices ? pml_rows_allocate(&near->centres, wanted, rows->columns) : -1;
    if (status == 0)
        status = pml_rows_gather(rows, indices, pml_rows_sample(rows->count, most, 0, indices), &sample);
    if (status == 0) {
        result.centres = near->centres.values;
        status = pml_kmeans(&sample, wanted, 0, threads, NULL, &result);
    }
    if (status == 0) {
        near->centres.count = result.distinct;
        for (size_t i = 0; i < result.distinct; i++)
            pml_rows_measure(&near->centres, i);
    }
    pml_rows_free(&sample);
    free(indices);
    return status;
}

static void group(struct near *near)
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
}

/* ---- the search ---- */

static int by_number(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static size_t add_cluster(const struct near *near, uint32_t cluster, uint32_t *others, size_t count)
{
    for (uint32_t at = near->starts[cluster]; at < near->starts[cluster + 1]; at++)
        others[count++] = near->members[at];
    return count;
}

/* The rows of a cluster and of those near it, ascending; all rows where these are too few. Answers how many. */
static size_t collect(const struct near *near, uint32_t cluster, uint32_t *others)
{
    size_t count = add_cluster(near, cluster, others, 0);
    for (unsigned i = 0; i < near->near_count && (count < near->looked_at || count <= near->reach); i++)
        count = add_cluster(near, near->near[cluster * near->near_count + i], others, count);
    if (count <= near->reach) {
        for (count = 0; count < near->rows->count; count++)
            others[count] = (uint32_t)count;
    }
    qsort(others, count, sizeof *others, by_number);
    return count;
}

static int search_cluster(void *context, size_t cluster)
{
    const struct near *near = context;
    const uint32_t *own = near->members + near->starts[cluster];
    const size_t own_count = near->starts[cluster + 1] - near->starts[cluster];
    if (own_count == 0)
        return 0;
    uint32_t *others = malloc(near->rows->count * sizeof *others), *selves = malloc(own_count * sizeof *selves),
             *lists = malloc(own_count * near->reach * sizeof *lists);
    struct pml_rows queries = {0}, rows = {0};
    int status = others && selves && lists ? pml_rows_gather(near->rows, own, own_count, &queries) : -1;
    if (status == 0) {
        const size_t count = collect(near, (uint32_t)cluster, others);
        for (size_t i = 0, at = 0; i < own_count; i++, at++) {
            while (others[at] != own[i])
                at++;
            selves[i] = (uint32_t)at;
        }
        status = pml_rows_gather(near->rows, others, count, &rows);
    }
    if (status == 0)
        status = pml_knn_among(&queries, selves, &rows, near->reach, lists);
    for (size_t i = 0; i < own_count * near->reach && status == 0; i++)
        near->neighbours[own[i / near->reach] * near->reach + i % near->reach] = others[lists[i]];
    pml_rows_free(&queries);
    pml_rows_free(&rows);
    free(others);
    free(selves);
    free(lists);
    return status;
}

static int search(struct near *near, unsigned threads, const struct pml_progress *progress)
{
    const size_t clusters = near->centres.count;
    near->near_count = clusters > CLUSTERS_NEAR_MAX ? CLUSTERS_NEAR_MAX : (unsigned)clusters - 1;
    near->near = malloc((clusters * near->near_count + 1) * sizeof *near->near);
    near->starts = calloc(clusters + 1, sizeof *near->starts);
    if (!near->near || !near->starts ||
        (near->near_count > 0 && pml_knn(&near->centres, near->near_count, threads, NULL, near->near) != 0))
        return -1;
    group(near);
    return pml_parallel(threads, clusters, search_cluster, near, progress);
}

int pml_lists_near(const struct pml_rows *rows, unsigned reach, size_t looked_at, unsigned threads,
                   const struct pml_progress *progress, uint32_t *neighbours)
{
    struct near near = {.rows = rows, .reach = reach, .looked_at = looked_at, .neighbours = neighbours};
    near.clusters = malloc(rows->count * sizeof *near.clusters);
    near.members = malloc(rows->count * sizeof *near.members);
    int status = near.clusters && near.members ? find_centres(&near, threads) : -1;
    if (status == 0)
        status = pml_kmeans_assign(rows, &near.centres, threads, near.clusters);
    if (status == 0)
        status = search(&near, threads, progress);
    pml_rows_free(&near.centres);
    free(near.near);
    free(near.clusters);
    free(near.starts);
    free(near.members);
    return status;
}
