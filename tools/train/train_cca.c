/* SPDX-License-Identifier: Apache-2.0
 * cca: canonical correlation, the directions in which two modalities agree most. Linear, and without labels. */
#include "scatter.h"
#include "tools/algebra/algebra.h"
#include "train_methods.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lifts the diagonals of both scatters: features that sum to one leave theirs singular. */
#define LIFT 0.03

struct cca {
    struct pml_matrix units[2], scatter[2], cross; /* cross: features of the second × features of the first */
    struct pml_matrix solved, shared, weights[2];
    double *mean[2], *values;
};

static bool allocate(const struct pml_train_job *job, struct cca *cca)
{
    const size_t first = job->rows[0].columns, second = job->rows[1].columns, outputs = job->options->dimensions;
    bool done = (cca->values = malloc(outputs * sizeof *cca->values)) != NULL;
    for (size_t v = 0; v < 2; v++) {
        const size_t inputs = job->rows[v].columns;
        cca->mean[v] = malloc(inputs * sizeof *cca->mean[v]);
        done = done && cca->mean[v] && pml_scatter_units(&job->rows[v], &cca->units[v]) == PML_DONE &&
               pml_matrix_allocate(&cca->scatter[v], inputs, inputs) == PML_DONE &&
               pml_matrix_allocate(&cca->weights[v], outputs, inputs) == PML_DONE;
    }
    return done && pml_matrix_allocate(&cca->cross, second, first) == PML_DONE &&
           pml_matrix_allocate(&cca->solved, second, first) == PML_DONE &&
           pml_matrix_allocate(&cca->shared, first, first) == PML_DONE;
}

static void release(struct cca *cca)
{
    for (size_t v = 0; v < 2; v++) {
        pml_matrix_free(&cca->units[v]);
        pml_matrix_free(&cca->scatter[v]);
        pml_matrix_free(&cca->weights[v]);
        free(cca->mean[v]);
    }
    pml_matrix_free(&cca->cross);
    pml_matrix_free(&cca->solved);
    pml_matrix_free(&cca->shared);
    free(cca->values);
}

/* With S the scatters and X the cross scatter: Xᵀ·S₂⁻¹·X·w = ρ²·S₁·w, and the second modality's direction is
 * S₂⁻¹·X·w/ρ. */
static pml_outcome find(struct cca *cca, struct pml_message *message)
{
    for (size_t v = 0; v < 2; v++) {
        pml_scatter_centre(&cca->units[v], cca->mean[v]);
        pml_multiply(&cca->units[v], PML_TURNED, &cca->units[v], PML_PLAIN, 1.0, 0.0, &cca->scatter[v]);
        pml_lift_diagonal(&cca->scatter[v], LIFT);
    }
    pml_multiply(&cca->units[1], PML_TURNED, &cca->units[0], PML_PLAIN, 1.0, 0.0, &cca->cross);
    memcpy(cca->solved.values, cca->cross.values, cca->cross.rows * cca->cross.columns * sizeof *cca->cross.values);
    pml_outcome outcome = pml_solve(&cca->scatter[1], &cca->solved);
    if (outcome == PML_DONE) {
        pml_multiply(&cca->cross, PML_TURNED, &cca->solved, PML_PLAIN, 1.0, 0.0, &cca->shared);
        outcome = pml_eigen(&cca->shared, &cca->scatter[0], PML_LARGEST, cca->values, &cca->weights[0]);
    }
    if (outcome == PML_REFUSED || (outcome == PML_DONE && !(cca->values[cca->weights[0].rows - 1] > 0.0)))
        return pml_say(message,
                       "the scatter of a modality is singular, or the modalities agree in fewer directions: give "
                       "rows that vary, or choose fewer --dimensions.");
    if (outcome != PML_DONE)
        return outcome;
    pml_multiply(&cca->weights[0], PML_PLAIN, &cca->solved, PML_TURNED, 1.0, 0.0, &cca->weights[1]);
    for (size_t i = 0; i < cca->weights[1].rows; i++)
        for (size_t j = 0; j < cca->weights[1].columns; j++)
            pml_matrix_row(&cca->weights[1], i)[j] /= sqrt(cca->values[i]);
    return PML_DONE;
}

pml_outcome pml_train_cca(const struct pml_train_job *job, struct pml_train_result *result, struct pml_message *message)
{
    const size_t first = job->rows[0].columns, second = job->rows[1].columns;
    struct cca cca = {0};
    pml_outcome outcome = pml_train_limit(job->options, first < second ? first : second,
                                          "as many as the smaller modality has features", message);
    if (outcome == PML_DONE)
        outcome = allocate(job, &cca) ? find(&cca, message) : PML_NO_MEMORY;
    for (size_t v = 0; outcome == PML_DONE && v < 2; v++)
        outcome = pml_train_put_matrix(job, v, &cca.weights[v], cca.mean[v], result, message);
    release(&cca);
    return outcome == PML_NO_MEMORY ? pml_say_memory(message) : outcome;
}
