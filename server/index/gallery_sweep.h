/* SPDX-License-Identifier: Apache-2.0
 * What versions need, and taking away what none needs. */
#ifndef PML_GALLERY_SWEEP_H
#define PML_GALLERY_SWEEP_H

#include "name_set.h"
#include "record.h"

/* Adds the names of a version, its parts and their pages. Returns PML_DONE, or another outcome with a message. */
pml_outcome pml_version_parts(struct pml_store *store, const struct pml_name *version, struct pml_name_set *parts,
                              struct pml_message *message);

/* Adds the names of all private blobs of a state, without its own. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_state_blobs(const struct pml_state *state, struct pml_name_set *blobs);

/* Takes away all blobs that no kept version of any pack, nor an unfinished index, nor the version `also` (which may be NULL)
 * needs, and counts them. When it cannot be found out what is needed, nothing is taken away. Returns PML_DONE, or another
 * outcome with a message. */
pml_outcome pml_gallery_sweep(struct pml_store *store, const struct pml_name *also, uint64_t *swept,
                              struct pml_message *message);

#endif
