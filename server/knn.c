/* SPDX-License-Identifier: Apache-2.0
 * In: quantised rows. Out: their neighbour lists, and the bandwidth these suggest.
 * Never approximates, and never depends on the number of threads: rankings do not depend on the order of offers. */
#define _POSIX_C_SOURCE 200809L
#include "knn.h"
#include "nearest.h"
#include "privatemail.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* Tile i holds rows i·PML_TILE onward. Each pair of tiles is multiplied once and ranked both ways, so several threads may
 * rank rows of one tile: a lock for each. */
struct search {
    const struct pml_rows *rows;
    unsigned neighbours;
    uint32_t *lists;
    int64_t *scores;        /* of the lists */
    float *inverse;         /* of the rows, rounded */
    float *bounds;          /* of the lists: a row whose rounded score is below does not belong into it */
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

/* A score rounded to float, as below, is wrong by less than 2^-22 of itself, and the bound leaves twice that. */
static void offer(const struct search *search, size_t row, int64_t score, size_t other)
{
    const struct pml_nearest nearest = list_of(search, row);
    if (row != other)
        pml_nearest_offer(&nearest, score, (uint32_t)other);
    const double last = (double)nearest.scores[nearest.length - 1];
    search->bounds[row] = (float)(last - fabs(last) * 0x1p-21);
}

/* Scores are looked at LOT by LOT: nearly always none of them is good enough, and floats tell that many at once. */
enum { LOT = 16 };

/* Functions of their own: inside a loop gcc unrolls these, and then does not use vectors for them. */
__attribute__((noinline)) static int any_reaches(const int32_t *dots, const float *inverse, float bound)
{
    int any = 0;
    for (size_t j = 0; j < LOT; j++)
        any |= (float)dots[j] * inverse[j] >= bound;
    return any;
}

__attribute__((noinline)) static int reaches_any(const int32_t *dots, float inverse, const float *bounds)
{
    int any = 0;
    for (size_t j = 0; j < LOT; j++)
        any |= (float)dots[j] * inverse >= bounds[j];
    return any;
}

/* Offers `count` rows from `others` on to the list of `row`; dots are theirs. */
static void offer_many(const struct search *search, size_t row, size_t others, size_t count, const int32_t *dots)
{
    const uint32_t *inverse = search->rows->inverse + others;
    for (size_t at = 0; at < count; at += LOT) {
        const size_t end = count - at < LOT ? count : at + LOT;
        if (end - at == LOT && !any_reaches(dots + at, search->inverse + others + at, search->bounds[row]))
            continue;
        for (size_t j = at; j < end; j++)
            offer(search, row, dots[j] * (int64_t)inverse[j], others + j);
    }
}

/* Offers one row, `other`, to the `count` lists from `rows` on. */
static void offer_to_many(const struct search *search, size_t rows, size_t count, size_t other, const int32_t *dots)
{
    for (size_t at = 0; at < count; at += LOT) {
        const size_t end = count - at < LOT ? count : at + LOT;
        if (end - at == LOT && !reaches_any(dots + at, search->inverse[other], search->bounds + rows + at))
            continue;
        for (size_t j = at; j < end; j++)
            offer(search, rows + j, dots[j] * (int64_t)search->rows->inverse[other], other);
    }
}

/* One tile against itself and those behind it. */
static int search_piece(void *context, size_t own)
{
    const struct search *search = context;
    const struct pml_rows *rows = search->rows;
    const size_t own_first = own * PML_TILE, own_count = rows_of_tile(search, own);
    int32_t dots[PML_TILE * PML_TILE];
    for (size_t tile = own; tile < search->tiles; tile++) {
        const size_t first = tile * PML_TILE, count = rows_of_tile(search, tile);
        pml_tile_dots(rows->values + own_first * rows->columns, own_count, rows->values + first * rows->columns, count,
                      rows->columns, dots);
        pthread_mutex_lock(&search->locks[own]);
        for (size_t i = 0; i < own_count; i++)
            offer_many(search, own_first + i, first, count, dots + i * PML_TILE);
        pthread_mutex_unlock(&search->locks[own]);
        if (tile == own)
            continue;
        pthread_mutex_lock(&search->locks[tile]);
        for (size_t i = 0; i < own_count; i++)
            offer_to_many(search, first, count, own_first + i, dots + i * PML_TILE);
        pthread_mutex_unlock(&search->locks[tile]);
    }
    return 0;
}

int pml_knn(const struct pml_rows *rows, unsigned neighbours, unsigned threads, const struct pml_progress *progress,
            uint32_t *lists)
{
    struct search search = {.rows = rows, .neighbours = neighbours, .lists = lists};
    search.tiles = (rows->count + PML_TILE - 1) / PML_TILE;
    search.scores = malloc(rows->count * neighbours * sizeof *search.scores);
    search.inverse = malloc(rows->count * sizeof *search.inverse);
    search.bounds = malloc(rows->count * sizeof *search.bounds);
    search.locks = malloc(search.tiles * sizeof *search.locks);
    int status = search.scores && search.inverse && search.bounds && search.locks ? 0 : -1;
    size_t locks = 0;
    while (status == 0 && locks < search.tiles)
        if (pthread_mutex_init(&search.locks[locks], NULL) == 0)
            locks++;
        else
            status = -1;
    for (size_t i = 0; status == 0 && i < rows->count; i++) {
        const struct pml_nearest nearest = list_of(&search, i);
        pml_nearest_clear(&nearest);
        search.inverse[i] = (float)rows->inverse[i];
        search.bounds[i] = -FLT_MAX;
    }
    if (status == 0)
        status = pml_parallel(threads, search.tiles, search_piece, &search, progress);
    while (locks > 0)
        pthread_mutex_destroy(&search.locks[--locks]);
    free(search.locks);
    free(search.bounds);
    free(search.inverse);
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
