/* SPDX-License-Identifier: Apache-2.0
 * How blobs of a gallery begin (SPEC 8): four letters that say what it is, and the version of its format. */
#ifndef PML_BLOB_KIND_H
#define PML_BLOB_KIND_H

#include "common/message.h"

#include <stddef.h>
#include <stdint.h>

struct pml_blob_kind {
    uint8_t letters[4];
    uint32_t version; /* the one that is read and written */
    const char *what; /* in messages */
};

/* Writes the 8 bytes. */
void pml_blob_begin(const struct pml_blob_kind *kind, uint8_t *bytes);

/* Whether bytes begin like that. Returns PML_DONE; PML_DAMAGED when they are too few or have other letters; or
 * PML_OTHER_VERSION with a message. */
pml_outcome pml_blob_begins(const struct pml_blob_kind *kind, const uint8_t *bytes, size_t size,
                            struct pml_message *message);

#endif
