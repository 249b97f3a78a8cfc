/* SPDX-License-Identifier: Apache-2.0
 * Chooses the number of prototypes per cell. No row is scored that the prototypes were made from. */
#include "cells_choice.h"
#include "cells.h"
#include "common/generator.h"
#include "common/rows/kmeans.h"
#include "common/rows/knn.h"
#include "privatemail.h"

#include <stdlib.h>

#define GAIN_LEAST 0.005
#define SAMPLE 8192u     /* rows of a slot, at most */
#define EMPTY_ONE_IN 12u /* cells */
#define CANDIDATES 3

static const unsigned candidates[CANDIDATES] = {1, 4, 16};

struct slot_score {
    double sums[CANDIDATES]; /* over the held-out rows */
    bool filled[CANDIDATES];
    size_t held_out;
};

struct trial {
    const struct pml_cell_choice *choice;
    struct slot_score *scores; /* of each slot */
    size_t tried;              /* candidates that are not too large */
};

/* Two halves of a slot's rows, with the nearest of each row in its own half. */
struct sample {
    struct pml_rows training, held_out;
    uint32_t *training_lists, *held_out_lists;
    uint32_t *cells; /* scratch, one per row of either half */
    size_t rows_per_prototype;
    uint64_t seed;
    unsigned threads;
};

double pml_cells_score(const uint32_t *cells, const uint32_t *lists, size_t rows, uint32_t *sizes)
{
    uint64_t together = 0, chance = 0;
    for (size_t i = 0; i < rows; i++)
        sizes[cells[i]]++;
    for (size_t i = 0; i < rows; i++, lists += PML_CELL_NEIGHBOURS) {
        chance += sizes[cells[i]];
        for (size_t k = 0; k < PML_CELL_NEIGHBOURS; k++)
            together += cells[lists[k]] == cells[i];
    }
    return (double)together / PML_CELL_NEIGHBOURS - (double)chance / (double)rows;
}

static pml_outcome try_one(const struct sample *sample, size_t cells, size_t prototypes, double *score, bool *filled)
{
    const struct pml_cell_plan plan = {
        .cells = cells,
        .prototypes = prototypes,
        .rows_per_prototype = sample->rows_per_prototype,
        .seed = sample->seed,
        .threads = sample->threads,
        .lists = sample->training_lists,
        .list_length = PML_CELL_NEIGHBOURS,
    };
    struct pml_rows centres = {0};
    uint32_t *sizes = calloc(cells, sizeof *sizes), *of_prototypes = malloc(prototypes * sizeof *of_prototypes);
    pml_outcome outcome =
        sizes && of_prototypes ? pml_rows_allocate(&centres, prototypes, sample->training.columns) : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        struct pml_cells built = {
            .prototypes = centres.values, .of_prototypes = of_prototypes, .of_rows = sample->cells};
        outcome = pml_cells_build(&sample->training, &plan, &built);
        *filled = built.distinct > prototypes / 4; /* more than the candidate before can have */
    }
    for (size_t i = 0; outcome == PML_DONE && i < prototypes; i++)
        pml_rows_measure(&centres, i);
    if (outcome == PML_DONE)
        outcome = pml_kmeans_assign(&sample->held_out, &centres, sample->threads, sample->cells);
    if (outcome == PML_DONE) {
        for (size_t i = 0; i < sample->held_out.count; i++)
            sample->cells[i] = of_prototypes[sample->cells[i]];
        *score = pml_cells_score(sample->cells, sample->held_out_lists, sample->held_out.count, sizes);
    }
    pml_rows_free(&centres);
    free(sizes);
    free(of_prototypes);
    return outcome;
}

static pml_outcome find_lists(const struct pml_rows *rows, unsigned threads, uint32_t **lists)
{
    *lists = malloc(rows->count * PML_CELL_NEIGHBOURS * sizeof **lists);
    return *lists ? pml_knn(rows, PML_CELL_NEIGHBOURS, threads, NULL, *lists) : PML_NO_MEMORY;
}

