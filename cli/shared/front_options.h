/* SPDX-License-Identifier: Apache-2.0
 * The options of modalities, for commands that build packs: --front NAME=FILE, --modality NAME, --with NAME=F.npy. */
#ifndef CLI_FRONT_OPTIONS_H
#define CLI_FRONT_OPTIONS_H

#include "command.h"
#include "common/fronts.h"
#include "common/npy.h"

struct front_arguments {
    struct option_list fronts, with;
    const char *modality; /* of the public rows; NULL: the first */
};

enum { FRONT_OPTIONS = 3 };

void front_options_fill(struct front_arguments *arguments, struct option_spec specs[FRONT_OPTIONS]);

/* What the files hold. */
struct front_inputs {
    struct pml_fronts fronts; /* none: features are used as they are */
    size_t modality;
    struct pml_features with[PML_MODALITIES_MAX]; /* no rows: none */
};

/* Reads the files. Free the inputs after a failure too; a zeroed struct may be freed. */
exit_code front_inputs_read(const struct command *command, const struct front_arguments *arguments,
                            struct front_inputs *inputs);
void front_inputs_free(struct front_inputs *inputs);

/* A head (SPEC 1.2), of --head. */
struct head_input {
    pml_front front; /* points into the file */
    uint8_t *file;
};

/* Reads the file; without a path there is none. Fails when it is no head. A zeroed struct may be freed. */
exit_code head_input_read(const struct command *command, const char *path, struct head_input *head);

/* Fails unless the head takes what the fronts make of `columns` features. */
exit_code head_input_agree(const struct command *command, const char *path, const struct head_input *head,
                           const struct front_inputs *inputs, size_t columns);
void head_input_free(struct head_input *head);

/* Rows of all --with together. */
size_t front_inputs_rows(const struct front_inputs *inputs);

/* The number of the modality that an option names; NULL: `otherwise`. */
exit_code front_inputs_find(const struct command *command, const struct front_inputs *inputs, const char *option,
                            const char *name, size_t otherwise, size_t *modality);

#endif
