/* SPDX-License-Identifier: Apache-2.0
 * In: quantised rows. Out: their neighbour lists, and the bandwidth these suggest.
 * Never approximates, and never depends on the number of threads: a piece ranks its own rows against all. */
#include "knn.h"
#include "privatemail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ranking {
    int64_t scores[PML_NEIGHBOURS_MAX];
    unsigned held;
};

struct search {
    const struct pml_rows *queries, *rows;
    const uint32_t *selves; /* the row that each query is; NULL: of its own number */
    unsigned neighbours;
    uint32_t *lists;
};

/* Rows arrive in ascending order, so an equal score never overtakes. */
static void rank(struct ranking *ranking, unsigned neighbours, uint32_t *list, int64_t score, uint32_t index)
{
    if (ranking->held == neighbours) {
        if (score <= ranking->scores[neighbours - 1])
            return;
        ranking->held--;
    }
    unsigned at = ranking->held++;
    for (; at > 0 && ranking->scores[at - 1] < score; at--) {
        ranking->scores[at] = ranking->scores[at - 1];
        list[at] = list[at - 1];
    }
    ranking->scores[at] = score;
    list[at] = index;
}

static void rank_tile(const struct search *search, size_t query, struct ranking *ranking, size_t first, size_t count,
                      const int32_t *dots)
{
    uint32_t *list = search->lists + query * search->neighbours;
    const size_t self = search->selves ? search->selves[query] : query;
    for (size_t i = 0; i < count; i++) {
        int64_t score = dots[i] * (int64_t)search->rows->inverse[first + i];
        if (first + i != self)
            rank(ranking, search->neighbours, list, score, (uint32_t)(first + i));
    }
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int search_piece(void *context, size_t piece)
{
    const struct search *search = context;
    const struct pml_rows *rows = search->rows;
    const size_t start = piece * PML_TILE, queries = smaller(PML_TILE, search->queries->count - start);
    int16_t *own = pml_tile_allocate(rows->columns), *others = pml_tile_allocate(rows->columns);
    int32_t *dots = malloc(PML_TILE * PML_TILE * sizeof *dots);
    struct ranking *rankings = calloc(PML_TILE, sizeof *rankings);
    int status = own && others && dots && rankings ? 0 : -1;
    if (status == 0)
        pml_tile_widen(search->queries->values + start * rows->columns, queries, rows->columns, own);
    for (size_t first = 0; status == 0 && first < rows->count; first += PML_TILE) {
        size_t count = smaller(PML_TILE, rows->count - first);
        pml_tile_widen(rows->values + first * rows->columns, count, rows->columns, others);
        pml_tile_dots(own, queries, others, count, rows->columns, dots);
        for (size_t q = 0; q < queries; q++)
            rank_tile(search, start + q, &rankings[q], first, count, dots + q * PML_TILE);
    }
    free(own);
    free(others);
    free(dots);
    free(rankings);
    return status;
}

static int search_all(struct search *search, unsigned threads, const struct pml_progress *progress)
{
    return pml_parallel(threads, (search->queries->count + PML_TILE - 1) / PML_TILE, search_piece, search, progress);
}

int pml_knn(const struct pml_rows *rows, unsigned neighbours, unsigned threads, const struct pml_progress *progress,
            uint32_t *lists)
{
    struct search search = {rows, rows, NULL, neighbours, lists};
    return search_all(&search, threads, progress);
}

int pml_knn_among(const struct pml_rows *queries, const uint32_t *selves, const struct pml_rows *rows,
                  unsigned neighbours, uint32_t *lists)
{
    struct search search = {queries, rows, selves, neighbours, lists};
    return search_all(&search, 1, NULL);
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
