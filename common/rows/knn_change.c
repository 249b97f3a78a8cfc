/* SPDX-License-Identifier: Apache-2.0
 * Lists are carried over, new rows are compared with all rows, and then lists that may lack a row are completed. A kept row
 * that is not in a list ranks behind all kept rows that are, so a list is complete when it is full and ends no later than
 * with the last row that it kept. Nothing depends on the number of threads, because a ranking does not depend on the order
 * of offers. */
#define _POSIX_C_SOURCE 200809L
#include "knn_change.h"
#include "knn_near.h"
#include "knn_reach.h"
#include "tiles.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX /* a place of a list that is free; a row before that is gone */

/* Clusters, and what is done with them, cost as much as comparing so many rows for each cluster with all rows. */
enum { ROWS_WORTH_A_CLUSTER = 3 };

struct work {
    const struct pml_knn_change *change;
    const struct pml_rows *rows;
    unsigned reach;
    uint32_t *lists;
    uint32_t *after; /* of each row before: its place now, or NOBODY */
    bool *unsure;    /* of each row: its list may lack a row */
    uint32_t *fresh; /* the new rows, then those that are unsure: their places */
    size_t fresh_count;
    struct pml_rows fresh_rows;
    int64_t *fresh_scores; /* of their lists */
    float *fresh_limits;
    pthread_mutex_t *locks; /* of each tile of new rows */
    size_t lock_count;
};

static size_t tiles_of(size_t count)
{
    return (count + PML_TILE - 1) / PML_TILE;
}

static size_t rows_of_tile(size_t count, size_t tile)
{
    return count - tile * PML_TILE < PML_TILE ? count - tile * PML_TILE : PML_TILE;
}

static int64_t score_of(const struct pml_rows *rows, size_t row, size_t other)
{
    const int8_t *values = rows->values;
    return pml_dot(values + row * rows->columns, values + other * rows->columns, rows->columns) *
           (int64_t)rows->inverse[other];
}

/* The scores of a list, of which places at the end may be free. */
static void score_list(const struct work *work, size_t row, int64_t *scores)
{
    const uint32_t *list = work->lists + row * work->reach;
    for (unsigned r = 0; r < work->reach; r++)
        scores[r] = list[r] == NOBODY ? INT64_MIN : score_of(work->rows, row, list[r]);
}

/* ---- carrying over ---- */

/* What is left of a list goes to its front. Answers how much. */
static unsigned carry_over(const struct work *work, size_t row)
{
    const uint32_t *before = work->change->before + (size_t)work->change->was[row] * work->reach;
    uint32_t *list = work->lists + row * work->reach;
    unsigned left = 0;
    for (unsigned r = 0; r < work->reach; r++)
        if (work->after[before[r]] != NOBODY)
            list[left++] = work->after[before[r]];
    for (unsigned r = left; r < work->reach; r++)
        list[r] = NOBODY;
    return left;
}

/* Whether a list that lost rows may lack some now. */
static bool lacks(const struct work *work, size_t row)
{
    const uint32_t *before = work->change->before + (size_t)work->change->was[row] * work->reach;
    const uint32_t *list = work->lists + row * work->reach;
    unsigned left = 0;
    uint32_t last = NOBODY;
    for (unsigned r = 0; r < work->reach; r++)
        if (work->after[before[r]] != NOBODY) {
            last = work->after[before[r]];
            left++;
        }
    if (left == work->reach || left == 0)
        return left == 0;
    for (unsigned r = 0; r + 1 < work->reach; r++)
        if (list[r] == last)
            return true;
    return false; /* new rows fill the list up to the last that was kept, or beyond */
}

/* ---- new rows ---- */

/* A tile of rows, all of which one thread compares with the new ones. */
struct tile {
    const struct work *work;
    size_t first, count;
    float inverse[PML_TILE], limits[PML_TILE];
    struct pml_tile woven; /* when there are enough new rows */
    int64_t *scores;       /* of their lists, once they are needed */
    bool scored[PML_TILE];
};

