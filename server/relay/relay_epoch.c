/* SPDX-License-Identifier: Apache-2.0
 * Epochs: opening, finding what is in them, forgetting. Everything here is done under the relay's lock. */
#define _POSIX_C_SOURCE 200809L
#include "relay_state.h"

#include "common/clock.h"

#include <privatemail_platform.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void free_epoch(struct relay_epoch *epoch)
{
    relay_epoch_seal(epoch);
    free(epoch->bundles);
    pml_bytes_free(&epoch->keys);
    relay_table_free(&epoch->tickets);
    relay_spool_close(&epoch->sealed);
    relay_spool_close(&epoch->fakes);
    relay_spool_close(&epoch->answers);
    free(epoch);
}

/* Unix time, but always more than before. An epoch is open for a second at least before anything of it is sent, so a relay
 * that was started anew never sends under a number that was used. */
static uint64_t next_number(struct relay_pack *pack)
{
    const uint64_t now = (uint64_t)time(NULL);
    pack->last_epoch = now > pack->last_epoch ? now : pack->last_epoch + 1;
    return pack->last_epoch;
}

const uint8_t *relay_keys_next(const struct pml_bytes *keys, size_t *at, size_t *size)
{
    const uint8_t *key = keys->bytes + *at;
    if (keys->size - *at < 3)
        return NULL;
    *size = 2 + (size_t)(key[0] << 8 | key[1]);
    *at += *size;
    return *at <= keys->size ? key : NULL;
}

void relay_epochs_compare_keys(struct pml_relay *relay)
{
    for (struct relay_pack *pack = relay->packs; pack; pack = pack->next) {
        struct relay_epoch *open = pack->open;
        if (!open ||
            (open->keys.size == relay->keys.size && memcmp(open->keys.bytes, relay->keys.bytes, relay->keys.size) == 0))
            continue;
        open->stale = true;
        pthread_cond_signal(&pack->wake);
    }
}

pml_outcome relay_epoch_open(struct relay_pack *pack, const struct relay_lengths *lengths)
{
    struct pml_relay *relay = pack->relay;
    const char *folder = relay->options.spool;
    uint64_t seeds[3];
    struct relay_epoch *epoch = calloc(1, sizeof *epoch);
    if (!epoch)
        return PML_NO_MEMORY;
    epoch->sealed.file = epoch->fakes.file = epoch->answers.file = -1;
    if (pml_bytes_append(&epoch->keys, relay->keys.bytes, relay->keys.size) != PML_DONE ||
        pml_platform_entropy(NULL, (uint8_t *)seeds, sizeof seeds) != 0 ||
        relay_spool_open(&epoch->sealed, folder, NULL) != PML_DONE ||
        relay_spool_open(&epoch->answers, folder, NULL) != PML_DONE ||
        (pack->clusters > 0 && relay_spool_open(&epoch->fakes, folder, NULL) != PML_DONE)) {
        free_epoch(epoch);
        return PML_UNAVAILABLE;
    }
    epoch->tickets.seed = seeds[0];
    epoch->digests.seed = seeds[1];
    epoch->tokens.seed = seeds[2];
    epoch->number = next_number(pack);
    epoch->opened = pml_clock_now();
    epoch->lengths = *lengths;
    epoch->older = pack->epochs;
    pack->epochs = pack->open = epoch;
    return PML_DONE;
}

void relay_epoch_seal(struct relay_epoch *epoch)
{
    free(epoch->messages);
    free(epoch->used);
    epoch->messages = epoch->used = NULL;
    relay_table_free(&epoch->digests);
    relay_table_free(&epoch->tokens);
}

void relay_epoch_drop(struct relay_pack *pack, struct relay_epoch *epoch)
{
    struct relay_epoch **at = &pack->epochs;
    while (*at != epoch)
        at = &(*at)->older;
    *at = epoch->older;
    if (pack->open == epoch)
        pack->open = NULL;
    pack->relay->spooled -= epoch->spooled;
    relay_wake(pack->relay, epoch);
    free_epoch(epoch);
}

bool relay_epoch_charge(struct pml_relay *relay, struct relay_epoch *epoch, uint64_t bytes)
{
    if (bytes > relay->options.spool_bytes || relay->spooled > relay->options.spool_bytes - bytes)
        return false;
    relay->spooled += bytes;
    epoch->spooled += bytes;
    return true;
}

struct relay_bundle *relay_find_ticket(struct pml_relay *relay, struct relay_pack *only,
                                       const uint8_t ticket[RELAY_KEY_SIZE], struct relay_epoch **epoch)
{
    for (struct relay_pack *pack = only ? only : relay->packs; pack; pack = only ? NULL : pack->next) {
        for (*epoch = pack->epochs; *epoch; *epoch = (*epoch)->older) {
            uint32_t index = relay_table_find(&(*epoch)->tickets, relay_ticket_keys(*epoch), ticket);
            if (index != RELAY_NO_INDEX)
                return &(*epoch)->bundles[index];
        }
    }
    return NULL;
}
