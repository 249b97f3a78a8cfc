/* SPDX-License-Identifier: Apache-2.0
 * Opens stores and follows galleries. What is wrong with a newer version does not stop the service. */
#define _XOPEN_SOURCE 700
#include "serve_galleries.h"

#include "common/clock.h"

#include <stdio.h>
#include <string.h>

/* ---- the cache ---- */

/* A pml_follow_options.prepare. The time of an answer must not tell a relay what was asked for before: all parts are read
 * before a version is served, if the cache can hold them and those of the other packs. */
static pml_outcome prepare(void *context, const struct pml_service *version, struct pml_message *message)
{
    const struct gallery *gallery = context;
    const struct galleries *all = gallery->all;
    uint64_t cost = pml_service_parts_cost(version);
    for (size_t i = 0; i < all->paths->count; i++) {
        struct pml_follow *other = i == gallery->index ? NULL : all->galleries[i].follow;
        struct pml_service *service = other ? pml_follow_take(other) : NULL;
        cost += service ? pml_service_parts_cost(service) : 0;
        pml_service_unref(service);
    }
    if (cost > all->cache_bytes) {
        fprintf(
            stderr,
            "privatemail serve: all parts of answers take %llu bytes, more than the cache has: a relay may learn from "
            "the time of an answer whether its cell was asked for before. Give --cache-bytes %llu or more.\n",
            (unsigned long long)cost, (unsigned long long)cost);
        return PML_DONE;
    }
    const pml_outcome outcome = pml_service_fill_cache(version);
    if (outcome != PML_DONE)
        pml_say(message, "the parts of the gallery cannot be read. Check the store, or try again.");
    return outcome;
}

/* ---- opening ---- */

static exit_code open_stores(struct galleries *galleries)
{
    for (size_t i = 0; i < galleries->uris->count; i++) {
        struct pml_message message = {""};
        const pml_outcome outcome =
            pml_store_open(&galleries->stores[i], galleries->uris->values[i], PML_STORE_READ, &message);
        if (outcome != PML_DONE)
            return command_input(&command_serve, outcome, &message);
    }
    return EXIT_OK;
}

/* The first store that has a gallery of the pack; uris->count when none has. */
static exit_code find_store(const struct galleries *galleries, const struct pack_file *file, size_t *found)
{
    for (*found = 0; *found < galleries->uris->count; ++*found) {
        struct pml_pointer pointer;
        char shown[PML_STORE_SHOWN_MAX];
        const pml_outcome outcome = pml_store_pointer(galleries->stores[*found], file->info.id, &pointer);
        if (outcome == PML_DONE && !pml_name_none(&pointer.version))
            return EXIT_OK;
        if (outcome == PML_DONE || outcome == PML_ABSENT)
            continue;
        pml_store_show(galleries->uris->values[*found], shown);
        return command_fail(&command_serve, EXIT_INPUT,
                            "%s cannot be read. Check the disk or the database, and try again.", shown);
    }
    return EXIT_OK;
}

/* Which store every pack's gallery is in. No store may be left over, and no pack. */
static exit_code find_stores(const struct galleries *galleries, size_t *found)
{
    bool used[OPTION_LIST_MAX + 1] = {false};
    for (size_t i = 0; i < galleries->paths->count; i++) {
        const exit_code code = find_store(galleries, &galleries->files[i], &found[i]);
        if (code != EXIT_OK)
            return code;
        used[found[i]] = true;
    }
    for (size_t i = 0; i < galleries->uris->count; i++) {
        char shown[PML_STORE_SHOWN_MAX];
        pml_store_show(galleries->uris->values[i], shown);
        if (!used[i])
            return command_fail(&command_serve, EXIT_INPUT,
                                "%s has no gallery for a pack that needs one. Make it with privatemail index, or leave "
                                "the store out.",
                                shown);
    }
    for (size_t i = 0; i < galleries->paths->count; i++)
        if (found[i] == galleries->uris->count)
            return command_fail(&command_serve, EXIT_USAGE,
                                "%s has no gallery. Make one with privatemail index and give its store with --store.",
                                galleries->paths->values[i]);
    return EXIT_OK;
}

