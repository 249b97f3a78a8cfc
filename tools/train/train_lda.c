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

/* within = Σ (x − mean of its class)², between = Σ size·(mean of class − mean)², both as matrices. The rows of
 * `units` are around their mean already, and are overwritten. */
static pml_outcome make_scatters(struct pml_matrix *units, const struct pml_classes *classes, struct pml_matrix *within,
                                 struct pml_matrix *between)
{
    struct pml_matrix means;
    if (pml_matrix_allocate(&means, classes->count, units->columns) != PML_DONE)
        return PML_NO_MEMORY;
    pml_classes_sum(classes, units, &means);
    for (size_t c = 0; c < means.rows; c++)
        for (size_t j = 0; j < means.columns; j++)
            pml_matrix_row(&means, c)[j] /= classes->sizes[c];
    for (size_t i = 0; i < units->rows; i++)
        for (size_t j = 0; j < units->columns; j++)
            pml_matrix_row(units, i)[j] -= pml_matrix_row(&means, classes->of[i])[j];
    pml_multiply(units, PML_TURNED, units, PML_PLAIN, 1.0, 0.0, within);
    for (size_t c = 0; c < means.rows; c++)
        for (size_t j = 0; j < means.columns; j++)
            pml_matrix_row(&means, c)[j] *= sqrt(classes->sizes[c]);
    pml_multiply(&means, PML_TURNED, &means, PML_PLAIN, 1.0, 0.0, between);
    pml_matrix_free(&means);
    return PML_DONE;
}

static pml_outcome find(const struct pml_train_job *job, struct pml_matrix *units, const struct pml_classes *classes,
                        double *mean, struct pml_train_result *result, struct pml_message *message)
{
    const size_t inputs = units->columns, outputs = job->options->dimensions;
    struct pml_matrix within = {0}, between = {0}, weights = {0};
    double *values = malloc(outputs * sizeof *values);
    pml_outcome outcome = PML_NO_MEMORY;
    pml_scatter_centre(units, mean);
    if (values && pml_matrix_allocate(&within, inputs, inputs) == PML_DONE &&
        pml_matrix_allocate(&between, inputs, inputs) == PML_DONE &&
        pml_matrix_allocate(&weights, outputs, inputs) == PML_DONE)
        outcome = make_scatters(units, classes, &within, &between);
    if (outcome == PML_DONE) {
        pml_lift_diagonal(&within, SHRINKAGE / (1.0 - SHRINKAGE));
        outcome = pml_eigen(&between, &within, PML_LARGEST, values, &weights);
        if (outcome == PML_REFUSED)
            outcome =
                pml_say(message, "the scatter within classes is singular: give classes of several rows that differ.");
    }
    if (outcome == PML_DONE)
        outcome = pml_train_put_matrix(job, 0, &weights, mean, result, message);
    free(values);
    pml_matrix_free(&within);
    pml_matrix_free(&between);
    pml_matrix_free(&weights);
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
