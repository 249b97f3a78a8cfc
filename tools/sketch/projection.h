/* SPDX-License-Identifier: Apache-2.0
 * The projection that plain sketches are made with (SPEC 5.13): the principal directions of the public rows, turned. */
#ifndef PML_PROJECTION_H
#define PML_PROJECTION_H

#include "common/rows/rows.h"

/* Writes length × columns values −127 … 127. The rows of the result span the min(length, columns) directions in which
 * unit vectors like `rows` extend most, and keep their inner products there; a random rotation gives every byte of a
 * sketch about the same share, so that eight bits are enough for each. Same bytes on every platform that has IEEE doubles,
 * whatever the number of threads. At most 4096 of the rows are looked at. Needs 8 bytes × columns² of
 * memory. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_projection_make(const struct pml_rows *rows, size_t length, uint64_t seed, unsigned threads,
                                const struct pml_progress *progress, int8_t *out);

#endif
