/* SPDX-License-Identifier: Apache-2.0
 * Exact neighbour lists of rows, and the bandwidth they suggest. The result does not depend on the number of threads,
 * because a ranking does not depend on the order of offers. */
#define _POSIX_C_SOURCE 200809L
#include "knn.h"
#include "knn_reach.h"
#include "privatemail.h"
#include "tiles.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* Tile i holds rows i·PML_TILE onward. Each pair of tiles is multiplied once and ranked both ways, so several threads may
 * rank rows of one tile: a lock for each. */
struct search {
    const struct pml_rows *rows;
    unsigned neighbours;
    uint32_t *lists;
    int64_t *scores;        /* of the lists */
    float *inverse;         /* of the rows, rounded; whole tiles of them, as of the limits */
    float *limits;          /* no score below a row's belongs into its list */
    uint32_t *groups;       /* pml_largest_group of the rows */
    pthread_mutex_t *locks; /* of the tiles */
    size_t tiles;
};

static size_t rows_of_tile(const struct search *search, size_t tile)
{
    const size_t left = search->rows->count - tile * PML_TILE;
    return left < PML_TILE ? left : PML_TILE;
}

static struct pml_nearest list_of(const struct search *search, size_t row)
{
    return (struct pml_nearest){search->scores + row * search->neighbours, search->lists + row * search->neighbours,
                                search->neighbours};
}

/* ---- ranking ---- */

static void offer(const struct search *search, size_t row, size_t other, int32_t dot)
{
    const struct pml_nearest nearest = list_of(search, row);
    if (pml_nearest_offer(&nearest, dot * (int64_t)search->rows->inverse[other], (uint32_t)other))
        search->limits[row] = pml_limit_of(&nearest);
}

/* Offers the rows of tile `others` to the lists of tile `own`; dots[i·PML_TILE + j] is of their rows i and j. */
static void rank_forward(const struct search *search, size_t own, size_t others, const int32_t *dots)
{
    const size_t first = own * PML_TILE, others_first = others * PML_TILE, count = rows_of_tile(search, others);
    const float *inverse = search->inverse + others_first;
    pthread_mutex_lock(&search->locks[own]);
    for (size_t i = 0; i < rows_of_tile(search, own); i++, dots += PML_TILE)
        for (size_t at = 0; at < count; at += PML_SEVERAL)
            if (pml_any_reaches(dots + at, inverse + at, search->limits[first + i]))
                for (size_t j = at; j < at + PML_SEVERAL && j < count; j++)
                    if (pml_reaches(dots[j], inverse[j], search->limits[first + i]) && first + i != others_first + j)
                        offer(search, first + i, others_first + j, dots[j]);
    pthread_mutex_unlock(&search->locks[own]);
}

/* The other way round, with the same products. */
static void rank_back(const struct search *search, size_t own, size_t others, const int32_t *dots)
{
    const size_t first = own * PML_TILE, others_first = others * PML_TILE, count = rows_of_tile(search, others);
    const float *limits = search->limits + others_first;
    pthread_mutex_lock(&search->locks[others]);
    for (size_t i = 0; i < rows_of_tile(search, own); i++, dots += PML_TILE)
        for (size_t at = 0; at < count; at += PML_SEVERAL)
            if (pml_reaches_any(dots + at, search->inverse[first + i], limits + at))
                for (size_t j = at; j < at + PML_SEVERAL && j < count; j++)
                    if (pml_reaches(dots[j], search->inverse[first + i], limits[j]))
                        offer(search, others_first + j, first + i, dots[j]);
    pthread_mutex_unlock(&search->locks[others]);
}

/* One tile against itself and those behind it. dots[i·PML_TILE + j] is of row i of the other and row j of this one. */
static pml_outcome search_woven(const struct search *search, size_t own, const struct pml_tile *tile)
{
    int32_t dots[PML_TILE * PML_TILE] = {0};
    for (size_t other = own; other < search->tiles; other++) {
        pml_tile_multiply(tile, search->rows, NULL, other * PML_TILE, rows_of_tile(search, other), dots);
        rank_forward(search, other, own, dots);
        if (other != own)
            rank_back(search, other, own, dots);
    }
    return PML_DONE;
}

