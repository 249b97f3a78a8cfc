/* SPDX-License-Identifier: Apache-2.0
 * What evaluate measures on: public rows, a gallery, queries, and what a search without privacy would find. */
#ifndef CLI_EVALUATE_DATA_H
#define CLI_EVALUATE_DATA_H

#include "common/npy.h"
#include "evaluate_options.h"

enum { EVALUATE_TOP = 8 };

struct evaluate_set {
    struct pml_features features;
    struct pml_labels labels; /* values is NULL: none */
};

struct evaluate_data {
    struct evaluate_set public, gallery, queries;
    size_t top;        /* EVALUATE_TOP, or all of a smaller gallery */
    uint32_t *nearest; /* `top` rows of the gallery for each query: largest cosine of the features, then smaller row */
    int32_t *classes;  /* what the device thinks the class of each query is; NULL: there are no classes */
};

/* Reads the files, or draws the sample gallery. Free the data after a failure too. */
exit_code evaluate_data_make(struct evaluate_data *data, const struct evaluate_options *options);

/* Wipes and frees. */
void evaluate_data_free(struct evaluate_data *data);

#endif
