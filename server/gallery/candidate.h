/* SPDX-License-Identifier: Apache-2.0
 * Candidates as stores keep them (SPEC 3.1). */
#ifndef PML_CANDIDATE_H
#define PML_CANDIDATE_H

#include "common/bytes.h"

#include <privatemail.h>

/* One candidate; `sketch` and `payload` point into the bytes it was read from. */
struct pml_candidate {
    uint64_t item;
    int32_t label;
    const int8_t *sketch;
    size_t sketch_size;
    const uint8_t *payload;
    size_t payload_size;
};

/* Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_candidate_write(struct pml_bytes *bytes, const struct pml_candidate *candidate);

/* Reads the candidate at *offset and moves *offset behind it. Returns false, with *offset unchanged, when there is none,
 * or when it is encoded otherwise than pml_candidate_write would. */
bool pml_candidate_read(const uint8_t *bytes, size_t size, size_t *offset, struct pml_candidate *candidate);

#endif
