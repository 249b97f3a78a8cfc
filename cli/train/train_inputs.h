/* SPDX-License-Identifier: Apache-2.0
 * What train reads: rows of one or two modalities, and labels. */
#ifndef CLI_TRAIN_INPUTS_H
#define CLI_TRAIN_INPUTS_H

#include "cli/shared/command.h"
#include "tools/train/train.h"

#include <privatemail.h>

/* `NAME=PATH` of --with. */
struct train_pair {
    char name[PML_MODALITY_NAME_MAX + 1];
    const char *path; /* NULL when not given */
};

/* Fails unless the name is one that a modality may have. `text` may be NULL. */
exit_code train_pair_read(const char *option, const char *text, struct train_pair *pair);

struct train_paths {
    const char *features, *with, *labels, *uncertainty; /* all but the first may be NULL */
};

/* Rows that belong together, with a view of all of them. */
struct train_inputs {
    struct pml_features features[PML_TRAIN_MODALITIES];
    struct pml_labels labels;
    struct pml_features uncertainty;
    uint32_t *indices;
    struct pml_train_set set;
};

/* Fails unless all have as many rows, and with `root` none is negative. */
exit_code train_inputs_read(const struct train_paths *paths, bool root, struct train_inputs *inputs);
void train_inputs_free(struct train_inputs *inputs);

/* Fails unless rows to measure with have as many features as those that were trained with. */
exit_code train_inputs_agree(const struct train_inputs *train, const struct train_inputs *test,
                             const struct train_paths *paths);

#endif
