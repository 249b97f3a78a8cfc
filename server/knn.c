/* SPDX-License-Identifier: Apache-2.0
 * In: quantised rows. Out: their neighbour lists, and the bandwidth these suggest.
 * Never approximates, and never depends on the number of threads: rankings do not depend on the order of offers. */
#define _POSIX_C_SOURCE 200809L
#include "knn.h"
#include "nearest.h"
#include "privatemail.h"

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

/* Offers the rows of tile `others` to the lists of tile `own`. dots[i·own_step + j·other_step] is of row i of `own` and
 * row j of `others`. */
static void rank_tile(const struct search *search, size_t own, size_t others, const int32_t *dots, size_t own_step,
                      size_t other_step)
{
    const size_t own_first = own * PML_TILE, others_first = others * PML_TILE, count = rows_of_tile(search, others);
    const uint32_t *inverse = search->rows->inverse + others_first;
    const bool same = own == others;
    pthread_mutex_lock(&search->locks[own]);
    for (size_t i = 0; i < rows_of_tile(search, own); i++) {
        const struct pml_nearest nearest = list_of(search, own_first + i);
        const int32_t *dot = dots + i * own_step;
        for (size_t j = 0; j < count; j++)
            if (!same || i != j)
                pml_nearest_offer(&nearest, dot[j * other_step] * (int64_t)inverse[j], (uint32_t)(others_first + j));
    }
    pthread_mutex_unlock(&search->locks[own]);
}

/* One tile against itself and those behind it. */
static int search_piece(void *context, size_t own)
{
    const struct search *search = context;
    const struct pml_rows *rows = search->rows;
    const int8_t *queries = rows->values + own * PML_TILE * rows->columns;
    int32_t dots[PML_TILE * PML_TILE];
    for (size_t tile = own; tile < search->tiles; tile++) {
        pml_tile_dots(queries, rows_of_tile(search, own), rows->values + tile * PML_TILE * rows->columns,
                      rows_of_tile(search, tile), rows->columns, dots);
        rank_tile(search, own, tile, dots, PML_TILE, 1);
        if (tile != own)
            rank_tile(search, tile, own, dots, 1, PML_TILE);
    }
    return 0;
}

int pml_knn(const struct pml_rows *rows, unsigned neighbours, unsigned threads, const struct pml_progress *progress,
            uint32_t *lists)
{
    struct search search = {.rows = rows, .neighbours = neighbours, .lists = lists};
    search.tiles = (rows->count + PML_TILE - 1) / PML_TILE;
    search.scores = malloc(rows->count * neighbours * sizeof *search.scores);
    search.locks = malloc(search.tiles * sizeof *search.locks);
    int status = search.scores && search.locks ? 0 : -1;
    size_t locks = 0;
    while (status == 0 && locks < search.tiles)
        if (pthread_mutex_init(&search.locks[locks], NULL) == 0)
            locks++;
        else
            status = -1;
    for (size_t i = 0; status == 0 && i < rows->count; i++) {
        const struct pml_nearest nearest = list_of(&search, i);
        pml_nearest_clear(&nearest);
    }
    if (status == 0)
        status = pml_parallel(threads, search.tiles, search_piece, &search, progress);
    while (locks > 0)
        pthread_mutex_destroy(&search.locks[--locks]);
    free(search.locks);
    free(search.scores);
    return status;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

double pml_knn_bandwidth(const struct pml_rows *rows, unsigned neighbours, const uint32_t *lists)
{
    const size_t n = rows->count;
    double *distances = malloc(n * sizeof *distances);
    if (!distances)
        return -1.0;
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
    return median;
}
