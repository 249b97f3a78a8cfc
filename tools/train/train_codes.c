/* SPDX-License-Identifier: Apache-2.0
 * codes: every class gets a code, and ridge regression on kernels predicts the code of a row. Modalities share the
 * codes, so rows of one find rows of the other. */
#include "scatter.h"
#include "tools/algebra/algebra.h"
#include "train_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Widths in medians of the distance between rows, and the ridge of each; chosen among by held-out rows. The last is for
 * sets that are too small for that. */
static const struct {
    double width, ridge;
} grid[] = {{0.5, 0.3}, {0.7, 1.0}, {1.0, 0.1}, {0.7, 0.3}};
enum { GRID = sizeof grid / sizeof *grid };

/* Of two modalities one teaches: the other is fitted to codes of which this part is the teacher's score of the same
 * pair. The score tells more than the class, such as which other classes the pair is like. Held-out rows choose the
 * teacher. */
#define TAUGHT 0.8

/* The pupil's scores keep this part of the mean of all codes, instead of lying around zero. The pupil knows less,
 * and a row of which it knows nothing then looks like an average row, not like a small random one. */
#define PRIOR 0.5

/* One modality: coefficients of all classes, scores of the rows. */
struct regression {
    struct pml_matrix coefficients, scores;
    double *mean;  /* of the kernels */
    double *prior; /* per class, what is added to scores */
};

static void release(struct regression *regression)
{
    pml_matrix_free(&regression->coefficients);
    pml_matrix_free(&regression->scores);
    free(regression->mean);
    free(regression->prior);
}

/* The code of a class is 1 in its own place and 0 elsewhere. Kernels are taken around their mean, so that of the codes
 * nothing but the difference from their mean counts. */
static void fill_codes(const struct pml_classes *classes, const struct regression *teacher, struct pml_matrix *codes)
{
    memset(codes->values, 0, codes->rows * codes->columns * sizeof *codes->values);
    for (size_t i = 0; i < codes->rows; i++)
        pml_matrix_row(codes, i)[classes->of[i]] = 1.0;
    for (size_t i = 0; teacher && i < codes->rows * codes->columns; i++)
        codes->values[i] += TAUGHT * (teacher->scores.values[i] - codes->values[i]);
}

static pml_outcome regress(struct pml_kernel_side *side, const struct pml_classes *classes,
                           const struct regression *teacher, double ridge, struct regression *regression)
{
    const size_t centres = side->kernels.columns, rows = side->kernels.rows;
    struct pml_matrix square = {0};
    regression->mean = malloc(centres * sizeof *regression->mean);
    regression->prior = calloc(classes->count, sizeof *regression->prior);
    pml_outcome outcome = PML_NO_MEMORY;
    if (regression->mean && regression->prior && pml_matrix_allocate(&square, centres, centres) == PML_DONE &&
        pml_matrix_allocate(&regression->coefficients, centres, classes->count) == PML_DONE &&
        pml_matrix_allocate(&regression->scores, rows, classes->count) == PML_DONE) {
        pml_scatter_centre(&side->kernels, regression->mean);
        pml_multiply(&side->kernels, PML_TURNED, &side->kernels, PML_PLAIN, 1.0, 0.0, &square);
        for (size_t c = 0; c < centres; c++)
            pml_matrix_row(&square, c)[c] += ridge;
        fill_codes(classes, teacher, &regression->scores);
        pml_multiply(&side->kernels, PML_TURNED, &regression->scores, PML_PLAIN, 1.0, 0.0, &regression->coefficients);
        outcome = pml_solve(&square, &regression->coefficients);
        pml_multiply(&side->kernels, PML_PLAIN, &regression->coefficients, PML_PLAIN, 1.0, 0.0, &regression->scores);
        for (size_t m = 0; teacher && m < classes->count; m++)
            regression->prior[m] = PRIOR * classes->sizes[m] / (double)rows;
        for (size_t i = 0; i < rows; i++)
            for (size_t m = 0; m < classes->count; m++)
                pml_matrix_row(&regression->scores, i)[m] += regression->prior[m];
    }
    pml_matrix_free(&square);
    return outcome;
}

/* When there are fewer dimensions than classes: the directions of the codes in which scores vary most, all modalities
 * counting the same. `turn` has a row per dimension. */
