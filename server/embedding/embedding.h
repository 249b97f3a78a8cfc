/* SPDX-License-Identifier: Apache-2.0
 * The embedding of both sides (SPEC 6.1 to 6.4): where gallery items are, and where the rows of a release are among
 * them. Everything here works on public data and on releases. */
#ifndef PML_EMBEDDING_H
#define PML_EMBEDDING_H

#include "common/message.h"
#include "common/rows/rows.h"

#include <privatemail_public.h>

#define PML_ITERATIONS_DEFAULT 0u /* more of them lose what the codes and the noise left (docs/DESIGN.md) */
#define PML_ITERATIONS_MAX 64u

/* The anchors of one pack at every time on both sides, the server's and the client's, and the alignment. It does not
 * change once it is made: any thread may use it. */
struct pml_embedding;

/* The pack must have anchors and must outlive the embedding. Returns PML_DONE, or another outcome with a message: also
 * when so many iterations could make numbers that are too large (SPEC 6.1). */
pml_outcome pml_embedding_make(struct pml_embedding **embedding, const pml_pack *pack, unsigned iterations,
                               unsigned threads, const struct pml_progress *progress, struct pml_message *message);
void pml_embedding_free(struct pml_embedding *embedding);

/* SPEC 6.2: the places (k numbers each) of `rows->count` items of these slots. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_embedding_items(const struct pml_embedding *embedding, const struct pml_rows *rows,
                                const uint32_t *slots, unsigned threads, float *places);

/* SPEC 6.3, 6.4: the places of the G×k rows of a release among the items. */
void pml_embedding_place(const struct pml_embedding *embedding, const float *released, double *places);

#endif
