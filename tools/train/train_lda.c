/* SPDX-License-Identifier: Apache-2.0
 * lda: the directions in which the means of classes differ most, compared with how much rows of a class differ. */
#include "scatter.h"
#include "tools/algebra/algebra.h"
#include "train_methods.h"

#include <math.h>
#include <stdlib.h>

/* Part of the scatter within classes that is replaced by the same scatter in every direction. With few rows per class,
 * some directions show none by accident. */
#define SHRINKAGE 0.1

/* Leaves the means of classes in `means`, a row per class, and in `within` = Σ (x − mean of its class)², as a matrix. The
 * rows of `units` are around their mean already, and are overwritten. */
static void scatter_within(struct pml_matrix *units, const struct pml_classes *classes, struct pml_matrix *means,
                           struct pml_matrix *within)
{
    pml_classes_sum(classes, units, means);
    for (size_t c = 0; c < means->rows; c++)
        for (size_t j = 0; j < means->columns; j++)
            pml_matrix_row(means, c)[j] /= classes->sizes[c];
    for (size_t i = 0; i < units->rows; i++)
        for (size_t j = 0; j < units->columns; j++)
            pml_matrix_row(units, i)[j] -= pml_matrix_row(means, classes->of[i])[j];
    pml_multiply(units, PML_TURNED, units, PML_PLAIN, 1.0, 0.0, within);
}

/* between = Σ size·(mean of class − mean)², as a matrix. The means are overwritten. */
static void scatter_between(struct pml_matrix *means, const struct pml_classes *classes, struct pml_matrix *between)
{
    for (size_t c = 0; c < means->rows; c++)
        for (size_t j = 0; j < means->columns; j++)
            pml_matrix_row(means, c)[j] *= sqrt(classes->sizes[c]);
    pml_multiply(means, PML_TURNED, means, PML_PLAIN, 1.0, 0.0, between);
}

static pml_outcome say_singular(struct pml_message *message)
{
    return pml_say(message, "the scatter within classes is singular: give classes of several rows that differ.");
}

static pml_outcome find(const struct pml_train_job *job, struct pml_matrix *units, const struct pml_classes *classes,
                        double *mean, struct pml_train_result *result, struct pml_message *message)
{
    const size_t inputs = units->columns, outputs = job->options->dimensions;
    struct pml_matrix within = {0}, between = {0}, weights = {0}, means = {0};
    double *values = malloc(outputs * sizeof *values);
    pml_outcome outcome = PML_NO_MEMORY;
    pml_scatter_centre(units, mean);
    if (values && pml_matrix_allocate(&within, inputs, inputs) == PML_DONE &&
        pml_matrix_allocate(&between, inputs, inputs) == PML_DONE &&
        pml_matrix_allocate(&weights, outputs, inputs) == PML_DONE &&
        pml_matrix_allocate(&means, classes->count, inputs) == PML_DONE) {
        scatter_within(units, classes, &means, &within);
        scatter_between(&means, classes, &between);
        pml_lift_diagonal(&within, SHRINKAGE / (1.0 - SHRINKAGE));
        outcome = pml_eigen(&between, &within, PML_LARGEST, values, &weights);
        if (outcome == PML_REFUSED)
            outcome = say_singular(message);
    }
    if (outcome == PML_DONE)
        outcome = pml_train_put_matrix(job, 0, &weights, mean, result, message);
    free(values);
    pml_matrix_free(&within);
    pml_matrix_free(&between);
    pml_matrix_free(&weights);
    pml_matrix_free(&means);
    return outcome == PML_NO_MEMORY ? pml_say_memory(message) : outcome;
}

