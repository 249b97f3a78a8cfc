/* SPDX-License-Identifier: Apache-2.0
 * gauss: a matrix of normal numbers. By the lemma of Johnson and Lindenstrauss it keeps distances. */
#include "train_methods.h"

#include "common/generator.h"

pml_outcome pml_train_gauss(const struct pml_train_job *job, struct pml_train_result *result,
                            struct pml_message *message)
{
    struct pml_generator generator = pml_generator_start(job->options->seed, PML_STREAM_FRONT);
    struct pml_matrix weights;
    if (pml_matrix_allocate(&weights, job->options->dimensions, job->rows[0].columns) != PML_DONE)
        return pml_say_memory(message);
    for (size_t i = 0; i < weights.rows * weights.columns; i++)
        weights.values[i] = pml_generator_normal(&generator, 4096);
    pml_outcome outcome = pml_train_put_matrix(job, 0, &weights, NULL, result, message);
    pml_matrix_free(&weights);
    return outcome;
}
