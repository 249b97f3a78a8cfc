/* SPDX-License-Identifier: Apache-2.0
 * Reports how far a long piece of work has come. */
#ifndef PML_PROGRESS_H
#define PML_PROGRESS_H

/* Whom to tell; `report` may be NULL. */
struct pml_progress {
    void (*report)(void *context, const char *stage, double done); /* done: 0 … 1 */
    void *context;
    const char *stage;
};

/* `progress` may be NULL. */
static inline void pml_progress_tell(const struct pml_progress *progress, double done)
{
    if (progress && progress->report)
        progress->report(progress->context, progress->stage, done);
}

#endif
