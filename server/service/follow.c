/* SPDX-License-Identifier: Apache-2.0
 * Follows a gallery from version to version. */
#include "follow.h"

#include <pthread.h>
#include <stdlib.h>

struct pml_follow {
    const pml_pack *pack;
    pml_pack_info info;
    struct pml_store *store;
    struct pml_follow_options options;
    struct pml_service_counts counts;
    atomic_ullong switches, failures;
    pthread_mutex_t looking; /* one at a time; taken before `lock` */
    pthread_mutex_t lock;    /* of the two below */
    struct pml_service *current, *previous;
};

static pml_outcome prepare(const struct pml_follow *follow, const struct pml_service *version,
                           struct pml_message *message)
{
    return follow->options.prepare ? follow->options.prepare(follow->options.context, version, message) : PML_DONE;
}

pml_outcome pml_follow_open(struct pml_follow **follow, const pml_pack *pack, struct pml_store *store,
                            const struct pml_follow_options *options, struct pml_message *message)
{
    struct pml_follow *made = calloc(1, sizeof *made);
    *follow = NULL;
    if (!made)
        return pml_say_memory(message);
    made->pack = pack;
    made->store = store;
    made->options = *options;
    made->options.service.counts = &made->counts;
    pthread_mutex_init(&made->looking, NULL);
    pthread_mutex_init(&made->lock, NULL);
    pml_outcome outcome = pml_service_open(&made->current, pack, store, &made->options.service, message);
    if (outcome == PML_DONE)
        outcome = prepare(made, made->current, message);
    if (outcome != PML_DONE) {
        pml_follow_close(made);
        return outcome;
    }
    made->info = *pml_service_pack(made->current);
    *follow = made;
    return PML_DONE;
}

void pml_follow_close(struct pml_follow *follow)
{
    if (!follow)
        return;
    pml_service_unref(follow->current);
    pml_service_unref(follow->previous);
    pthread_mutex_destroy(&follow->looking);
    pthread_mutex_destroy(&follow->lock);
    free(follow);
}

const pml_pack_info *pml_follow_pack(const struct pml_follow *follow)
{
    return &follow->info;
}

pml_status pml_follow_read(const struct pml_follow *follow, const void *release, size_t size, pml_release_view *view)
{
    return pml_release_parse(follow->pack, release, size, view);
}

struct pml_service *pml_follow_take(struct pml_follow *follow)
{
    pthread_mutex_lock(&follow->lock);
    struct pml_service *service = pml_service_ref(follow->current);
    pthread_mutex_unlock(&follow->lock);
    return service;
}

/* ---- the next version ---- */

static void switch_to(struct pml_follow *follow, struct pml_service *next)
{
    pthread_mutex_lock(&follow->lock);
    struct pml_service *gone = follow->previous;
    follow->previous = follow->current;
    follow->current = next;
    pthread_mutex_unlock(&follow->lock);
    pml_service_unref(gone);
    atomic_fetch_add(&follow->switches, 1);
}

static pml_outcome look(struct pml_follow *follow, bool *switched, struct pml_message *message)
{
    struct pml_pointer pointer;
    struct pml_service *next;
    pml_outcome outcome = pml_store_pointer(follow->store, follow->info.id, &pointer);
    if (outcome == PML_ABSENT || (outcome == PML_DONE && pml_name_none(&pointer.version))) {
        pml_say(message, "the store no longer names a gallery of this pack. Index it again (privatemail index).");
        return PML_ABSENT;
    }
    if (outcome != PML_DONE) {
        pml_say(message, "the store cannot be asked for a newer gallery. Check that it can be reached.");
        return outcome;
    }
    /* Only who looks replaces the current version. */
    if (pml_name_same(&pointer.version, pml_service_version(follow->current)))
        return PML_DONE;
    outcome = pml_service_next(&next, follow->current, &pointer.version, message);
    if (outcome == PML_DONE) {
        outcome = prepare(follow, next, message);
        if (outcome != PML_DONE)
            pml_service_unref(next);
    }
    if (outcome != PML_DONE) {
        atomic_fetch_add(&follow->failures, 1);
        return outcome;
    }
    switch_to(follow, next);
    *switched = true;
    return PML_DONE;
}

pml_outcome pml_follow_look(struct pml_follow *follow, bool *switched, struct pml_message *message)
{
    bool came = false;
    pthread_mutex_lock(&follow->looking);
    const pml_outcome outcome = look(follow, &came, message);
    pthread_mutex_unlock(&follow->looking);
    if (switched)
        *switched = came;
    return outcome;
}

/* ---- answers ---- */

/* Whether another version than this one is served, now or after a look. */
static bool is_over(struct pml_follow *follow, const struct pml_service *service)
{
    (void)pml_follow_look(follow, NULL, NULL);
    struct pml_service *now = pml_follow_take(follow);
    const bool over = now != service;
    pml_service_unref(now);
    return over;
}

pml_outcome pml_follow_answer(struct pml_follow *follow, const pml_release_view *view, struct pml_service **service,
                              struct pml_parts *parts)
{
    *service = pml_follow_take(follow);
    pml_outcome outcome = pml_service_parts(*service, view, parts);
    if (outcome == PML_ABSENT && is_over(follow, *service)) {
        pml_service_unref(*service);
        *service = pml_follow_take(follow);
        outcome = pml_service_parts(*service, view, parts);
    }
    if (outcome != PML_DONE) {
        pml_service_unref(*service);
        *service = NULL;
    }
    return outcome;
}

pml_outcome pml_follow_part(struct pml_follow *follow, const struct pml_name *name, struct pml_part **part)
{
    pml_outcome outcome = PML_ABSENT;
    *part = NULL;
    pthread_mutex_lock(&follow->lock);
    struct pml_service *versions[] = {pml_service_ref(follow->current),
                                      follow->previous ? pml_service_ref(follow->previous) : NULL};
    pthread_mutex_unlock(&follow->lock);
    for (size_t i = 0; i < 2 && outcome == PML_ABSENT; i++)
        if (versions[i] && pml_service_has(versions[i], name)) {
            outcome = pml_service_part(versions[i], name, part);
            /* The previous version may be gone, the current one may not. */
            outcome = outcome == PML_ABSENT && i == 0 ? PML_DAMAGED : outcome;
        }
    pml_service_unref(versions[0]);
    pml_service_unref(versions[1]);
    return outcome;
}

pml_outcome pml_follow_ping(const struct pml_follow *follow)
{
    return pml_store_ping(follow->store);
}

struct pml_follow_counts pml_follow_count(const struct pml_follow *follow)
{
    return (struct pml_follow_counts){follow->counts.queries, follow->counts.touched, follow->switches,
                                      follow->failures};
}
