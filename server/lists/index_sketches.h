/* SPDX-License-Identifier: Apache-2.0
 * Sketches of many items (SPEC 5.13): the bytes that pml_sketch gives, sooner. */
#ifndef PML_INDEX_SKETCHES_H
#define PML_INDEX_SKETCHES_H

#include "common/message.h"
#include "common/rows/rows.h"

#include <privatemail_public.h>

struct pml_sketches;

/* The pack has sketches, and outlives it. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_sketches_open(struct pml_sketches **sketches, const pml_pack *pack);
void pml_sketches_close(struct pml_sketches *sketches);

/* out[i·L …]: the sketch of row i, of L bytes. The rows have as many columns as the pack has features. Any number of threads
 * may call it at once. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_sketches_make(const struct pml_sketches *sketches, const struct pml_rows *rows, unsigned threads,
                              const struct pml_progress *progress, int8_t *out);

#endif
