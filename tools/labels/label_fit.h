/* SPDX-License-Identifier: Apache-2.0
 * Trains a network in mini-batches, and keeps what was best on rows that it is not trained with. */
#ifndef PML_LABEL_FIT_H
#define PML_LABEL_FIT_H

#include "label_network.h"

#include "common/progress.h"

/* Rows, and 0 or 1 per row and label. Owns nothing. */
struct pml_label_part {
    struct pml_matrix rows;
    const uint8_t *marks;
};

struct pml_fit_options {
    uint64_t seed;
    size_t epochs; /* at most */
    double rate, decay;
    double jitter; /* deviation of noise that is added to every feature of a row, anew in every epoch */
    const struct pml_progress *progress; /* may be NULL */
};

struct pml_fit {
    size_t epochs;      /* until training stopped */
    size_t best;        /* the epoch that was kept, from 1 */
    double first, last; /* the mean loss of the first epoch and of the last */
    double threshold;   /* of scores, with the largest micro-F1 on the validation rows */
    double micro_f1;    /* that micro-F1 */
};

/* Makes the network and trains it. The rate is halved when micro-F1 on the validation rows has not risen for a while,
 * and training stops when that does not help either. Returns PML_DONE, PML_NO_MEMORY, or PML_REFUSED when the loss is
 * not finite. */
pml_outcome pml_label_fit(struct pml_network *network, const struct pml_label_part *train,
                          const struct pml_label_part *validation, const struct pml_fit_options *options,
                          struct pml_fit *fit);

/* Scores of all rows, into a matrix that is allocated here. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_label_score(const struct pml_network *network, const struct pml_matrix *rows,
                            struct pml_matrix *scores);

#endif
