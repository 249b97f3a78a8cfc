/* SPDX-License-Identifier: Apache-2.0
 * dct: the lowest frequencies of the discrete cosine transform. For features that are samples of something smooth. */
#include "train_methods.h"

#include <math.h>

pml_outcome pml_train_dct(const struct pml_train_job *job, struct pml_train_result *result, struct pml_message *message)
{
    const size_t inputs = job->rows[0].columns;
    const double half_turn = acos(-1.0);
    struct pml_matrix weights;
    pml_outcome outcome = pml_train_limit(job->options, inputs, "one per feature", message);
    if (outcome != PML_DONE)
        return outcome;
    if (pml_matrix_allocate(&weights, job->options->dimensions, inputs) != PML_DONE)
        return pml_say_memory(message);
    for (size_t i = 0; i < weights.rows; i++)
        for (size_t j = 0; j < inputs; j++)
            pml_matrix_row(&weights, i)[j] = sqrt((i == 0 ? 1.0 : 2.0) / (double)inputs) *
                                             cos(half_turn * ((double)j + 0.5) * (double)i / (double)inputs);
    outcome = pml_train_put_matrix(job, 0, &weights, NULL, result, message);
    pml_matrix_free(&weights);
    return outcome;
}
