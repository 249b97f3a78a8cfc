/* SPDX-License-Identifier: Apache-2.0
 * Codes that tell classes apart (linear discriminant analysis): the directions in which the means of classes differ most,
 * measured by how much rows of one class differ. */
#include "classes.h"
#include "codes_parts.h"
#include "common/generator.h"
#include "common/rows/moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHRINKAGE 0.1 /* of the scatter within classes, towards a ball: few rows say little about 256 directions */
#define SPARE 8u      /* directions beyond those wanted, for these to settle sooner */
#define ROUNDS 32

struct discriminant {
    size_t columns, classes;
    int32_t *labels;         /* ascending */
    uint32_t *of_rows;       /* the class of each row */
    double *means, *members; /* of the classes */
    double *mean;            /* of all rows */
    struct pml_moments within;
    double *factor;  /* Cholesky's: within = factor·factorᵀ, columns × columns, the lower triangle */
    double *between; /* classes × columns: the means' differences from the mean, in the measure of the factor */
};

/* Four sums in a fixed order: a vector unit may work on them at once. */
static double dot(const double *left, const double *right, size_t count)
{
    double sums[4] = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (size_t lane = 0; lane < 4; lane++)
            sums[lane] += left[i + lane] * right[i + lane];
    for (; i < count; i++)
        sums[0] += left[i] * right[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* ---- classes ---- */

static pml_outcome find_means(struct discriminant *lda, const struct pml_code_source *source)
{
    const struct pml_rows *rows = source->rows;
    const size_t columns = lda->columns = rows->columns;
    if (pml_classes_find(source->labels, rows->count, &lda->labels, &lda->classes) != PML_DONE)
        return PML_NO_MEMORY;
    lda->of_rows = malloc(rows->count * sizeof *lda->of_rows);
    lda->means = malloc(lda->classes * columns * sizeof *lda->means);
    lda->members = malloc(lda->classes * sizeof *lda->members);
    lda->mean = malloc(columns * sizeof *lda->mean);
    lda->between = malloc(lda->classes * columns * sizeof *lda->between);
    lda->factor = calloc(columns * columns, sizeof *lda->factor);
    if (!lda->of_rows || !lda->means || !lda->members || !lda->mean || !lda->between || !lda->factor)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < rows->count; i++)
        lda->of_rows[i] = pml_classes_of(lda->labels, lda->classes, source->labels[source->order[i]]);
    double all;
    pml_codes_means(rows, NULL, 1, lda->mean, &all);
    pml_codes_means(rows, lda->of_rows, lda->classes, lda->means, lda->members);
    for (size_t c = 0; c < lda->classes; c++)
        for (size_t j = 0; j < columns; j++)
            lda->between[c * columns + j] = sqrt(lda->members[c]) * (lda->means[c * columns + j] - lda->mean[j]);
    return PML_DONE;
}

/* ---- scatter within classes ---- */

/* Shrinks it so that every direction has some, and factors it. */
static void factor_within(struct discriminant *lda)
{
    const size_t columns = lda->columns, stride = lda->within.size;
    const double total = pml_moments_total(&lda->within), even = total > 0.0 ? total / (double)columns : 1.0;
    for (size_t i = 0; i < columns; i++) {
        double *row = lda->factor + i * columns;
        for (size_t j = 0; j <= i; j++) {
            const double entry =
                (1.0 - SHRINKAGE) * lda->within.sums[i * stride + j] + (i == j ? SHRINKAGE * even : 0.0);
            const double *other = lda->factor + j * columns;
            const double left = entry - dot(row, other, j);
            row[j] = i == j ? sqrt(left) : left / other[j];
        }
    }
}

/* vector = factor⁻¹·vector */
static void solve_forward(const struct discriminant *lda, double *vector)
{
    for (size_t i = 0; i < lda->columns; i++) {
        const double *row = lda->factor + i * lda->columns;
        vector[i] = (vector[i] - dot(row, vector, i)) / row[i];
    }
}

/* vector = factor⁻ᵀ·vector */
static void solve_backward(const struct discriminant *lda, double *vector)
{
    for (size_t i = lda->columns; i-- > 0;) {
        const double *row = lda->factor + i * lda->columns;
        vector[i] /= row[i];
        for (size_t j = 0; j < i; j++)
            vector[j] -= vector[i] * row[j];
    }
}

/* ---- directions ---- */

/* vector = Σ b·⟨b, vector⟩ over the classes' differences b */
static void spread_vector(const struct discriminant *lda, const double *vector, double *out)
{
    memset(out, 0, lda->columns * sizeof *out);
    for (size_t c = 0; c < lda->classes; c++) {
        const double *difference = lda->between + c * lda->columns, along = dot(difference, vector, lda->columns);
        for (size_t j = 0; j < lda->columns; j++)
            out[j] += along * difference[j];
    }
}

static pml_outcome turn_directions(const struct discriminant *lda, struct pml_directions *directions,
                                   const struct pml_code_source *source)
{
    struct pml_generator generator = pml_generator_start(source->seed, PML_STREAM_ANCHORS);
    double *vector = malloc(2 * lda->columns * sizeof *vector), *out = vector + lda->columns;
    if (!vector)
        return PML_NO_MEMORY;
    pml_directions_settle(directions, 0.0, &generator);
    for (int round = 0; round <= ROUNDS; round++) { /* the last one leaves the factor's measure */
        for (size_t v = 0; v < directions->count; v++) {
            for (size_t j = 0; j < lda->columns; j++)
                vector[j] = *pml_direction(directions, v, j);
            if (round < ROUNDS)
                spread_vector(lda, vector, out);
            else
                solve_backward(lda, memcpy(out, vector, lda->columns * sizeof *out));
            for (size_t j = 0; j < lda->columns; j++)
                *pml_direction(directions, v, j) = out[j];
        }
        if (round < ROUNDS)
            pml_directions_settle(directions, 0.0, &generator);
        pml_progress_tell(source->progress, (round + 1.0) / (ROUNDS + 1));
    }
    free(vector);
    return PML_DONE;
}

static pml_outcome find_directions(struct discriminant *lda, const struct pml_code_source *source, size_t wanted,
                                   struct pml_directions *directions)
{
    struct pml_generator generator = pml_generator_start(source->seed, PML_STREAM_ANCHORS);
    const struct pml_centres centres = {lda->means, lda->of_rows};
    const size_t most = wanted + SPARE;
    pml_outcome outcome =
        pml_moments_sum(&lda->within, source->rows, &centres, pml_generator_next(&generator), source->threads);
    if (outcome == PML_DONE)
        outcome = pml_directions_allocate(directions, most < lda->columns ? most : lda->columns, lda->columns);
    if (outcome != PML_DONE)
        return outcome;
    factor_within(lda);
    for (size_t c = 0; c < lda->classes; c++)
        solve_forward(lda, lda->between + c * lda->columns);
    return turn_directions(lda, directions, source);
}

/* ---- points ---- */

static pml_outcome find_points(struct discriminant *lda, const struct pml_code_source *source, unsigned *dimensions,
                               double **points, struct pml_message *message)
{
    double scale[PML_DIMENSIONS_MAX];
    struct pml_directions directions = {0};
    if (find_means(lda, source) != PML_DONE)
        return PML_NO_MEMORY;
    if (lda->classes < 2)
        return pml_say(message, "The labels name one class only, so nothing tells classes apart: use --codes pca.");
    const size_t fewer = lda->classes - 1 < lda->columns ? lda->classes - 1 : lda->columns;
    if (pml_codes_dimensions(dimensions, fewer, "the number of directions in which the classes differ is", message) !=
        PML_DONE)
        return PML_REFUSED;
    for (unsigned c = 0; c < *dimensions; c++)
        scale[c] = 1.0;
    pml_outcome outcome = find_directions(lda, source, *dimensions, &directions);
    if (outcome == PML_DONE)
        outcome = pml_codes_project(source, &directions, *dimensions, lda->mean, scale, points);
    pml_directions_free(&directions);
    return outcome;
}

pml_outcome pml_codes_classes(const struct pml_code_source *source, unsigned *dimensions, double **points,
                              struct pml_message *message)
{
    if (!source->labels)
        return pml_say(message, "Codes that tell classes apart need labels: give --labels, or use --codes pca.");
    struct discriminant *lda = calloc(1, sizeof *lda);
    pml_outcome outcome = lda ? find_points(lda, source, dimensions, points, message) : PML_NO_MEMORY;
    if (lda) {
        pml_moments_free(&lda->within);
        free(lda->labels);
        free(lda->of_rows);
        free(lda->means);
        free(lda->members);
        free(lda->mean);
        free(lda->factor);
        free(lda->between);
    }
    free(lda);
    return outcome == PML_NO_MEMORY ? pml_say_memory(message) : outcome;
}
