/* SPDX-License-Identifier: Apache-2.0
 * Runs independent pieces of work on several threads. */
#ifndef PML_PARALLEL_H
#define PML_PARALLEL_H

#include "message.h"
#include "progress.h"

#include <stddef.h>

/* Does one piece. Any outcome but PML_DONE stops the others. Pieces run in any order and at once, so what one writes no
 * other may touch. */
typedef pml_outcome (*pml_piece_fn)(void *context, size_t index);

/* Runs pieces 0 … count−1 on `threads` threads, one of which is the caller's. Only the caller's reports progress, which
 * may be NULL. When the system refuses a thread, the others do its work. Returns PML_DONE, or the outcome of a piece that
 * failed. */
pml_outcome pml_parallel(unsigned threads, size_t count, pml_piece_fn piece, void *context,
                         const struct pml_progress *progress);

/* Returns `wanted`, or the number of processors when that is 0. */
unsigned pml_parallel_threads(unsigned wanted);

#endif