/* Of each two rows that follow one another, a coin sends one to either half. */
static pml_outcome draw_sample(const struct pml_rows *rows, struct sample *sample)
{
    struct pml_generator generator = {sample->seed};
    uint32_t *indices = malloc(rows->count * sizeof *indices), *others = malloc(rows->count * sizeof *others);
    sample->cells = malloc(rows->count * sizeof *sample->cells);
    pml_outcome outcome = indices && others && sample->cells ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        const size_t half = pml_rows_sample(rows->count, SAMPLE, sample->seed, indices) / 2;
        for (size_t i = 0; i < half; i++) {
            const size_t coin = pml_generator_next(&generator) & 1;
            const uint32_t trained = indices[2 * i + coin];
            others[i] = indices[2 * i + 1 - coin];
            indices[i] = trained;
        }
        if (pml_rows_gather(rows, indices, half, &sample->training) != PML_DONE ||
            pml_rows_gather(rows, others, half, &sample->held_out) != PML_DONE ||
            find_lists(&sample->training, sample->threads, &sample->training_lists) != PML_DONE ||
            find_lists(&sample->held_out, sample->threads, &sample->held_out_lists) != PML_DONE)
            outcome = PML_NO_MEMORY;
    }
    free(indices);
    free(others);
    return outcome;
}

static pml_outcome try_slot(void *context, size_t slot)
{
    const struct trial *trial = context;
    const struct pml_cell_choice *choice = trial->choice;
    struct slot_score *score = &trial->scores[slot];
    const size_t first = choice->starts[slot];
    const struct pml_rows rows = pml_rows_slice(choice->rows, first, choice->starts[slot + 1] - first);
    struct pml_generator generator = pml_generator_start(choice->seed, PML_STREAM_CELLS + slot);
    struct sample sample = {.rows_per_prototype = (choice->rows_per_prototype + 1) / 2, /* of half of the rows */
                            .seed = pml_generator_next(&generator),
                            .threads = choice->slots == 1 ? choice->threads : 1};
    pml_outcome outcome = draw_sample(&rows, &sample);
    score->held_out = sample.held_out.count;
    for (size_t c = 0; outcome == PML_DONE && c < trial->tried; c++)
        outcome = try_one(&sample, choice->cells, choice->cells * candidates[c], &score->sums[c], &score->filled[c]);
    pml_rows_free(&sample.training);
    pml_rows_free(&sample.held_out);
    free(sample.training_lists);
    free(sample.held_out_lists);
    free(sample.cells);
    return outcome;
}

static bool fits(const struct pml_cell_choice *choice, unsigned candidate)
{
    const uint64_t prototypes = (uint64_t)choice->cells * candidate;
    return prototypes <= PML_JOINED_MAX && prototypes * choice->slots <= PML_PROTOTYPES_MAX;
}

static bool possible(const struct pml_cell_choice *choice, unsigned candidate)
{
    const uint64_t prototypes = (uint64_t)choice->cells * candidate;
    if (!fits(choice, candidate))
        return false;
    for (size_t s = 0; s < choice->slots; s++) {
        const uint32_t half = (choice->starts[s + 1] - choice->starts[s]) / 2;
        if (half < prototypes || half <= PML_CELL_NEIGHBOURS)
            return false;
    }
    return true;
}

static unsigned best_of(const struct trial *trial)
{
    size_t best = 0;
    for (size_t c = 1; c < trial->tried; c++) {
        double gain = 0.0;
        bool filled = true;
        for (size_t s = 0; s < trial->choice->slots; s++) {
            const struct slot_score *score = &trial->scores[s];
            gain += score->sums[c] - score->sums[best] - GAIN_LEAST * (double)score->held_out;
            filled = filled && score->filled[c];
        }
        best = filled && gain > 0.0 ? c : best;
    }
    return candidates[best];
}

pml_outcome pml_cells_choose(const struct pml_cell_choice *choice, unsigned *best)
{
    struct trial trial = {.choice = choice, .tried = 1};
    *best = candidates[0];
    while (trial.tried < CANDIDATES && possible(choice, candidates[trial.tried]))
        trial.tried++;
    if (trial.tried == 1)
        return PML_DONE;
    trial.scores = calloc(choice->slots, sizeof *trial.scores);
    pml_outcome outcome =
        trial.scores ? pml_parallel(choice->threads, choice->slots, try_slot, &trial, choice->progress) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        *best = best_of(&trial);
    free(trial.scores);
    return outcome;
}

bool pml_cells_need_two(const struct pml_cell_choice *choice, const size_t *distinct)
{
    const size_t cells = choice->cells;
    size_t empty = 0;
    for (size_t s = 0; s < choice->slots; s++) {
        if (choice->starts[s + 1] - choice->starts[s] < 2 * cells * choice->rows_per_prototype)
            return false;
        empty += distinct[s] < cells ? cells - distinct[s] : 0;
    }
    return fits(choice, 2) && empty * EMPTY_ONE_IN > cells * choice->slots;
}
