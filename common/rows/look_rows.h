/* SPDX-License-Identifier: Apache-2.0
 * Several looks at one photo become one row of features (SPEC 5.20). */
#ifndef PML_LOOK_ROWS_H
#define PML_LOOK_ROWS_H

#include "common/npy.h"

/* Replaces every `looks` rows that follow each other, 1 to PML_LOOKS_MAX, by their mean. Returns PML_DONE, or with a message
 * that names no value: PML_REFUSED when the rows do not divide by `looks` or looks cancel each other, PML_NO_MEMORY. */
pml_outcome pml_look_rows(struct pml_features *features, size_t looks, const char *path, struct pml_message *message);

#endif
