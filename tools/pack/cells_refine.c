/* SPDX-License-Identifier: Apache-2.0
 * In: rows of one slot and its prototypes. Out: prototypes that are means of other rows. Never makes one of fewer different
 * rows than the pack promises (thin_clusters.h). */
#include "cells_refine.h"
#include "common/rows/knn.h"
#include "common/rows/knn_near.h"
#include "common/rows/nearest.h"
#include "thin_clusters.h"

#include <stdlib.h>
#include <string.h>

#define EXACT 16384u    /* rows: up to so many their neighbours are found exactly, … */
#define LOOKED_AT 8192u /* … beyond that among so many */
#define NONE UINT32_MAX

enum { CELLS = 8, NEIGHBOURS = 16, PARTS = 4096 }; /* as in SPEC 6.5 */
enum { PIECE = 8 };                                /* cells that a thread takes at once */

/* A cell near a row. */
struct place {
    uint32_t cell, prototype; /* the nearest prototype of that cell; cell NONE: there are no more */
    uint32_t part;            /* of the row's vote, in 2^-12 */
    uint32_t held;            /* weight of the row and its neighbours in the cell's list */
};

struct work {
    const struct pml_refining *refining;
    const struct pml_rows *rows;
    struct pml_rows prototypes;
    struct place *places; /* CELLS of each row, nearest first */
    unsigned reach;       /* neighbours of a row */
    uint32_t *neighbours;
    size_t wanted;              /* rows of a list */
    size_t *starts, *of_cells;  /* places of cell j: of_cells[starts[j]] … of_cells[starts[j+1] − 1] */
    size_t *first;              /* rows of prototype p: members[first[p]] … members[first[p+1] − 1] */
    uint32_t *members, *chosen; /* chosen: the prototype of each row */
};

/* 1/(r + 4), whole: of a row itself (r = 0) and of its r-th neighbour. */
static uint32_t weight_of(unsigned r)
{
    return 232792560u / (r + 4);
}

/* ---- 1: votes ---- */

static uint64_t eighth_power(uint64_t r) /* in 2^-16 */
{
    const uint64_t second = r * r >> 16, fourth = second * second >> 16;
    return fourth * fourth >> 16;
}

/* The best score and prototype of each cell. */
struct ranking {
    int64_t *scores;
    uint32_t *best;
    int32_t *dots;
};

static void place_row(const struct work *work, size_t row, const struct ranking *ranking)
{
    const struct pml_rows *rows = work->rows, *prototypes = &work->prototypes;
    const size_t cells = work->refining->cell_count;
    struct place *places = work->places + row * CELLS;
    int64_t scores[CELLS];
    uint32_t nearest_cells[CELLS];
    const struct pml_nearest nearest = {scores, nearest_cells, CELLS};
    uint64_t weights[CELLS] = {0}, first = 0, sum = 0;
    for (size_t j = 0; j < cells; j++)
        ranking->scores[j] = INT64_MIN;
    pml_dots(rows->values + row * rows->columns, prototypes->values, rows->columns, prototypes->count, ranking->dots);
    for (uint32_t p = 0; p < prototypes->count; p++) {
        const int64_t score = ranking->dots[p] * (int64_t)prototypes->inverse[p];
        const uint32_t cell = work->refining->of_prototypes[p];
        if (score > ranking->scores[cell]) {
            ranking->scores[cell] = score;
            ranking->best[cell] = p;
        }
    }
    pml_nearest_clear(&nearest);
    for (uint32_t j = 0; j < cells; j++)
        pml_nearest_offer(&nearest, ranking->scores[j], j);
    for (unsigned i = 0; i < CELLS && scores[i] > INT64_MIN; i++) {
        const uint64_t distance = pml_rows_distance(scores[i], rows->inverse[row]);
        first = i == 0 ? distance : first;
        weights[i] = eighth_power((first << 16) / distance);
        sum += weights[i];
    }
    for (unsigned i = 0; i < CELLS; i++) {
        const bool there = scores[i] > INT64_MIN;
        places[i] = (struct place){there ? nearest_cells[i] : NONE, there ? ranking->best[nearest_cells[i]] : 0,
                                   (uint32_t)(PARTS * weights[i] / sum), 0};
    }
}

static pml_outcome place_piece(void *context, size_t piece)
{
    const struct work *work = context;
    const size_t first = piece * PML_TILE, end = first + PML_TILE, cells = work->refining->cell_count;
    const struct ranking ranking = {malloc(cells * sizeof *ranking.scores), malloc(cells * sizeof *ranking.best),
                                    malloc(work->prototypes.count * sizeof *ranking.dots)};
    const bool ready = ranking.scores && ranking.best && ranking.dots;
    for (size_t row = first; ready && row < end && row < work->rows->count; row++)
        place_row(work, row, &ranking);
    free(ranking.scores);
    free(ranking.best);
    free(ranking.dots);
    return ready ? PML_DONE : PML_NO_MEMORY;
}

