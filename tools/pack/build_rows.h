/* SPDX-License-Identifier: Apache-2.0
 * The rows that a pack is built from, mapped by their fronts: public ones of all modalities, and those of a gallery. */
#ifndef PML_BUILD_ROWS_H
#define PML_BUILD_ROWS_H

#include "common/rows/rows.h"
#include "pack_builder.h"

/* Checks that features fit the modalities. Returns PML_DONE, or PML_REFUSED with a message. */
pml_outcome pml_build_rows_check(const struct pml_build_options *options, const struct pml_features *features,
                                 struct pml_message *message);

/* How many rows there are in all modalities, and how many features each has behind its front. */
size_t pml_build_rows_count(const struct pml_build_options *options, const struct pml_features *features);
size_t pml_build_rows_columns(const struct pml_build_options *options, const struct pml_features *features);

/* Maps them: first `features`, then options->with by modality. Returns PML_DONE, or another outcome with a message. */
pml_outcome pml_build_rows(struct pml_rows *rows, const struct pml_build_options *options,
                           const struct pml_features *features, const struct pml_progress *progress,
                           struct pml_message *message);

/* Appends the rows of options->gallery to a copy of `public`, but those that equal a row of `public`: these are public. Returns
 * PML_DONE, or another outcome with a message. Free `all` after a failure too. */
pml_outcome pml_build_rows_gallery(struct pml_rows *all, const struct pml_rows *public,
                                   const struct pml_build_options *options, struct pml_message *message);

/* Their classes, which the caller frees: row i of every modality has the i-th. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_build_rows_labels(struct pml_labels *all, const struct pml_build_options *options,
                                  const struct pml_features *features, const struct pml_labels *labels);

#endif
