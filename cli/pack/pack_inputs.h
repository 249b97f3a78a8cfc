/* SPDX-License-Identifier: Apache-2.0
 * The files that pack reads. */
#ifndef CLI_PACK_INPUTS_H
#define CLI_PACK_INPUTS_H

#include "cli/shared/front_options.h"
#include "tools/pack/pack_builder.h"

struct pack_paths {
    const char *features, *labels, *gallery, *head; /* NULL: not given */
    struct front_arguments fronts;
};

struct pack_inputs {
    struct pml_features features, gallery;
    struct pml_labels labels;
    struct front_inputs fronts;
    struct head_input head;
};

/* Free the inputs after a failure too. */
exit_code pack_inputs_read(const struct pack_paths *paths, struct pack_inputs *inputs);
void pack_inputs_free(struct pack_inputs *inputs);

/* Checks that `out` is none of these files. */
exit_code pack_inputs_apart(const struct pack_paths *paths, const char *out);

/* Rows that cells are made of. */
size_t pack_inputs_rows(const struct pack_inputs *inputs);

#endif
