/* SPDX-License-Identifier: Apache-2.0
 * t-SNE: affinities of near rows, then the descent. */
#include "map_affinity.h"
#include "map_descent.h"

#define DEVIATION 1e-4 /* of the places to start from */

pml_outcome pml_map_tsne(const struct pml_map_job *job, struct pml_message *message)
{
    struct pml_map_sparse joint = {0};
    struct pml_progress told;
    const struct pml_progress *progress = pml_map_stage(job->options, "neighbours", &told);
    (void)message;
    pml_outcome outcome = pml_map_joint(job->rows, job->options->perplexity, job->options->threads, progress, &joint);
    if (outcome == PML_DONE)
        outcome = pml_map_start(job, DEVIATION);
    if (outcome == PML_DONE)
        outcome = pml_map_descend(&joint, job->options, job->places, &job->result->cost);
    pml_map_sparse_free(&joint);
    return outcome;
}
