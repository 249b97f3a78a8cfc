/* SPDX-License-Identifier: Apache-2.0
 * One function per method; train.c chooses. */
#ifndef PML_TRAIN_METHODS_H
#define PML_TRAIN_METHODS_H

#include "front_bytes.h"
#include "train.h"

#include "common/rows/rows.h"

/* What a method gets: quantised rows, as they enter the front, and options that have been checked against its trait. */
struct pml_train_job {
    const struct pml_train_options *options;
    const struct pml_train_set *set;
    struct pml_rows rows[PML_TRAIN_MODALITIES];
};

/* Writes a front file per modality of the set. */
typedef pml_outcome (*pml_train_fn)(const struct pml_train_job *job, struct pml_train_result *result,
                                    struct pml_message *message);

pml_outcome pml_train_gauss(const struct pml_train_job *job, struct pml_train_result *result,
                            struct pml_message *message);
pml_outcome pml_train_dct(const struct pml_train_job *job, struct pml_train_result *result,
                          struct pml_message *message);
/* These need LAPACKE. */
pml_outcome pml_train_pca(const struct pml_train_job *job, struct pml_train_result *result,
                          struct pml_message *message);
pml_outcome pml_train_lda(const struct pml_train_job *job, struct pml_train_result *result,
                          struct pml_message *message);
pml_outcome pml_train_lda_head(const struct pml_train_job *job, struct pml_train_result *result,
                               struct pml_message *message);
pml_outcome pml_train_cca(const struct pml_train_job *job, struct pml_train_result *result,
                          struct pml_message *message);
pml_outcome pml_train_codes(const struct pml_train_job *job, struct pml_train_result *result,
                            struct pml_message *message);
pml_outcome pml_train_mnse(const struct pml_train_job *job, struct pml_train_result *result,
                           struct pml_message *message);
pml_outcome pml_train_graph(const struct pml_train_job *job, struct pml_train_result *result,
                            struct pml_message *message);

/* Refuses more dimensions than a method can give, because of `why`. */
pml_outcome pml_train_limit(const struct pml_train_options *options, size_t most, const char *why,
                            struct pml_message *message);

/* Makes the front file of a modality from weights (k × d_in) and the mean that is subtracted first, NULL for none. */
pml_outcome pml_train_put_matrix(const struct pml_train_job *job, size_t modality, const struct pml_matrix *weights,
                                 const double *mean, struct pml_train_result *result, struct pml_message *message);

#endif
