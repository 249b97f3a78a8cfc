/* SPDX-License-Identifier: Apache-2.0
 * The galleries that serve answers from: the stores they are in, and following them. */
#ifndef SERVE_GALLERIES_H
#define SERVE_GALLERIES_H

#include "cli/shared/pack_file.h"
#include "server/http/http.h"

#include <pthread.h>

struct gallery {
    struct galleries *all;
    size_t index;
    struct pml_follow *follow;
    struct pml_message told; /* what was wrong at the last look: it is told once */
    struct pml_name version; /* that was served at the last look */
};

struct galleries {
    const struct option_list *paths, *uris; /* of packs and stores */
    const struct pack_file *files;          /* the packs, in the order of their paths */
    uint64_t nearest, cache_bytes, poll;
    bool fill; /* parts are read into the cache before a version is served */

    struct pml_store *stores[OPTION_LIST_MAX];
    struct gallery galleries[OPTION_LIST_MAX];
    struct pml_cache *cache; /* NULL: none is wanted */

    pthread_t follower;
    bool following;
    bool wanted, ended;   /* a look at once; no more looks */
    pthread_mutex_t lock; /* of these two */
    pthread_cond_t wake;
};

/* Finds the store of every pack, and opens its gallery. The fields above the empty line are set, all others zero. */
exit_code galleries_open(struct galleries *galleries);
void galleries_close(struct galleries *galleries);

/* From now on looks for newer versions every `poll` seconds, if that is not 0, and tells what happens on stderr. */
exit_code galleries_follow(struct galleries *galleries);

/* Has it look at once. */
void galleries_look(struct galleries *galleries);

#endif