static pml_outcome reduce(const struct regression *regressions, size_t modalities, struct pml_matrix *turn)
{
    const size_t classes = turn->columns;
    struct pml_matrix scatter = {0}, own = {0};
    double *values = malloc(classes * sizeof *values);
    pml_outcome outcome = PML_NO_MEMORY;
    if (values && pml_matrix_allocate(&scatter, classes, classes) == PML_DONE &&
        pml_matrix_allocate(&own, classes, classes) == PML_DONE) {
        for (size_t v = 0; v < modalities; v++) {
            pml_multiply(&regressions[v].scores, PML_TURNED, &regressions[v].scores, PML_PLAIN, 1.0, 0.0, &own);
            const double all = pml_trace(&own);
            for (size_t i = 0; i < classes * classes && all > 0.0; i++)
                scatter.values[i] += own.values[i] / all;
        }
        outcome = pml_eigen(&scatter, NULL, PML_LARGEST, values, turn);
    }
    free(values);
    pml_matrix_free(&scatter);
    pml_matrix_free(&own);
    return outcome;
}

static pml_outcome put(const struct pml_train_job *job, size_t modality, const struct pml_kernel_side *side,
                       const struct regression *regression, const struct pml_matrix *turn,
                       struct pml_train_result *result, struct pml_message *message)
{
    struct pml_matrix turned;
    double *offset = calloc(turn->rows, sizeof *offset);
    pml_outcome outcome = pml_matrix_allocate(&turned, side->kernels.columns, turn->rows);
    if (outcome == PML_DONE && offset) {
        pml_multiply(&regression->coefficients, PML_PLAIN, turn, PML_TURNED, 1.0, 0.0, &turned);
        for (size_t i = 0; i < turn->rows; i++)
            for (size_t m = 0; m < turn->columns; m++)
                offset[i] += regression->prior[m] * pml_matrix_row(turn, i)[m];
        for (size_t c = 0; c < turned.rows; c++)
            for (size_t i = 0; i < turned.columns; i++)
                offset[i] -= regression->mean[c] * pml_matrix_row(&turned, c)[i];
        outcome = pml_kernel_side_put(job, modality, side, &turned, offset, result, message);
    } else {
        outcome = PML_NO_MEMORY;
    }
    free(offset);
    pml_matrix_free(&turned);
    return outcome;
}

static pml_outcome fit_classes(const struct pml_train_job *job, struct pml_kernel_side *sides, size_t setting,
                               const struct pml_classes *classes, struct pml_train_result *result,
                               struct pml_message *message)
{
    const size_t modalities = job->set->modalities, teacher = setting / GRID;
    struct regression regressions[PML_TRAIN_MODALITIES] = {0};
    struct pml_matrix turn = {0};
    pml_outcome outcome = pml_train_limit(job->options, classes->count, "one per class", message);
    if (outcome == PML_DONE)
        outcome = pml_matrix_allocate(&turn, job->options->dimensions, classes->count);
    for (size_t i = 0; outcome == PML_DONE && i < modalities; i++) {
        const size_t v = i == 0 ? teacher : 1 - teacher;
        pml_kernel_side_widen(&sides[v], grid[setting % GRID].width * sides[v].median);
        outcome = regress(&sides[v], classes, i == 0 ? NULL : &regressions[teacher], grid[setting % GRID].ridge,
                          &regressions[v]);
        if (outcome == PML_REFUSED)
            outcome = pml_say(message, "the kernels are singular: give rows that vary, or fewer --centres.");
    }
    if (outcome == PML_DONE && turn.rows < turn.columns)
        outcome = reduce(regressions, modalities, &turn);
    else if (outcome == PML_DONE)
        for (size_t i = 0; i < turn.rows; i++)
            pml_matrix_row(&turn, i)[i] = 1.0;
    for (size_t v = 0; outcome == PML_DONE && v < modalities; v++)
        outcome = put(job, v, &sides[v], &regressions[v], &turn, result, message);
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
        release(&regressions[v]);
    pml_matrix_free(&turn);
    return outcome == PML_NO_MEMORY ? pml_say_memory(message) : outcome;
}

static pml_outcome fit(const struct pml_train_job *job, struct pml_kernel_side *sides, size_t setting,
                       struct pml_train_result *result, struct pml_message *message)
{
    struct pml_classes classes;
    pml_outcome outcome = pml_classes_number(job->set, &classes, message);
    if (outcome != PML_DONE)
        return outcome;
    outcome = fit_classes(job, sides, setting, &classes, result, message);
    pml_classes_free(&classes);
    return outcome;
}

pml_outcome pml_train_codes(const struct pml_train_job *job, struct pml_train_result *result,
                            struct pml_message *message)
{
    return pml_kernel_train(job, fit, GRID * job->set->modalities, result, message);
}
