/* SPDX-License-Identifier: Apache-2.0
 * Codes along the principal directions of the rows. */
#include "codes_parts.h"
#include "common/generator.h"
#include "common/rows/moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VARIES 1e-4 /* of the variance along the first direction: int8 rounding alone makes nearly as much */
#define LEAN 0.5    /* weight of a row's neighbours against the row itself */

/* How many of the directions have a variance that is not rounding. scale[c]: the root of the inverse deviation. Whitening
 * by half keeps more neighbours than none and than all of it (docs/DESIGN.md). */
static size_t weigh_directions(const struct pml_moments *moments, const struct pml_directions *directions, size_t count,
                               double *scale)
{
    double first = 0.0;
    for (size_t c = 0; c < count; c++) {
        const double variance = pml_moments_along(moments, directions, c);
        first = c == 0 ? variance : first;
        if (!(variance > VARIES * first))
            return c;
        scale[c] = 1.0 / sqrt(sqrt(variance));
    }
    return count;
}

static void make_unit(double *point, unsigned k)
{
    double squares = 0.0;
    for (unsigned c = 0; c < k; c++)
        squares += point[c] * point[c];
    for (unsigned c = 0; c < k && squares > 0.0; c++)
        point[c] /= sqrt(squares);
}

/* A row of the embedding is a mean of neighbours' codes. When codes lean to those of their neighbours, that mean is longer,
 * and stands out further from the noise. */
static pml_outcome lean_on_neighbours(const struct pml_code_source *source, unsigned k, double **points)
{
    const size_t rows = source->rows->count;
    struct pml_code_lists lists;
    double *leaning = malloc(rows * k * sizeof *leaning);
    pml_outcome outcome = pml_codes_lists(source, &lists);
    if (!leaning)
        outcome = PML_NO_MEMORY;
    for (size_t i = 0; outcome == PML_DONE && i < rows; i++)
        make_unit(*points + i * k, k);
    for (size_t i = 0; outcome == PML_DONE && i < rows; i++)
        for (unsigned c = 0; c < k; c++) {
            double sum = 0.0;
            for (unsigned j = 0; j < lists.length; j++)
                sum += (*points)[(size_t)lists.values[i * lists.length + j] * k + c];
            leaning[i * k + c] = (*points)[i * k + c] + LEAN * (sum / lists.length);
        }
    free(lists.own);
    if (outcome != PML_DONE) {
        free(leaning);
        return outcome;
    }
    free(*points);
    *points = leaning;
    return PML_DONE;
}

static pml_outcome find_directions(const struct pml_code_source *source, struct pml_moments *moments,
                                   struct pml_directions *directions, size_t wanted, double *mean)
{
    const struct pml_rows *rows = source->rows;
    struct pml_generator generator = pml_generator_start(source->seed, PML_STREAM_ANCHORS);
    const size_t most = wanted + PML_MOMENTS_SPARE;
    double members;
    pml_codes_means(rows, NULL, 1, mean, &members);
    const struct pml_centres centre = {mean, NULL};
    pml_outcome outcome = pml_moments_sum(moments, rows, &centre, pml_generator_next(&generator), source->threads);
    if (outcome == PML_DONE)
        outcome = pml_directions_allocate(directions, most < rows->columns ? most : rows->columns, rows->columns);
    if (outcome == PML_DONE)
        outcome = pml_moments_directions(moments, directions, &generator, source->threads, source->progress);
    return outcome;
}

pml_outcome pml_codes_principal(const struct pml_code_source *source, unsigned *dimensions, double **points,
                                struct pml_message *message)
{
    const struct pml_rows *rows = source->rows;
    const size_t wanted = rows->columns < PML_DIMENSIONS_MAX ? rows->columns : PML_DIMENSIONS_MAX;
    struct pml_moments *moments = calloc(1, sizeof *moments);
    struct pml_directions directions = {0};
    double scale[PML_DIMENSIONS_MAX] = {0}, *mean = malloc(rows->columns * sizeof *mean);
    pml_outcome outcome = PML_NO_MEMORY;
    if (moments && mean)
        outcome = find_directions(source, moments, &directions, wanted, mean);
    if (outcome == PML_DONE) {
        const size_t possible = weigh_directions(moments, &directions, wanted, scale);
        outcome =
            pml_codes_dimensions(dimensions, possible, "the number of directions in which the rows vary is", message);
    }
    if (outcome == PML_DONE)
        outcome = pml_codes_project(source, &directions, *dimensions, mean, scale, points);
    if (outcome == PML_DONE)
        outcome = lean_on_neighbours(source, *dimensions, points);
    if (moments)
        pml_moments_free(moments);
    free(moments);
    free(mean);
    pml_directions_free(&directions);
    return outcome == PML_NO_MEMORY ? pml_say_memory(message) : outcome;
}