static void start_tile(struct tile *tile)
{
    const struct work *work = tile->work;
    memset(tile->scored, 0, sizeof tile->scored);
    for (size_t i = 0; i < PML_TILE; i++) {
        const size_t row = tile->first + i;
        tile->inverse[i] = i < tile->count ? (float)work->rows->inverse[row] : 0.0f;
        tile->limits[i] = INFINITY;
        if (i >= tile->count || work->change->was[row] == PML_KNN_NEW)
            continue;
        const bool full = carry_over(work, row) == work->reach;
        if (work->fresh_count > 0)
            tile->limits[i] = pml_limit_of_score(
                full ? score_of(work->rows, row, work->lists[(row + 1) * work->reach - 1]) : INT64_MIN);
    }
}

static void offer_to_kept(struct tile *tile, size_t i, uint32_t other, int32_t dot)
{
    const struct work *work = tile->work;
    const struct pml_nearest nearest = {tile->scores + i * work->reach, work->lists + (tile->first + i) * work->reach,
                                        work->reach};
    if (!tile->scored[i])
        score_list(work, tile->first + i, nearest.scores);
    tile->scored[i] = true;
    if (pml_nearest_offer(&nearest, dot * (int64_t)work->rows->inverse[other], other))
        tile->limits[i] = pml_limit_of(&nearest);
}

static void offer_to_new(const struct work *work, size_t fresh, size_t other, int32_t dot)
{
    const size_t row = work->fresh[fresh];
    const struct pml_nearest nearest = {work->fresh_scores + fresh * work->reach, work->lists + row * work->reach,
                                        work->reach};
    if (row != other && pml_nearest_offer(&nearest, dot * (int64_t)work->rows->inverse[other], (uint32_t)other))
        work->fresh_limits[fresh] = pml_limit_of(&nearest);
}

/* dots[i·PML_TILE + j] is of new row first + i and row j of the tile. */
static void rank_kept(struct tile *tile, size_t first, size_t count, const int32_t *dots)
{
    const struct work *work = tile->work;
    for (size_t i = first; i < first + count; i++, dots += PML_TILE) {
        const float inverse = (float)work->fresh_rows.inverse[i];
        for (size_t at = 0; at < tile->count; at += PML_SEVERAL)
            if (pml_reaches_any(dots + at, inverse, tile->limits + at))
                for (size_t j = at; j < at + PML_SEVERAL && j < tile->count; j++)
                    if (pml_reaches(dots[j], inverse, tile->limits[j]))
                        offer_to_kept(tile, j, work->fresh[i], dots[j]);
    }
}

static void rank_new(const struct tile *tile, size_t first, size_t count, const int32_t *dots)
{
    const struct work *work = tile->work;
    const float *limits = work->fresh_limits;
    pthread_mutex_lock(&work->locks[first / PML_TILE]);
    for (size_t i = first; i < first + count; i++, dots += PML_TILE)
        for (size_t at = 0; at < tile->count; at += PML_SEVERAL)
            if (pml_any_reaches(dots + at, tile->inverse + at, limits[i]))
                for (size_t j = at; j < at + PML_SEVERAL && j < tile->count; j++)
                    if (pml_reaches(dots[j], tile->inverse[j], limits[i]))
                        offer_to_new(work, i, tile->first + j, dots[j]);
    pthread_mutex_unlock(&work->locks[first / PML_TILE]);
}

/* dots[i·PML_TILE + j] is of new row first + i and row j of the tile. */
static void multiply_tile(const struct tile *tile, size_t first, size_t count, int32_t *dots)
{
    const struct work *work = tile->work;
    const size_t columns = work->rows->columns;
    if (tile->woven.count > 0)
        pml_tile_multiply(&tile->woven, &work->fresh_rows, NULL, first, count, dots);
    else
        pml_tile_dots(work->fresh_rows.values + first * columns, count, work->rows->values + tile->first * columns,
                      tile->count, columns, dots);
}

static void change_tile(struct tile *tile)
{
    const struct work *work = tile->work;
    int32_t dots[PML_TILE * PML_TILE] = {0};
    start_tile(tile);
    if (work->fresh_count >= PML_TILE) /* or laying the tile out costs more than it brings */
        pml_tile_fill(&tile->woven, work->rows, NULL, tile->first, tile->count);
    for (size_t first = 0; first < work->fresh_count; first += PML_TILE) {
        const size_t count = rows_of_tile(work->fresh_count, first / PML_TILE);
        multiply_tile(tile, first, count, dots);
        rank_kept(tile, first, count, dots);
        rank_new(tile, first, count, dots);
    }
    for (size_t row = tile->first; row < tile->first + tile->count; row++)
        work->unsure[row] = work->change->was[row] != PML_KNN_NEW && lacks(work, row);
}

