/* SPDX-License-Identifier: Apache-2.0
 * The builder's options, checked, with every default filled in. */
#ifndef PML_BUILD_OPTIONS_H
#define PML_BUILD_OPTIONS_H

#include "pack_builder.h"

/* Checks what can be checked before any work. On success no field of `options` that has a default is 0 any more
 * (bandwidth, dimensions, slot_count and prototypes_per_cell stay 0 for auto; share and epsilon stay 0 where cells are
 * given). Returns PML_DONE, or PML_REFUSED with a message. */
pml_outcome pml_options_resolve(struct pml_build_options *options, const struct pml_features *features,
                                const struct pml_labels *labels, struct pml_message *message);

#endif
