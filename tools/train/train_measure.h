/* SPDX-License-Identifier: Apache-2.0
 * How good fronts are, measured in the device's own arithmetic (SPEC 5.18). */
#ifndef PML_TRAIN_MEASURE_H
#define PML_TRAIN_MEASURE_H

#include "train.h"

#include "common/rows/rows.h"

#include <privatemail_public.h>

#include <math.h>

/* NaN for what does not apply: without labels, or in one modality. */
struct pml_train_measures {
    double map_first;  /* mean average precision by class: the first modality asks for rows of the second */
    double map_second; /* and the other way round */
    double accuracy_5; /* of a head: share of rows whose label is one of the first five guesses */
    double accuracy;   /* of a head: share of rows whose label is the first guess. Else: share of rows whose nearest
                          training row, of the first modality, is of their class */
    double precision; /* one modality: of the 8 nearest training rows, the share of the class. Two modalities: of the
                              8 rows of the first that are nearest to a row of the second */
    double distance_error; /* one modality: mean |mapped distance / distance − 1|, both between rows of length 1 */
    double kept;           /* one modality: share of the 8 nearest training rows that are the 8 nearest when mapped */
    double nn_accuracy; /* share of rows whose class most of the 5 nearest training rows have, of the first modality */
    double ridge_nn_accuracy; /* the same of a front of certain rows and a chosen ridge; measured by the command */
    size_t unmapped;          /* rows that the front maps to nothing */
};

extern const struct pml_train_measures pml_train_unmeasured;

/* Rows of `test` ask. In one modality they ask among those of `train`, in two among the other modality's of `test`. */
pml_outcome pml_train_measure(const struct pml_train_result *result, const struct pml_train_set *train,
                              const struct pml_train_set *test, unsigned threads, struct pml_train_measures *measures,
                              struct pml_message *message);

/* Maps the rows of one modality. A row that maps to nothing is all zero, and counted. */
pml_outcome pml_train_map(const pml_front *front, const struct pml_train_set *set, size_t modality, unsigned threads,
                          struct pml_rows *rows, size_t *unmapped, struct pml_message *message);

/* Rows as they enter a front: quantised, with roots when the set says so. */
pml_outcome pml_train_rows(const struct pml_train_set *set, size_t modality, unsigned threads, struct pml_rows *rows,
                           struct pml_message *message);

#endif