static exit_code open_gallery(struct galleries *galleries, size_t index, struct pml_store *store)
{
    struct gallery *gallery = &galleries->galleries[index];
    struct pml_progress progress = {progress_show, NULL, "embedding"};
    const struct pml_follow_options options = {.service = {.nearest = (uint32_t)galleries->nearest,
                                                           .progress = &progress,
                                                           .cache = galleries->cache,
                                                           .answer_max = galleries->fill ? PML_HTTP_ANSWER_MAX : 0},
                                               .prepare = galleries->fill ? prepare : NULL,
                                               .context = gallery};
    struct pml_message message = {""};
    gallery->all = galleries;
    gallery->index = index;
    const pml_outcome outcome =
        pml_follow_open(&gallery->follow, &galleries->files[index].pack, store, &options, &message);
    progress_end();
    if (outcome != PML_DONE)
        return command_fail(&command_serve, outcome == PML_NO_MEMORY ? EXIT_FAULT : EXIT_INPUT, "%s: %s",
                            galleries->paths->values[index], message.text);
    struct pml_service *service = pml_follow_take(gallery->follow);
    gallery->version = *pml_service_version(service);
    pml_service_unref(service);
    return EXIT_OK;
}

exit_code galleries_open(struct galleries *galleries)
{
    size_t found[OPTION_LIST_MAX];
    exit_code code = open_stores(galleries);
    if (code == EXIT_OK)
        code = find_stores(galleries, found);
    if (code == EXIT_OK && galleries->cache_bytes > 0 &&
        !(galleries->cache = pml_cache_open((size_t)galleries->cache_bytes)))
        return command_no_memory(&command_serve);
    for (size_t i = 0; i < galleries->paths->count && code == EXIT_OK; i++)
        code = open_gallery(galleries, i, galleries->stores[found[i]]);
    return code;
}

/* ---- following ---- */

static void look(struct gallery *gallery)
{
    const char *id = gallery->all->files[gallery->index].id;
    struct pml_message message = {""};
    char version[PML_NAME_DIGITS + 1];
    if (pml_follow_look(gallery->follow, NULL, &message) != PML_DONE) {
        if (strcmp(message.text, gallery->told.text) != 0)
            fprintf(stderr, "privatemail serve: pack %s: %s Its gallery stays as it was.\n", id, message.text);
        gallery->told = message;
        return;
    }
    gallery->told.text[0] = 0;
    struct pml_service *service = pml_follow_take(gallery->follow);
    if (!pml_name_same(pml_service_version(service), &gallery->version)) { /* a request may have found it */
        gallery->version = *pml_service_version(service);
        pml_name_write(&gallery->version, version);
        fprintf(stderr, "privatemail serve: pack %s: gallery %s, %llu items\n", id, version,
                (unsigned long long)pml_service_manifest(service)->items);
    }
    pml_service_unref(service);
}

/* One thread looks, so that what it tells is in order. */
static void *follow(void *context)
{
    struct galleries *galleries = context;
    const double pause = galleries->poll > 0 ? (double)galleries->poll : 1e9;
    pthread_mutex_lock(&galleries->lock);
    for (double next = pml_clock_now() + pause; !galleries->ended;) {
        const double now = pml_clock_now();
        if (!galleries->wanted && now < next) {
            pml_clock_wait(&galleries->wake, &galleries->lock, next - now < 3600.0 ? next - now : 3600.0);
            continue;
        }
        galleries->wanted = false;
        next = now + pause;
        pthread_mutex_unlock(&galleries->lock);
        for (size_t i = 0; i < galleries->paths->count; i++)
            look(&galleries->galleries[i]);
        pthread_mutex_lock(&galleries->lock);
    }
    pthread_mutex_unlock(&galleries->lock);
    return NULL;
}

exit_code galleries_follow(struct galleries *galleries)
{
    pthread_mutex_init(&galleries->lock, NULL);
    pml_clock_condition(&galleries->wake);
    if (pthread_create(&galleries->follower, NULL, follow, galleries) != 0)
        return command_fail(&command_serve, EXIT_FAULT,
                            "the system cannot start another thread. Close other programs.");
    galleries->following = true;
    return EXIT_OK;
}

static void wake(struct galleries *galleries, bool *flag)
{
    pthread_mutex_lock(&galleries->lock);
    *flag = true;
    pthread_cond_signal(&galleries->wake);
    pthread_mutex_unlock(&galleries->lock);
}

void galleries_look(struct galleries *galleries)
{
    wake(galleries, &galleries->wanted);
}

void galleries_close(struct galleries *galleries)
{
    if (galleries->following) {
        wake(galleries, &galleries->ended);
        pthread_join(galleries->follower, NULL);
    }
    for (size_t i = 0; i < OPTION_LIST_MAX; i++)
        pml_follow_close(galleries->galleries[i].follow);
    for (size_t i = 0; i < OPTION_LIST_MAX; i++)
        pml_store_close(galleries->stores[i]);
    pml_cache_close(galleries->cache);
}
