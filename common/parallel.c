/* SPDX-License-Identifier: Apache-2.0
 * Runs pieces of work on several threads. Which thread runs a piece never changes what it computes. */
#include "parallel.h"
#include "system.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS_MAX 256u

struct crew {
    pml_piece_fn piece;
    void *context;
    size_t count;
    atomic_size_t next, done;
    atomic_int outcome; /* PML_DONE until a piece fails */
};

static void work(struct crew *crew, const struct pml_progress *progress)
{
    while (atomic_load(&crew->outcome) == PML_DONE) {
        size_t index = atomic_fetch_add(&crew->next, 1);
        if (index >= crew->count)
            return;
        pml_outcome outcome = crew->piece(crew->context, index);
        if (outcome != PML_DONE)
            atomic_store(&crew->outcome, outcome);
        size_t done = atomic_fetch_add(&crew->done, 1) + 1;
        pml_progress_tell(progress, (double)done / (double)crew->count);
    }
}

static void *work_beside(void *crew)
{
    work(crew, NULL);
    return NULL;
}

pml_outcome pml_parallel(unsigned threads, size_t count, pml_piece_fn piece, void *context,
                         const struct pml_progress *progress)
{
    struct crew crew = {.piece = piece, .context = context, .count = count};
    atomic_init(&crew.next, 0);
    atomic_init(&crew.done, 0);
    atomic_init(&crew.outcome, PML_DONE);
    pthread_t helpers[THREADS_MAX];
    unsigned started = 0;
    while (started + 1 < threads && started + 1 < count && started < THREADS_MAX &&
           pthread_create(&helpers[started], NULL, work_beside, &crew) == 0)
        started++;
    work(&crew, progress);
    while (started > 0)
        pthread_join(helpers[--started], NULL);
    return (pml_outcome)atomic_load(&crew.outcome);
}

unsigned pml_parallel_threads(unsigned wanted)
{
    if (wanted > 0)
        return wanted;
    const unsigned processors = pml_system_processors();
    return processors < THREADS_MAX ? processors : THREADS_MAX;
}