pml_outcome pml_train_lda(const struct pml_train_job *job, struct pml_train_result *result, struct pml_message *message)
{
    const size_t inputs = job->rows[0].columns;
    struct pml_classes classes = {0};
    struct pml_matrix units = {0};
    double *mean = malloc(inputs * sizeof *mean);
    pml_outcome outcome = pml_classes_number(job->set, &classes, message);
    if (outcome == PML_DONE)
        outcome = pml_train_limit(job->options, inputs < classes.count - 1 ? inputs : classes.count - 1,
                                  "one fewer than classes, and at most one per feature", message);
    if (outcome == PML_DONE && (!mean || pml_scatter_units(&job->rows[0], &units) != PML_DONE))
        outcome = pml_say_memory(message);
    if (outcome == PML_DONE)
        outcome = find(job, &units, &classes, mean, result, message);
    free(mean);
    pml_matrix_free(&units);
    pml_classes_free(&classes);
    return outcome;
}

/* ---- heads ---- */

/* The score of class c is the logarithm of its Gaussian's density, all with the scatter Σ and as likely as each other, but
 * for what is the same for all: x·Σ⁻¹m − ½·m·Σ⁻¹m, of x and its mean m around the mean of all rows. */
static pml_outcome solve_head(struct pml_matrix *units, const struct pml_classes *classes, const double *mean,
                              struct pml_train_result *result, struct pml_message *message)
{
    const size_t inputs = units->columns, labels = classes->count;
    struct pml_matrix within = {0}, means = {0}, sides = {0}, weights = {0};
    struct pml_front_bytes file = {0};
    double *offset = calloc(labels, sizeof *offset);
    pml_outcome outcome = PML_NO_MEMORY;
    if (offset && pml_matrix_allocate(&within, inputs, inputs) == PML_DONE &&
        pml_matrix_allocate(&means, labels, inputs) == PML_DONE &&
        pml_matrix_allocate(&sides, inputs, labels) == PML_DONE &&
        pml_matrix_allocate(&weights, labels, inputs) == PML_DONE) {
        scatter_within(units, classes, &means, &within);
        pml_lift_diagonal(&within, SHRINKAGE / (1.0 - SHRINKAGE));
        for (size_t c = 0; c < labels; c++)
            for (size_t j = 0; j < inputs; j++)
                pml_matrix_row(&sides, j)[c] = pml_matrix_row(&means, c)[j];
        outcome = pml_solve(&within, &sides);
        if (outcome == PML_REFUSED)
            outcome = say_singular(message);
    }
    if (outcome == PML_DONE) {
        for (size_t c = 0; c < labels; c++)
            for (size_t j = 0; j < inputs; j++) {
                const double weight = pml_matrix_row(&sides, j)[c];
                pml_matrix_row(&weights, c)[j] = weight;
                offset[c] -= weight * (mean[j] + 0.5 * pml_matrix_row(&means, c)[j]);
            }
        outcome = pml_front_bytes_head(&weights, offset, classes->labels, &file, message);
    }
    result->bytes[0] = file.bytes;
    result->sizes[0] = file.size;
    free(offset);
    pml_matrix_free(&within);
    pml_matrix_free(&means);
    pml_matrix_free(&sides);
    pml_matrix_free(&weights);
    return outcome == PML_NO_MEMORY ? pml_say_memory(message) : outcome;
}

pml_outcome pml_train_lda_head(const struct pml_train_job *job, struct pml_train_result *result,
                               struct pml_message *message)
{
    const size_t inputs = job->rows[0].columns;
    struct pml_classes classes = {0};
    struct pml_matrix units = {0};
    double *mean = malloc(inputs * sizeof *mean);
    pml_outcome outcome = pml_classes_number(job->set, &classes, message);
    if (outcome == PML_DONE && classes.count > PML_LABELS_MAX)
        outcome = pml_say(message, "there are %zu labels, but a head has at most %u: leave out rare ones.",
                          classes.count, PML_LABELS_MAX);
    if (outcome == PML_DONE && (!mean || pml_scatter_units(&job->rows[0], &units) != PML_DONE))
        outcome = pml_say_memory(message);
    if (outcome == PML_DONE) {
        pml_scatter_centre(&units, mean);
        outcome = solve_head(&units, &classes, mean, result, message);
    }
    free(mean);
    pml_matrix_free(&units);
    pml_classes_free(&classes);
    return outcome;
}
