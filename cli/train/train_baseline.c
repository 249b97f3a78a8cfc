/* SPDX-License-Identifier: Apache-2.0
 * Uncertainty smooths a map as a ridge does. Who gives one should see what the other reaches. */
#include "train_baseline.h"

pml_outcome train_baseline(const struct pml_train_options *options, const struct pml_train_set *train,
                           const struct pml_train_set *test, double *accuracy, struct pml_message *message)
{
    struct pml_train_options plain = *options;
    struct pml_train_set certain = *train;
    struct pml_train_result result = {0};
    struct pml_train_measures measures;
    if (!pml_train_is_graph(options->method) || !train->labels || !(train->uncertainty || options->ridge > 0.0))
        return PML_DONE;
    plain.ridge = 0.0;
    certain.uncertainty = NULL;
    pml_outcome outcome = pml_train(&plain, &certain, &result, message);
    if (outcome == PML_DONE)
        outcome = pml_train_measure(&result, &certain, test, options->threads, &measures, message);
    if (outcome == PML_DONE)
        *accuracy = measures.nn_accuracy;
    pml_train_free(&result);
    return outcome;
}