static pml_outcome change_piece(void *context, size_t piece)
{
    const struct work *work = context;
    struct tile tile = {.work = work,
                        .first = piece * PML_TILE,
                        .count = rows_of_tile(work->rows->count, piece),
                        .scores = malloc(PML_TILE * work->reach * sizeof *tile.scores)};
    const pml_outcome outcome = tile.scores ? pml_tile_allocate(&tile.woven, work->rows->columns) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        change_tile(&tile);
    pml_tile_free(&tile.woven);
    free(tile.scores);
    return outcome;
}

/* Gathers the rows whose places are in fresh. */
static pml_outcome gather(struct work *work)
{
    pml_rows_free(&work->fresh_rows);
    return pml_rows_gather(work->rows, work->fresh, work->fresh_count, &work->fresh_rows);
}

static pml_outcome start_new(struct work *work)
{
    const size_t count = work->fresh_count, tiles = tiles_of(count);
    work->fresh_scores = malloc((count * work->reach + 1) * sizeof *work->fresh_scores);
    work->fresh_limits = malloc((count + 1) * sizeof *work->fresh_limits);
    work->locks = malloc((tiles + 1) * sizeof *work->locks);
    if (!work->fresh_scores || !work->fresh_limits || !work->locks)
        return PML_NO_MEMORY;
    for (; work->lock_count < tiles; work->lock_count++)
        if (pthread_mutex_init(&work->locks[work->lock_count], NULL) != 0)
            return PML_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct pml_nearest nearest = {work->fresh_scores + i * work->reach,
                                            work->lists + (size_t)work->fresh[i] * work->reach, work->reach};
        pml_nearest_clear(&nearest);
        work->fresh_limits[i] = pml_limit_of(&nearest);
    }
    return count > 0 ? gather(work) : PML_DONE;
}

/* ---- rows that lost neighbours ---- */

/* Offers a row that may be in the list already. */
static void offer_once(const struct pml_nearest *nearest, int64_t score, uint32_t other)
{
    for (unsigned r = 0; r < nearest->length; r++)
        if (nearest->indices[r] == other)
            return;
    pml_nearest_offer(nearest, score, other);
}

/* Rows of fresh from `first` on, as a tile, and all others. */
static void complete_tile(const struct work *work, size_t first, const struct pml_tile *tile, int64_t *scores)
{
    const struct pml_rows *rows = work->rows;
    int32_t dots[PML_TILE * PML_TILE] = {0};
    float limits[PML_TILE];
    for (size_t i = 0; i < PML_TILE; i++) {
        limits[i] = INFINITY;
        if (i >= tile->count)
            continue;
        score_list(work, work->fresh[first + i], scores + i * work->reach);
        limits[i] = pml_limit_of_score(scores[(i + 1) * work->reach - 1]);
    }
    for (size_t other = 0; other < rows->count; other++) {
        if (other % PML_TILE == 0)
            pml_tile_multiply(tile, rows, NULL, other, rows_of_tile(rows->count, other / PML_TILE), dots);
        const int32_t *own = dots + other % PML_TILE * PML_TILE;
        const float inverse = (float)rows->inverse[other];
        for (size_t at = 0; at < tile->count; at += PML_SEVERAL) {
            if (!pml_reaches_any(own + at, inverse, limits + at))
                continue;
            for (size_t i = at; i < at + PML_SEVERAL && i < tile->count; i++) {
                const size_t row = work->fresh[first + i];
                const struct pml_nearest nearest = {scores + i * work->reach, work->lists + row * work->reach,
                                                    work->reach};
                if (row == other || !pml_reaches(own[i], inverse, limits[i]))
                    continue;
                offer_once(&nearest, own[i] * (int64_t)rows->inverse[other], (uint32_t)other);
                limits[i] = pml_limit_of(&nearest);
            }
        }
    }
}

