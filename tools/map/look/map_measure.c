/* SPDX-License-Identifier: Apache-2.0
 * How good a map is: whether neighbours stay neighbours, and distances distances. */
#include "map_measure.h"
#include "map_measure_labels.h"
#include "tools/map/map_graph.h"
#include "tools/map/map_methods.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALL 5000u  /* rows that are all looked at */
#define SOME 2000u /* of more */

struct ranking {
    const struct pml_rows *rows;
    const float *places;
    const uint32_t *sample;
    unsigned near; /* neighbours */
    double *parts; /* per sampled row: intruders, extruders, Σδ, Σd, Σd²/δ */
};
enum { INTRUDERS, EXTRUDERS, LENGTH, MAPPED, FITTED, PARTS };

/* The `near` nearest by these squares, except the row itself. Ties go to the smaller index. */
static void find_near(const double *squares, size_t count, size_t row, unsigned near, uint32_t *found)
{
    unsigned held = 0;
    for (size_t j = 0; j < count; j++) {
        if (j == row || (held == near && !(squares[j] < squares[found[near - 1]])))
            continue;
        unsigned at = held < near ? held++ : near - 1;
        for (; at > 0 && squares[j] < squares[found[at - 1]]; at--)
            found[at] = found[at - 1];
        found[at] = (uint32_t)j;
    }
}

/* By how many ranks those found in one space lie beyond the nearest of the other. */
static double rank_beyond(const double *squares, size_t count, size_t row, unsigned near, const uint32_t *found)
{
    double beyond = 0.0;
    for (unsigned f = 0; f < near; f++) {
        const double own = squares[found[f]];
        size_t before = 0;
        for (size_t j = 0; j < count; j++)
            before += squares[j] < own || (!(squares[j] > own) && j < found[f]);
        before -= squares[row] < own || (!(squares[row] > own) && row < found[f]); /* the row itself has no rank */
        beyond += before + 1 > near ? (double)(before + 1 - near) : 0.0;
    }
    return beyond;
}

static pml_outcome rank_row(void *context, size_t index)
{
    const struct ranking *ranking = context;
    const size_t n = ranking->rows->count, row = ranking->sample[index];
    double *parts = ranking->parts + index * PARTS, *squares = malloc(2 * n * sizeof *squares), *mapped = squares + n;
    int32_t *dots = malloc(n * sizeof *dots);
    uint32_t near[PML_MAP_NEAR], near_mapped[PML_MAP_NEAR];
    const pml_outcome outcome = squares && dots ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        const float *places = ranking->places;
        pml_map_squares(ranking->rows, row, dots, squares);
        for (size_t j = 0; j < n; j++) {
            const double dx = (double)places[2 * j] - (double)places[2 * row];
            const double dy = (double)places[2 * j + 1] - (double)places[2 * row + 1];
            mapped[j] = dx * dx + dy * dy;
            if (squares[j] > 0.0) {
                parts[LENGTH] += sqrt(squares[j]);
                parts[MAPPED] += sqrt(mapped[j]);
                parts[FITTED] += mapped[j] / sqrt(squares[j]);
            }
        }
        find_near(squares, n, row, ranking->near, near);
        find_near(mapped, n, row, ranking->near, near_mapped);
        parts[INTRUDERS] = rank_beyond(squares, n, row, ranking->near, near_mapped);
        parts[EXTRUDERS] = rank_beyond(mapped, n, row, ranking->near, near);
    }
    free(squares);
    free(dots);
    return outcome;
}

static void add_up(const struct ranking *ranking, size_t count, struct pml_map_measures *measures)
{
    const double n = (double)ranking->rows->count, k = ranking->near;
    double sums[PARTS] = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t part = 0; part < PARTS; part++)
            sums[part] += ranking->parts[i * PARTS + part];
    const double scale = 2.0 / ((double)count * k * (2.0 * n - 3.0 * k - 1.0));
    measures->trustworthiness = 1.0 - scale * sums[INTRUDERS];
    measures->continuity = 1.0 - scale * sums[EXTRUDERS];
    if (sums[LENGTH] > 0.0)
        measures->stress =
            1.0 - (sums[FITTED] > 0.0 ? sums[MAPPED] * sums[MAPPED] / (sums[FITTED] * sums[LENGTH]) : 0.0);
}

static pml_outcome measure_ranks(const struct pml_rows *rows, const float *places, const uint32_t *sample, size_t count,
                                 const struct pml_map_options *options, struct pml_map_measures *measures)
{
    const size_t half = (rows->count - 1) / 2;
    struct ranking ranking = {rows, places, sample, half < PML_MAP_NEAR ? (unsigned)half : PML_MAP_NEAR, NULL};
    struct pml_progress told;
    ranking.parts = calloc(count * PARTS, sizeof *ranking.parts);
    pml_outcome outcome = ranking.parts ? pml_parallel(options->threads, count, rank_row, &ranking,
                                                       pml_map_stage(options, "measuring", &told))
                                        : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        add_up(&ranking, count, measures);
    free(ranking.parts);
    return outcome;
}

pml_outcome pml_map_measure(const struct pml_rows *rows, const float *places, const int32_t *labels,
                            const struct pml_map_options *options, struct pml_map_measures *measures)
{
    const size_t n = rows->count, most = n <= ALL ? n : SOME;
    uint32_t *sample = malloc(most * sizeof *sample), *numbers = malloc(n * sizeof *numbers);
    int32_t *names = NULL;
    size_t classes = 0;
    *measures = (struct pml_map_measures){.nn_error = NAN, .trustworthiness = NAN, .continuity = NAN, .stress = NAN};
    for (size_t i = 0; i < PML_MAP_PURITIES; i++)
        measures->purity[i] = NAN;
    for (size_t i = 0; i < PML_MAP_SEPARATIONS; i++)
        measures->separation[i].mean = measures->separation[i].least = NAN;
    pml_outcome outcome = sample && numbers ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome =
            measure_ranks(rows, places, sample, pml_rows_sample(n, most, options->seed, sample), options, measures);
    if (outcome == PML_DONE && labels)
        outcome = pml_map_number(labels, n, numbers, &names, &classes);
    if (outcome == PML_DONE && labels)
        outcome = pml_map_purity(places, numbers, n, classes, options->threads, measures);
    if (outcome == PML_DONE && labels) {
        const size_t some = pml_rows_sample(n, most < SOME ? most : SOME, options->seed, sample);
        outcome = pml_map_separation(places, numbers, sample, some, classes, measures);
    }
    free(sample);
    free(numbers);
    free(names);
    return outcome;
}