static void group_places(const struct work *work)
{
    const size_t places = work->rows->count * CELLS, cells = work->refining->cell_count;
    memset(work->starts, 0, (cells + 1) * sizeof *work->starts);
    for (size_t i = 0; i < places; i++)
        if (work->places[i].cell != NONE)
            work->starts[work->places[i].cell + 1]++;
    for (size_t j = 0; j < cells; j++)
        work->starts[j + 1] += work->starts[j];
    for (size_t i = 0; i < places; i++)
        if (work->places[i].cell != NONE)
            work->of_cells[work->starts[work->places[i].cell]++] = i;
    memmove(work->starts + 1, work->starts, cells * sizeof *work->starts); /* each has moved to the end of its cell */
    work->starts[0] = 0;
}

/* ---- 1 and 2: the list of one cell, and what it holds of the rows near it ---- */

struct nominee {
    uint64_t votes;
    uint32_t row;
};

static int by_votes(const void *left, const void *right) /* for qsort: most votes first */
{
    const struct nominee *a = left, *b = right;
    if (a->votes != b->votes)
        return a->votes > b->votes ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Adds up the votes of a cell. Returns for how many rows there are any. */
static size_t vote(const struct work *work, size_t cell, uint64_t *votes, struct nominee *nominees)
{
    size_t count = 0;
    for (size_t at = work->starts[cell]; at < work->starts[cell + 1]; at++) {
        const size_t row = work->of_cells[at] / CELLS;
        const uint64_t part = work->places[work->of_cells[at]].part;
        const uint32_t *neighbours = work->neighbours + row * work->reach;
        for (unsigned r = 0; part > 0 && r <= work->reach; r++) {
            const uint32_t named = r == 0 ? (uint32_t)row : neighbours[r - 1];
            if (votes[named] == 0)
                nominees[count++].row = named;
            votes[named] += part * weight_of(r);
        }
    }
    for (size_t i = 0; i < count; i++)
        nominees[i].votes = votes[nominees[i].row];
    return count;
}

/* Of all rows: votes and whether they are listed, all 0 between two cells, and room for nominees. */
struct ballot {
    uint64_t *votes;
    uint8_t *listed;
    struct nominee *nominees;
};

static void hold_cell(const struct work *work, size_t cell, const struct ballot *ballot)
{
    struct nominee *nominees = ballot->nominees;
    const size_t count = vote(work, cell, ballot->votes, nominees);
    qsort(nominees, count, sizeof *nominees, by_votes);
    for (size_t i = 0; i < count && i < work->wanted; i++)
        ballot->listed[nominees[i].row] = 1;
    for (size_t at = work->starts[cell]; at < work->starts[cell + 1]; at++) {
        const size_t row = work->of_cells[at] / CELLS;
        const uint32_t *neighbours = work->neighbours + row * work->reach;
        uint32_t held = ballot->listed[row] * weight_of(0);
        for (unsigned r = 1; r <= work->reach; r++)
            held += ballot->listed[neighbours[r - 1]] * weight_of(r);
        work->places[work->of_cells[at]].held = held;
    }
    for (size_t i = 0; i < count; i++)
        ballot->votes[nominees[i].row] = ballot->listed[nominees[i].row] = 0;
}

static pml_outcome hold_piece(void *context, size_t piece)
{
    const struct work *work = context;
    const size_t rows = work->rows->count, first = piece * PIECE, end = first + PIECE;
    const struct ballot ballot = {calloc(rows, sizeof *ballot.votes), calloc(rows, sizeof *ballot.listed),
                                  malloc(rows * sizeof *ballot.nominees)};
    const bool ready = ballot.votes && ballot.listed && ballot.nominees;
    for (size_t cell = first; ready && cell < end && cell < work->refining->cell_count; cell++)
        hold_cell(work, cell, &ballot);
    free(ballot.votes);
    free(ballot.listed);
    free(ballot.nominees);
    return ready ? PML_DONE : PML_NO_MEMORY;
}

/* ---- 2 and 3: rows choose, prototypes move ---- */

static void choose(const struct work *work)
{
    memset(work->first, 0, (work->prototypes.count + 1) * sizeof *work->first);
    for (size_t row = 0; row < work->rows->count; row++) {
        const struct place *places = work->places + row * CELLS;
        unsigned best = 0;
        for (unsigned i = 1; i < CELLS && places[i].cell != NONE; i++)
            best = places[i].held > places[best].held ? i : best;
        work->chosen[row] = places[best].prototype;
        work->first[work->chosen[row] + 1]++;
    }
    for (size_t p = 0; p < work->prototypes.count; p++)
        work->first[p + 1] += work->first[p];
    for (size_t row = 0; row < work->rows->count; row++)
        work->members[work->first[work->chosen[row]]++] = (uint32_t)row;
    memmove(work->first + 1, work->first, work->prototypes.count * sizeof *work->first);
    work->first[0] = 0;
}

static pml_outcome move_prototype(void *context, size_t prototype)
{
    struct work *work = context;
    const struct pml_refining *refining = work->refining;
    const size_t first = work->first[prototype];
    uint32_t *members = work->members + first;
    const size_t count = pml_rows_open(work->rows, refining->public_count, members, work->first[prototype + 1] - first,
                                       refining->rows_per_prototype);
    if (count == 0)
        return PML_DONE;
    const pml_outcome outcome =
        pml_rows_mean(work->rows, members, NULL, count, work->prototypes.values + prototype * work->rows->columns);
    if (outcome == PML_DONE)
        pml_rows_measure(&work->prototypes, prototype);
    return outcome == PML_NO_MEMORY ? outcome : PML_DONE; /* without a direction it stays as it was */
}

/* ---- all of it ---- */

static pml_outcome find_neighbours(struct work *work)
{
    const struct pml_rows none = {.columns = work->rows->columns};
    const struct pml_knn_side items = {work->rows, work->reach, work->neighbours}, guests = {&none, 0, NULL};
    const unsigned threads = work->refining->threads;
    if (work->rows->count <= EXACT)
        return pml_knn(work->rows, work->reach, threads, NULL, work->neighbours);
    return pml_knn_near(&items, &guests, LOOKED_AT, threads, NULL);
}

static pml_outcome refine_once(struct work *work)
{
    const unsigned threads = work->refining->threads;
    pml_outcome outcome = pml_parallel(threads, (work->rows->count + PML_TILE - 1) / PML_TILE, place_piece, work, NULL);
    if (outcome != PML_DONE)
        return outcome;
    group_places(work);
    outcome = pml_parallel(threads, (work->refining->cell_count + PIECE - 1) / PIECE, hold_piece, work, NULL);
    if (outcome != PML_DONE)
        return outcome;
    choose(work);
    return pml_parallel(threads, work->prototypes.count, move_prototype, work, NULL);
}

static pml_outcome allocate(struct work *work)
{
    const size_t rows = work->rows->count, prototypes = work->refining->prototype_count;
    work->places = malloc(rows * CELLS * sizeof *work->places);
    work->neighbours = malloc(rows * NEIGHBOURS * sizeof *work->neighbours);
    work->starts = malloc((work->refining->cell_count + 1) * sizeof *work->starts);
    work->of_cells = malloc(rows * CELLS * sizeof *work->of_cells);
    work->first = malloc((prototypes + 1) * sizeof *work->first);
    work->members = malloc(rows * sizeof *work->members);
    work->chosen = malloc(rows * sizeof *work->chosen);
    if (!work->places || !work->neighbours || !work->starts || !work->of_cells || !work->first || !work->members ||
        !work->chosen)
        return PML_NO_MEMORY;
    return pml_rows_allocate(&work->prototypes, prototypes, work->rows->columns);
}

pml_outcome pml_cells_refine(const struct pml_refining *refining)
{
    struct work work = {.refining = refining, .rows = refining->rows};
    const size_t rows = refining->rows->count, bytes = refining->prototype_count * refining->rows->columns;
    if (rows < 2 || refining->rounds == 0)
        return PML_DONE;
    work.reach = rows > NEIGHBOURS ? NEIGHBOURS : (unsigned)(rows - 1);
    work.wanted = (size_t)(refining->share * (double)rows + 0.5);
    work.wanted = work.wanted > 0 ? work.wanted : 1;
    pml_outcome outcome = allocate(&work);
    if (outcome == PML_DONE) {
        memcpy(work.prototypes.values, refining->prototypes, bytes);
        for (size_t p = 0; p < refining->prototype_count; p++)
            pml_rows_measure(&work.prototypes, p);
        outcome = find_neighbours(&work);
    }
    for (unsigned round = 0; round < refining->rounds && outcome == PML_DONE; round++)
        outcome = refine_once(&work);
    if (outcome == PML_DONE)
        memcpy(refining->prototypes, work.prototypes.values, bytes);
    pml_rows_free(&work.prototypes);
    free(work.places);
    free(work.neighbours);
    free(work.starts);
    free(work.of_cells);
    free(work.first);
    free(work.members);
    free(work.chosen);
    return outcome;
}