static pml_outcome complete_piece(void *context, size_t piece)
{
    const struct work *work = context;
    const size_t first = piece * PML_TILE;
    struct pml_tile tile = {0};
    int64_t *scores = malloc(PML_TILE * work->reach * sizeof *scores);
    const pml_outcome outcome = scores ? pml_tile_allocate(&tile, work->rows->columns) : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        pml_tile_fill(&tile, &work->fresh_rows, NULL, first, rows_of_tile(work->fresh_count, piece));
        complete_tile(work, first, &tile, scores);
    }
    pml_tile_free(&tile);
    free(scores);
    return outcome;
}

/* The same among the rows of near clusters. */
static pml_outcome complete_near(const struct work *work)
{
    const struct pml_knn_change *change = work->change;
    const unsigned found = work->reach + 1; /* a row finds itself too */
    uint32_t *near = malloc(work->fresh_count * found * sizeof *near);
    int64_t *scores = malloc(work->reach * sizeof *scores);
    const struct pml_knn_side items = {work->rows, 0, NULL}, guests = {&work->fresh_rows, found, near};
    pml_outcome outcome =
        near && scores ? pml_knn_near(&items, &guests, change->looked_at, change->threads, NULL) : PML_NO_MEMORY;
    for (size_t i = 0; i < work->fresh_count && outcome == PML_DONE; i++) {
        const size_t row = work->fresh[i];
        const struct pml_nearest nearest = {scores, work->lists + row * work->reach, work->reach};
        score_list(work, row, scores);
        for (unsigned r = 0; r < found; r++)
            if (near[i * found + r] != row)
                offer_once(&nearest, score_of(work->rows, row, near[i * found + r]), near[i * found + r]);
    }
    free(near);
    free(scores);
    return outcome;
}

static pml_outcome complete(struct work *work)
{
    const struct pml_knn_change *change = work->change;
    work->fresh_count = 0;
    for (size_t i = 0; i < work->rows->count; i++)
        if (work->unsure[i])
            work->fresh[work->fresh_count++] = (uint32_t)i;
    if (work->fresh_count == 0)
        return PML_DONE;
    if (gather(work) != PML_DONE)
        return PML_NO_MEMORY;
    if (change->looked_at > 0 && work->reach < PML_KNN_NEAR_MAX &&
        work->fresh_count / ROWS_WORTH_A_CLUSTER > pml_knn_near_clusters(work->rows->count, change->looked_at))
        return complete_near(work);
    return pml_parallel(change->threads, tiles_of(work->fresh_count), complete_piece, work, NULL);
}

/* ---- all of it ---- */

static pml_outcome allocate(struct work *work)
{
    const struct pml_knn_change *change = work->change;
    const size_t count = work->rows->count;
    work->after = malloc((change->before_count + 1) * sizeof *work->after);
    work->unsure = malloc(count * sizeof *work->unsure);
    work->fresh = malloc(count * sizeof *work->fresh);
    if (!work->after || !work->unsure || !work->fresh)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < change->before_count; i++)
        work->after[i] = NOBODY;
    for (size_t i = 0; i < count; i++)
        if (change->was[i] == PML_KNN_NEW)
            work->fresh[work->fresh_count++] = (uint32_t)i;
        else
            work->after[change->was[i]] = (uint32_t)i;
    return PML_DONE;
}

pml_outcome pml_knn_change(const struct pml_knn_change *change, uint32_t *lists)
{
    struct work work = {.change = change, .rows = change->rows, .reach = change->reach, .lists = lists};
    pml_outcome outcome = allocate(&work);
    if (outcome == PML_DONE)
        outcome = start_new(&work);
    if (outcome == PML_DONE)
        outcome = pml_parallel(change->threads, tiles_of(work.rows->count), change_piece, &work, change->progress);
    if (outcome == PML_DONE)
        outcome = complete(&work);
    while (work.lock_count > 0)
        pthread_mutex_destroy(&work.locks[--work.lock_count]);
    pml_rows_free(&work.fresh_rows);
    free(work.locks);
    free(work.fresh_limits);
    free(work.fresh_scores);
    free(work.fresh);
    free(work.unsure);
    free(work.after);
    return outcome;
}
