/* SPDX-License-Identifier: Apache-2.0
 * The embedding of both sides (SPEC 6.1 to 6.4): where gallery items stand, and where the rows of a release stand among
 * them. Everything here works on public data and on releases. */
#ifndef PML_EMBEDDING_H
#define PML_EMBEDDING_H

#include "common/npy.h"
#include "common/rows/rows.h"

#include <privatemail_public.h>

#define PML_ITERATIONS_DEFAULT 5u
#define PML_ITERATIONS_MAX 64u

/* The anchors of one pack at every time in both frames, and the alignment. Constant once made: any thread may use
 * it. */
struct pml_embedding;

/* The pack must have anchors and must outlive the frames. 0, or not with a message: also when this many iterations
 * could make numbers that are too large (SPEC 6.1). */
int pml_embedding_make(struct pml_embedding **frames, const pml_pack *pack, unsigned iterations, unsigned threads,
                       const struct pml_progress *progress, struct pml_message *message);
void pml_embedding_free(struct pml_embedding *frames);

/* SPEC 6.2: the place (k numbers each) of `rows->count` items of these slots. −1 without memory. */
int pml_embedding_items(const struct pml_embedding *frames, const struct pml_rows *rows, const uint32_t *slots,
                        unsigned threads, float *places);

/* SPEC 6.3, 6.4: the G×k rows of a release to their places in the server's frame. −1 without memory. */
int pml_embedding_place(const struct pml_embedding *frames, const float *released, double *places);

#endif
