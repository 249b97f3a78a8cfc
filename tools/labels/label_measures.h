/* SPDX-License-Identifier: Apache-2.0
 * How good scores of several labels per row are. A label is predicted where its score lies above a threshold. */
#ifndef PML_LABEL_MEASURES_H
#define PML_LABEL_MEASURES_H

#include "tools/algebra/matrix.h"

#include <stdbool.h>
#include <stdint.h>

/* F1 is 2·right / (predicted + true), and 1 where nothing is true and nothing predicted. */
struct pml_label_measures {
    double example_f1; /* the mean of the rows' F1 */
    double micro_f1;   /* F1 of all rows and labels together */
    double macro_f1;   /* the mean of the labels' F1 */
    double hamming;    /* share of rows × labels that are told right */
};

/* `marks` holds 0 or 1 per row and label, as scores do. */
struct pml_label_measures pml_label_measure(const struct pml_matrix *scores, const uint8_t *marks, double threshold);

/* The threshold with the largest micro-F1, which goes to *micro_f1. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_label_threshold(const struct pml_matrix *scores, const uint8_t *marks, double *threshold,
                                double *micro_f1);

#endif
