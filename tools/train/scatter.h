/* SPDX-License-Identifier: Apache-2.0
 * Rows as doubles, their classes, means and scatter. */
#ifndef PML_SCATTER_H
#define PML_SCATTER_H

#include "front_bytes.h"
#include "train.h"

struct pml_rows;

/* Rows of length 1: int8 values by their inverse norm. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_scatter_units(const struct pml_rows *rows, struct pml_matrix *units);

/* Subtracts the mean of the rows from each of them and returns it in `mean`, of matrix->columns numbers. */
void pml_scatter_centre(struct pml_matrix *matrix, double *mean);

/* Classes numbered from 0 by their labels in ascending order. */
struct pml_classes {
    uint32_t *of;    /* per row of the set */
    uint32_t *sizes; /* per class */
    int32_t *labels; /* per class */
    size_t count;
};

/* Returns PML_DONE, PML_NO_MEMORY, or PML_REFUSED with a message when all rows are of one class. */
pml_outcome pml_classes_number(const struct pml_train_set *set, struct pml_classes *classes,
                               struct pml_message *message);
void pml_classes_free(struct pml_classes *classes);

/* sums: a row per class, the sum of its rows of `matrix`. */
void pml_classes_sum(const struct pml_classes *classes, const struct pml_matrix *matrix, struct pml_matrix *sums);

#endif
