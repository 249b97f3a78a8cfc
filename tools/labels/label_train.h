/* SPDX-License-Identifier: Apache-2.0
 * Trains labels, of which a row may have several: C-GMVAE, the methods it is compared with, and a head for the device.
 * Training is in doubles on one thread: the same machine gives the same bytes for the same rows and seed. */
#ifndef PML_LABEL_TRAIN_H
#define PML_LABEL_TRAIN_H

#include "label_measures.h"

#include "tools/train/train.h"

#define PML_LABEL_ROWS_MIN 20u /* to train with */

/* Rows of one modality, and which labels each row of the features has. */
struct pml_label_set {
    struct pml_train_set rows;
    const struct pml_marks *marks;
};

struct pml_label_options {
    uint64_t seed;
    size_t epochs; /* at most; 0 means 100 */
    unsigned threads;
    const struct pml_progress *progress; /* may be NULL */
};

typedef enum pml_label_way {
    PML_WAY_CGMVAE,
    PML_WAY_LINEAR,
    PML_WAY_PERCEPTRON,
    PML_WAY_NEIGHBOURS,
    PML_WAYS
} pml_label_way;

struct pml_label_result {
    struct pml_label_measures ways[PML_WAYS]; /* thresholds are chosen on the validation rows */
    struct pml_label_measures head;           /* of the head's integers */
    size_t epochs, best;                      /* of C-GMVAE: until it stopped, and the one that was kept */
    double first, last;                       /* its mean loss in the first epoch and in the last */
    size_t neighbours;                        /* k of the nearest rows that vote */
    uint8_t *bytes;                           /* the head's file; pml_label_result_free */
    size_t size;
};

/* Returns PML_DONE, or another outcome with a message: too few rows, no label in any row, sets that do not fit each
 * other. `validation` chooses epochs and thresholds; measures are of `test`, which may be the same. */
pml_outcome pml_label_train(const struct pml_label_options *options, const struct pml_label_set *train,
                            const struct pml_label_set *validation, const struct pml_label_set *test,
                            struct pml_label_result *result, struct pml_message *message);

void pml_label_result_free(struct pml_label_result *result);

#endif
