/* SPDX-License-Identifier: Apache-2.0
 * What the relay knows of the gateway: its keys, and the packs that clients asked for. A thread of its own asks, so that
 * a gateway that is slow or gone keeps no other request waiting. */
#include "relay_state.h"

#include "common/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <privatemail_platform.h>

#define KEYS_SECONDS 60.0   /* how often the key configuration is fetched at least; as often as epochs end */
#define ABSENT_SECONDS 10.0 /* how long it is believed that the gateway has no such pack */
enum { KEYS_MAX = 65536 };
#define PACK_MAX ((size_t)1 << 28)

/* ---- keys ---- */

/* A list of lengths and configurations that ends where the bytes do (SPEC 10.1). */
static bool is_configuration(const struct pml_bytes *keys)
{
    size_t left = keys->size;
    while (left >= 2) {
        const uint8_t *at = keys->bytes + keys->size - left;
        const size_t length = 2 + (size_t)(at[0] << 8 | at[1]);
        if (length > left)
            return false;
        left -= length;
    }
    return keys->size > 0 && left == 0;
}

pml_outcome relay_keys_fetch(struct pml_relay *relay, struct pml_message *message)
{
    struct pml_bytes keys = {0};
    pml_outcome outcome =
        relay_gateway_get(&relay->options.gateway, "/.well-known/ohttp-gateway", KEYS_MAX, &keys, message);
    if (outcome == PML_DONE && !is_configuration(&keys)) {
        pml_bytes_free(&keys);
        outcome = pml_say(message, "%s has no key configuration. Start it with serve --ohttp-key.",
                          relay->options.gateway.url);
    }
    if (outcome != PML_DONE)
        return outcome == PML_ABSENT ? PML_UNAVAILABLE : outcome;
    pthread_mutex_lock(&relay->lock);
    struct pml_bytes old = relay->keys;
    relay->keys = keys;
    relay_epochs_compare_keys(relay);
    pthread_mutex_unlock(&relay->lock);
    pml_bytes_free(&old);
    return PML_DONE;
}

/* ---- packs ---- */

static struct relay_pack *find(struct pml_relay *relay, const char *id)
{
    struct relay_pack *pack = relay->packs;
    while (pack && strcmp(pack->id, id) != 0)
        pack = pack->next;
    return pack;
}

struct relay_pack *relay_pack_find(struct pml_relay *relay, const char *id, bool *absent)
{
    struct relay_pack *pack = find(relay, id);
    struct relay_asked *place = NULL;
    const double now = pml_clock_now();
    *absent = false;
    if (pack && !pack->gone)
        return pack;
    for (size_t i = 0; i < RELAY_ASKED; i++) {
        struct relay_asked *asked = &relay->asked[i];
        if (asked->id[0] != 0 && asked->absent && now > asked->when + ABSENT_SECONDS)
            asked->id[0] = 0;
        if (asked->id[0] != 0 && strcmp(asked->id, id) == 0) {
            *absent = asked->absent;
            return NULL;
        }
        if (asked->id[0] == 0)
            place = asked;
    }
    if (place) { /* else too many are asked for at once */
        *place = (struct relay_asked){.when = now};
        memcpy(place->id, id, sizeof place->id);
        pthread_cond_signal(&relay->librarian_wake);
    }
    return NULL;
}

