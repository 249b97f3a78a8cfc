/* SPDX-License-Identifier: Apache-2.0
 * What evaluate measures on: public rows, a gallery, queries, and what a search without privacy would find. */
#ifndef CLI_EVALUATE_DATA_H
#define CLI_EVALUATE_DATA_H

#include "common/npy.h"
#include "common/rows/rows.h"
#include "evaluate_options.h"

enum { EVALUATE_TOP = 8 };

struct evaluate_set {
    struct pml_features features;
    struct pml_labels labels; /* values is NULL: none */
    size_t modality;
    struct pml_rows
        rows; /* what the front of the modality makes of them; none of public rows unless classes are guessed */
};

struct evaluate_data {
    struct front_inputs fronts;
    struct head_input head;
    struct evaluate_set public, gallery, queries, voters; /* voters: there may be no rows */
    size_t top;                                           /* EVALUATE_TOP, or all of a smaller gallery */
    /* `top` rows of the gallery for each query: largest cosine, then smaller row. Behind the fronts; without fronts, of the
     * features. */
    uint32_t *nearest;
    uint32_t *original; /* the same of the features; NULL when there are fronts and queries are of another modality */
    int32_t *classes;   /* what the device thinks the class of each query is; NULL: there are no classes */
};

/* Reads the files, or draws the sample gallery. Free the data after a failure too. */
exit_code evaluate_data_make(struct evaluate_data *data, const struct evaluate_options *options);

/* The same of the rows of one file, which are dealt out by the seed: at most 200 queries (an eighth), 5,000 public rows (a
 * third) and a gallery of 20,000; further rows are left out. Takes the rows of `features`. There must be no fronts. */
enum { EVALUATE_SPLIT_LEAST = 400 }; /* rows */
exit_code evaluate_data_split(struct evaluate_data *data, const struct evaluate_options *options,
                              struct pml_features *features);

/* Wipes and frees. */
void evaluate_data_free(struct evaluate_data *data);

#endif
