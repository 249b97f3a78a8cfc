/* SPDX-License-Identifier: Apache-2.0
 * Runs independent pieces of work on several threads. */
#ifndef PML_PARALLEL_H
#define PML_PARALLEL_H

#include <stddef.h>

/* Where progress is told; `report` may be NULL. */
struct pml_progress {
    void (*report)(void *context, const char *stage, double done);
    void *context;
    const char *stage;
};

void pml_progress_tell(const struct pml_progress *progress, double done);

/* One piece; 0, or −1 to stop everything. Pieces run in any order and at once: what one writes no other may touch. */
typedef int (*pml_piece_fn)(void *context, size_t index);

/* Runs pieces 0 … count−1 on `threads` threads, the caller's among them; only the caller's tells progress, which may
 * be NULL. −1 when a piece failed. Threads the system refuses are done without. */
int pml_parallel(unsigned threads, size_t count, pml_piece_fn piece, void *context,
                 const struct pml_progress *progress);

/* `wanted`, or as many as the host has when it is 0. */
unsigned pml_parallel_threads(unsigned wanted);

#endif
