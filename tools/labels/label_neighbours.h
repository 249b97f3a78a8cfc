/* SPDX-License-Identifier: Apache-2.0
 * The k nearest training rows vote: the score of a label is the share of them that have it. */
#ifndef PML_LABEL_NEIGHBOURS_H
#define PML_LABEL_NEIGHBOURS_H

#include "label_fit.h"

struct pml_label_votes {
    size_t neighbours; /* k, the best of 4, 8, 16, 32 and 64 on the validation rows */
    double threshold;
};

/* Rows must have length 1. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_label_votes_choose(const struct pml_label_part *train, const struct pml_label_part *validation,
                                   size_t labels, struct pml_label_votes *votes);

/* Scores of all rows, into a matrix that is allocated here. */
pml_outcome pml_label_votes_score(const struct pml_label_part *train, const struct pml_matrix *rows, size_t labels,
                                  size_t neighbours, struct pml_matrix *scores);

#endif
