/* SPDX-License-Identifier: Apache-2.0
 * What a front is compared with that was trained with --uncertainty or --ridge. */
#ifndef CLI_TRAIN_BASELINE_H
#define CLI_TRAIN_BASELINE_H

#include "tools/train/train_measure.h"

/* Trains the same method on the same rows, taken for certain, with a ridge that held-out rows choose, and measures the
 * accuracy of the 5 nearest. Leaves it as it is when that would be the same front again. */
pml_outcome train_baseline(const struct pml_train_options *options, const struct pml_train_set *train,
                           const struct pml_train_set *test, double *accuracy, struct pml_message *message);

#endif
