/* SPDX-License-Identifier: Apache-2.0
 * Landmark t-SNE (van der Maaten and Hinton 2008, section 5): walks on the graph of all rows say how near landmarks are to
 * each other, t-SNE lays out the landmarks, and every other row lies in the middle of where its walks end. */
#include "map_affinity.h"
#include "map_descent.h"
#include "map_walks.h"

#include <math.h>
#include <stdlib.h>

#define DEVIATION 1e-4
#define LANDMARK_WALKS 1000u /* per landmark */
#define ROW_WALKS 64u        /* per other row */
#define PIECE 64u            /* rows */
#define ROUNDS 16
#define SOFT 1e-2 /* added to squares, so that a landmark on the way divides nothing by 0 */

struct work {
    const struct pml_map_walks *walks;
    struct pml_map_sparse *lists; /* LANDMARK_WALKS entries of room per landmark; starts[l+1]: how many it uses */
    const double *landmarks;      /* their places */
    double *places;
    size_t rows;
};

static int by_number(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* Shares of the other landmarks among the ends of a landmark's walks. */
static pml_outcome walk_landmark(void *context, size_t landmark)
{
    const struct work *work = context;
    uint32_t ends[LANDMARK_WALKS], *kept = work->lists->ends + landmark * LANDMARK_WALKS;
    float *values = work->lists->values + landmark * LANDMARK_WALKS;
    size_t count = 0, others = 0;
    pml_map_walks_take(work->walks, work->walks->landmarks[landmark], LANDMARK_WALKS, ends);
    qsort(ends, LANDMARK_WALKS, sizeof *ends, by_number);
    for (size_t i = 0; i < LANDMARK_WALKS; i++) {
        if (ends[i] == landmark)
            continue;
        if (count == 0 || kept[count - 1] != ends[i]) {
            kept[count] = ends[i];
            values[count++] = 0.0f;
        }
        values[count - 1] += 1.0f;
        others++;
    }
    for (size_t i = 0; i < count; i++)
        values[i] /= (float)others;
    work->lists->starts[landmark + 1] = count;
    return PML_DONE;
}

static pml_outcome find_joint(const struct pml_map_walks *walks, unsigned threads, const struct pml_progress *progress,
                              struct pml_map_sparse *joint)
{
    struct pml_map_sparse lists = {0};
    struct work work = {.walks = walks, .lists = &lists};
    pml_outcome outcome = pml_map_sparse_allocate(&lists, walks->count, walks->count * LANDMARK_WALKS);
    if (outcome == PML_DONE)
        outcome = pml_parallel(threads, walks->count, walk_landmark, &work, progress);
    for (size_t l = 0, at = 0; outcome == PML_DONE && l < walks->count; l++) {
        const size_t count = lists.starts[l + 1];
        for (size_t e = 0; e < count; e++, at++) {
            lists.ends[at] = lists.ends[l * LANDMARK_WALKS + e];
            lists.values[at] = lists.values[l * LANDMARK_WALKS + e];
        }
        lists.starts[l + 1] = at;
    }
    if (outcome == PML_DONE)
        outcome = pml_map_symmetric(&lists, false, joint);
    if (outcome == PML_DONE)
        pml_map_normalise(joint);
    pml_map_sparse_free(&lists);
    return outcome;
}

/* The point of least summed distance to the ends of a row's walks (Weiszfeld 1937). Walks may end on two islands: their
 * mean would lie in the sea between, but the median lies on the one where most of them end. */
static void find_median(const double *landmarks, const uint32_t *ends, double *place)
{
    place[0] = place[1] = 0.0;
    for (size_t e = 0; e < ROW_WALKS; e++)
        for (size_t axis = 0; axis < 2; axis++)
            place[axis] += landmarks[2 * (size_t)ends[e] + axis] / ROW_WALKS;
    for (int round = 0; round < ROUNDS; round++) {
        double sums[3] = {0.0, 0.0, 0.0};
        for (size_t e = 0; e < ROW_WALKS; e++) {
            const double *end = landmarks + 2 * (size_t)ends[e], dx = end[0] - place[0], dy = end[1] - place[1];
            const double weight = 1.0 / sqrt(dx * dx + dy * dy + SOFT);
            sums[0] += weight * end[0];
            sums[1] += weight * end[1];
            sums[2] += weight;
        }
        place[0] = sums[0] / sums[2];
        place[1] = sums[1] / sums[2];
    }
}

static pml_outcome place_piece(void *context, size_t piece)
{
    const struct work *work = context;
    const size_t end = (piece + 1) * PIECE < work->rows ? (piece + 1) * PIECE : work->rows;
    uint32_t ends[ROW_WALKS];
    for (size_t i = piece * PIECE; i < end; i++) {
        const uint32_t number = work->walks->number[i];
        if (number == UINT32_MAX) {
            pml_map_walks_take(work->walks, i, ROW_WALKS, ends);
            find_median(work->landmarks, ends, work->places + 2 * i);
        } else {
            work->places[2 * i] = work->landmarks[2 * (size_t)number];
            work->places[2 * i + 1] = work->landmarks[2 * (size_t)number + 1];
        }
    }
    return PML_DONE;
}

static size_t count_landmarks(size_t rows)
{
    const size_t tenth = rows / 10;
    return tenth < 100 ? 100 : tenth > 20000 ? 20000 : tenth;
}

static pml_outcome lay_out(const struct pml_map_job *job, const struct pml_map_walks *walks)
{
    const struct pml_map_options *options = job->options;
    struct pml_map_sparse joint = {0};
    struct pml_rows rows = {0};
    struct pml_progress told;
    double *places = calloc(2 * walks->count, sizeof *places);
    const struct pml_map_job inner = {&rows, options, places, job->result, NULL};
    pml_outcome outcome = places ? pml_rows_gather(job->rows, walks->landmarks, walks->count, &rows) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = find_joint(walks, options->threads, pml_map_stage(options, "walks", &told), &joint);
    if (outcome == PML_DONE)
        outcome = pml_map_start(&inner, DEVIATION);
    if (outcome == PML_DONE)
        outcome = pml_map_descend(&joint, options, places, &job->result->cost);
    if (outcome == PML_DONE) {
        struct work work = {.walks = walks, .landmarks = places, .places = job->places, .rows = job->rows->count};
        outcome = pml_parallel(options->threads, (work.rows + PIECE - 1) / PIECE, place_piece, &work,
                               pml_map_stage(options, "placing the others", &told));
    }
    pml_map_sparse_free(&joint);
    pml_rows_free(&rows);
    free(places);
    return outcome;
}

pml_outcome pml_map_landmark(const struct pml_map_job *job, struct pml_message *message)
{
    const struct pml_map_options *options = job->options;
    const size_t n = job->rows->count, landmarks = options->landmarks > 0 ? options->landmarks : count_landmarks(n);
    struct pml_map_walks walks;
    struct pml_progress told;
    (void)message;
    pml_outcome outcome =
        pml_map_walks_make(&walks, job->rows, options->neighbours, landmarks < n ? landmarks : n, options->seed,
                           options->threads, pml_map_stage(options, "neighbours", &told));
    job->result->landmarks = walks.count;
    if (outcome == PML_DONE)
        outcome = lay_out(job, &walks);
    pml_map_walks_free(&walks);
    return outcome;
}