/* The same, the other way round, by the groups of values. */
static pml_outcome search_grouped(const struct search *search, size_t own)
{
    const struct pml_rows *rows = search->rows;
    const int8_t *queries = rows->values + own * PML_TILE * rows->columns;
    int32_t dots[PML_TILE * PML_TILE] = {0};
    for (size_t tile = own; tile < search->tiles; tile++) {
        pml_tile_dots_grouped(queries, search->groups + own * PML_TILE, rows_of_tile(search, own),
                              rows->values + tile * PML_TILE * rows->columns, search->groups + tile * PML_TILE,
                              rows_of_tile(search, tile), rows->columns, dots);
        rank_forward(search, own, tile, dots);
        if (tile != own)
            rank_back(search, own, tile, dots);
    }
    return PML_DONE;
}

static pml_outcome search_piece(void *context, size_t own)
{
    const struct search *search = context;
    struct pml_tile tile;
    if (!pml_tile_weaves())
        return search_grouped(search, own);
    if (pml_tile_allocate(&tile, search->rows->columns) != PML_DONE)
        return PML_NO_MEMORY;
    pml_tile_fill(&tile, search->rows, NULL, own * PML_TILE, rows_of_tile(search, own));
    const pml_outcome outcome = search_woven(search, own, &tile);
    pml_tile_free(&tile);
    return outcome;
}

static void start_lists(const struct search *search)
{
    const struct pml_rows *rows = search->rows;
    for (size_t i = 0; i < rows->count; i++) {
        const struct pml_nearest nearest = list_of(search, i);
        pml_nearest_clear(&nearest);
        search->limits[i] = pml_limit_of(&nearest);
        search->inverse[i] = (float)rows->inverse[i];
        if (!pml_tile_weaves())
            search->groups[i] = pml_largest_group(rows->values + i * rows->columns, rows->columns);
    }
}

pml_outcome pml_knn(const struct pml_rows *rows, unsigned neighbours, unsigned threads,
                    const struct pml_progress *progress, uint32_t *lists)
{
    const size_t tiles = (rows->count + PML_TILE - 1) / PML_TILE;
    struct search search = {
        .rows = rows,
        .neighbours = neighbours,
        .lists = lists,
        .scores = malloc(rows->count * neighbours * sizeof *search.scores),
        .inverse = calloc(tiles * PML_TILE, sizeof *search.inverse),
        .limits = calloc(tiles * PML_TILE, sizeof *search.limits),
        .groups = malloc(rows->count * sizeof *search.groups),
        .locks = malloc(tiles * sizeof *search.locks),
        .tiles = tiles,
    };
    const bool allocated = search.scores && search.inverse && search.limits && search.groups && search.locks;
    pml_outcome outcome = allocated ? PML_DONE : PML_NO_MEMORY;
    size_t locks = 0;
    while (outcome == PML_DONE && locks < tiles)
        if (pthread_mutex_init(&search.locks[locks], NULL) == 0)
            locks++;
        else
            outcome = PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        start_lists(&search);
        outcome = pml_parallel(threads, tiles, search_piece, &search, progress);
    }
    while (locks > 0)
        pthread_mutex_destroy(&search.locks[--locks]);
    free(search.locks);
    free(search.groups);
    free(search.limits);
    free(search.inverse);
    free(search.scores);
    return outcome;
}

/* ---- bandwidth ---- */

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

pml_outcome pml_knn_bandwidth(const struct pml_rows *rows, unsigned neighbours, const uint32_t *lists,
                              double *bandwidth)
{
    const size_t n = rows->count;
    double *distances = malloc(n * sizeof *distances);
    if (!distances)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        size_t last = lists[(i + 1) * neighbours - 1];
        double dot = pml_dot(rows->values + i * rows->columns, rows->values + last * rows->columns, rows->columns);
        /* The product is below 2^53, so equal rows have exactly cosine 1; √ and / round the same everywhere. */
        double cosine = dot / sqrt((double)((uint64_t)rows->squared[i] * rows->squared[last]));
        distances[i] = sqrt(fmax(0.0, 2.0 - 2.0 * cosine));
    }
    qsort(distances, n, sizeof *distances, by_size);
    double median = (distances[(n - 1) / 2] + distances[n / 2]) / 2.0;
    for (size_t i = n / 2; median <= 0.0 && i < n; i++)
        median = distances[i];
    free(distances);
    *bandwidth = median;
    return PML_DONE;
}