/* Fetches the pack, unless it is known from before, and checks it by its id. */
static pml_outcome fetch_pack(struct pml_relay *relay, const char *id, struct relay_pack *pack)
{
    char path[64];
    uint8_t pinned[PML_ID_SIZE];
    for (size_t i = 0; i < PML_ID_SIZE; i++) {
        const char digits[3] = {id[2 * i], id[2 * i + 1], 0};
        pinned[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    snprintf(path, sizeof path, "/v1/pack/%s", id);
    pml_outcome outcome = relay_gateway_get(&relay->options.gateway, path, PACK_MAX, &pack->bytes, NULL);
    if (outcome != PML_DONE)
        return outcome;
    if (pml_pack_open_with(&pack->pack, pack->bytes.bytes, pack->bytes.size, pinned, NULL, pml_platform_kernels()) !=
            PML_OK ||
        pml_pack_describe(&pack->pack, &pack->info) != PML_OK || pack->info.cells < 2)
        return PML_ABSENT;
    return relay_noise_plan(&relay->options.noise, &pack->info, &pack->clusters, &pack->copies) == PML_DONE
               ? PML_DONE
               : PML_ABSENT;
}

/* A pack that nobody asked for before, and its keeper. */
static pml_outcome add_pack(struct pml_relay *relay, const char *id)
{
    struct relay_pack *made = calloc(1, sizeof *made);
    pml_outcome outcome = made ? PML_DONE : PML_NO_MEMORY;
    if (!made)
        return outcome;
    made->relay = relay;
    made->gone = true;
    memcpy(made->id, id, sizeof made->id);
    pml_clock_condition(&made->wake);
    outcome = fetch_pack(relay, id, made);
    if (outcome == PML_DONE && pthread_create(&made->keeper, NULL, relay_keeper, made) != 0)
        outcome = PML_UNAVAILABLE;
    if (outcome != PML_DONE) {
        relay_pack_free(made);
        return outcome;
    }
    pthread_mutex_lock(&relay->lock);
    made->next = relay->packs;
    relay->packs = made;
    pthread_mutex_unlock(&relay->lock);
    return PML_DONE;
}

/* Finds out what the gateway says of a pack that somebody wants. Only this thread adds packs, or brings them back. */
static pml_outcome learn(struct pml_relay *relay, const char *id)
{
    struct relay_lengths lengths;
    pml_outcome outcome = relay_gateway_lengths(&relay->options.gateway, id, &lengths);
    if (outcome == PML_DONE && !find(relay, id))
        outcome = add_pack(relay, id);
    if (outcome != PML_DONE)
        return outcome;
    struct relay_pack *pack = find(relay, id);
    pthread_mutex_lock(&relay->lock);
    if (!pack->open)
        outcome = relay_epoch_open(pack, &lengths);
    pack->gone = outcome != PML_DONE;
    pthread_cond_signal(&pack->wake);
    pthread_mutex_unlock(&relay->lock);
    return outcome;
}

void relay_pack_free(struct relay_pack *pack)
{
    while (pack->epochs)
        relay_epoch_drop(pack, pack->epochs);
    pthread_cond_destroy(&pack->wake);
    pml_bytes_free(&pack->bytes);
    free(pack);
}

/* Under the lock: the next pack that somebody wants. */
static struct relay_asked *next_asked(struct pml_relay *relay)
{
    for (size_t i = 0; i < RELAY_ASKED; i++) {
        if (relay->asked[i].id[0] != 0 && !relay->asked[i].absent)
            return &relay->asked[i];
    }
    return NULL;
}

void *relay_librarian(void *context)
{
    struct pml_relay *relay = context;
    const double epoch = relay->options.epoch_seconds, pause = epoch < KEYS_SECONDS ? epoch : KEYS_SECONDS;
    double refresh = pml_clock_now() + pause;
    pthread_mutex_lock(&relay->lock);
    while (!atomic_load(&relay->stopping)) {
        struct relay_asked *asked = next_asked(relay);
        const double now = pml_clock_now();
        if (asked) {
            char id[RELAY_ID_TEXT];
            memcpy(id, asked->id, sizeof id);
            pthread_mutex_unlock(&relay->lock);
            pml_outcome outcome = learn(relay, id);
            pthread_mutex_lock(&relay->lock);
            asked->absent = outcome == PML_ABSENT;
            asked->when = pml_clock_now();
            if (!asked->absent)
                asked->id[0] = 0;
            relay_wake(relay, relay->asked);
        } else if (now >= refresh) {
            refresh = now + pause;
            pthread_mutex_unlock(&relay->lock);
            (void)relay_keys_fetch(relay, NULL); /* the old ones stay while there are no others */
            pthread_mutex_lock(&relay->lock);
        } else {
            pml_clock_wait(&relay->librarian_wake, &relay->lock, refresh - now);
        }
    }
    pthread_mutex_unlock(&relay->lock);
    return NULL;
}
