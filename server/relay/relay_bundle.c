/* SPDX-License-Identifier: Apache-2.0
 * Takes a bundle whole, or not at all. In: bytes from anybody. Out: its messages in the spool, and its ticket. Never
 * looks into a message: it could not. */
#include "relay_state.h"

#include "core/base/sha256.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 7 };

static void digest_of(const uint8_t *bytes, size_t size, uint8_t out[RELAY_KEY_SIZE])
{
    uint8_t whole[32];
    pml_sha256(bytes, size, whole);
    memcpy(out, whole, RELAY_KEY_SIZE);
}

/* A key's id, then the algorithms that all messages of an epoch have (SPEC 10.3). */
static bool headers_are_right(const uint8_t *messages, uint32_t count, uint32_t size)
{
    static const uint8_t algorithms[HEADER - 1] = {0x00, 0x20, 0x00, 0x01, 0x00, 0x03};
    for (uint32_t i = 0; i < count; i++) {
        if (memcmp(messages + (size_t)i * size + 1, algorithms, sizeof algorithms) != 0)
            return false;
    }
    return true;
}

/* Makes room for `more` items of an array. */
static bool grow(void **array, uint32_t used, uint32_t more, uint32_t *room, size_t item)
{
    if (more <= *room - used)
        return true;
    uint64_t wanted = *room < 64 ? 64 : 2 * (uint64_t)*room;
    while (wanted < (uint64_t)used + more)
        wanted *= 2;
    void *larger = realloc(*array, (size_t)wanted * item);
    if (!larger)
        return false;
    *array = larger;
    *room = (uint32_t)wanted;
    return true;
}

static bool make_room(struct relay_epoch *epoch, uint32_t messages)
{
    void *bundles = epoch->bundles, *digests = epoch->messages, *used = epoch->used;
    bool grown = grow(&bundles, epoch->bundle_count, 1, &epoch->bundle_room, sizeof *epoch->bundles);
    epoch->bundles = bundles;
    grown = grown && grow(&digests, epoch->message_count, messages, &epoch->message_room, sizeof *epoch->messages);
    epoch->messages = digests;
    grown = grown && grow(&used, epoch->used_count, 1, &epoch->used_room, sizeof *epoch->used);
    epoch->used = used;
    return grown && relay_table_reserve(&epoch->tickets, relay_ticket_keys(epoch), 1) == PML_DONE &&
           relay_table_reserve(&epoch->digests, relay_digest_keys(epoch->messages), messages) == PML_DONE &&
           relay_table_reserve(&epoch->tokens, relay_digest_keys(epoch->used), 1) == PML_DONE;
}

/* Takes the last `count` digests back. */
static void undo_digests(struct relay_epoch *epoch, uint32_t count)
{
    while (count-- > 0)
        relay_table_undo(&epoch->digests, relay_digest_keys(epoch->messages), epoch->message_count + count);
}

/* Adds the digests after the epoch's messages; all or none: two equal ones in one bundle are refused too. */
static bool add_digests(struct relay_epoch *epoch, const struct relay_digest *digests, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct relay_keys keys = relay_digest_keys(epoch->messages);
        if (relay_table_find(&epoch->digests, keys, digests[i].bytes) != RELAY_NO_INDEX) {
            undo_digests(epoch, i);
            return false;
        }
        epoch->messages[epoch->message_count + i] = digests[i];
        relay_table_add(&epoch->digests, keys, epoch->message_count + i);
    }
    return true;
}

/* On the disk first: what cannot be kept is not taken. Room for the answers is set aside at the same time. */
static bool spool(struct pml_relay *relay, struct relay_epoch *epoch, const uint8_t *messages, uint32_t count)
{
    const struct relay_lengths *lengths = &epoch->lengths;
    const uint64_t after = (uint64_t)epoch->message_count + count;
    if (!relay_epoch_charge(relay, epoch, (uint64_t)count * (lengths->message + (uint64_t)lengths->answer)))
        return false;
    return relay_spool_write(&epoch->sealed, messages, (size_t)count * lengths->message,
                             (uint64_t)epoch->message_count * lengths->message) == PML_DONE &&
           relay_spool_reserve(&epoch->answers, after * lengths->answer) == PML_DONE;
}

struct parsed {
    uint64_t epoch;
    struct relay_bundle bundle;
    const uint8_t *messages;
    struct relay_digest *digests;
};

static bool parse(const struct pml_bytes *body, uint32_t message_size, struct parsed *parsed)
{
    if (body->size < RELAY_BUNDLE_HEAD)
        return false;
    const size_t rest = body->size - RELAY_BUNDLE_HEAD;
    *parsed = (struct parsed){.messages = body->bytes + RELAY_BUNDLE_HEAD};
    if (rest % message_size != 0 || rest / message_size >= RELAY_NO_INDEX)
        return false;
    for (size_t i = 0; i < 8; i++)
        parsed->epoch = parsed->epoch << 8 | body->bytes[i];
    memcpy(parsed->bundle.ticket, body->bytes + 8, RELAY_KEY_SIZE);
    parsed->bundle.count = (uint32_t)(rest / message_size);
    digest_of(body->bytes, body->size, parsed->bundle.digest);
    return headers_are_right(parsed->messages, parsed->bundle.count, message_size);
}

/* The token's digest goes behind those used in this epoch; it counts when the bundle is taken. */
static bool admit(struct pml_relay *relay, struct relay_epoch *epoch, const char *token)
{
    uint8_t digest[RELAY_KEY_SIZE];
    if (!relay->options.tokens)
        return true;
    if (!token || !relay_tokens_admit(&relay->tokens, token, digest) ||
        relay_table_find(&epoch->tokens, relay_digest_keys(epoch->used), digest) != RELAY_NO_INDEX)
        return false;
    memcpy(epoch->used[epoch->used_count].bytes, digest, sizeof digest);
    return true;
}

static void keep(struct pml_relay *relay, struct relay_epoch *epoch, struct relay_bundle bundle)
{
    bundle.first = epoch->message_count;
    epoch->bundles[epoch->bundle_count] = bundle;
    relay_table_add(&epoch->tickets, relay_ticket_keys(epoch), epoch->bundle_count++);
    epoch->message_count += bundle.count;
    if (relay->options.tokens)
        relay_table_add(&epoch->tokens, relay_digest_keys(epoch->used), epoch->used_count++);
}

/* Whether all messages are for keys of the epoch, as far as their headers tell. */
static bool has_keys(const struct parsed *parsed, const struct relay_epoch *epoch)
{
    bool known[256] = {false};
    size_t at = 0, size;
    for (const uint8_t *key; (key = relay_keys_next(&epoch->keys, &at, &size));)
        known[key[2]] = true;
    for (uint32_t i = 0; i < parsed->bundle.count; i++) {
        if (!known[parsed->messages[(size_t)i * epoch->lengths.message]])
            return false;
    }
    return true;
}

/* Under the lock. */
static enum relay_verdict judge(struct relay_pack *pack, struct relay_epoch *epoch, const struct parsed *parsed,
                                const char *token)
{
    struct pml_relay *relay = pack->relay;
    struct relay_epoch *found;
    const uint32_t count = parsed->bundle.count;
    const struct relay_bundle *same = relay_find_ticket(relay, pack, parsed->bundle.ticket, &found);
    if (same && found->number == parsed->epoch)
        return memcmp(same->digest, parsed->bundle.digest, RELAY_KEY_SIZE) == 0 ? RELAY_KNOWN : RELAY_DUPLICATE;
    if (!epoch || parsed->epoch != epoch->number || !has_keys(parsed, epoch))
        return RELAY_OTHER_EPOCH;
    if (atomic_load(&relay->stopping) || count > relay->options.bundle_messages ||
        (uint64_t)epoch->message_count + epoch->bundle_count + count >= relay->options.epoch_messages ||
        !make_room(epoch, count))
        return RELAY_FULL;
    if (!admit(relay, epoch, token))
        return RELAY_NO_TOKEN;
    if (!add_digests(epoch, parsed->digests, count))
        return RELAY_DUPLICATE;
    const uint64_t before = epoch->spooled;
    if (!spool(relay, epoch, parsed->messages, count)) {
        relay->spooled -= epoch->spooled - before;
        epoch->spooled = before;
        undo_digests(epoch, count);
        return RELAY_FULL;
    }
    keep(relay, epoch, parsed->bundle);
    return RELAY_TAKEN;
}

enum relay_verdict relay_bundle_take(struct relay_pack *pack, struct relay_epoch *epoch, const struct pml_bytes *body,
                                     const char *token)
{
    struct parsed parsed;
    const uint32_t size = epoch ? epoch->lengths.message : 0;
    if (!epoch)
        return RELAY_OTHER_EPOCH;
    if (!parse(body, size, &parsed))
        return RELAY_MALFORMED;
    parsed.digests = malloc(((size_t)parsed.bundle.count + 1) * sizeof *parsed.digests);
    if (!parsed.digests)
        return RELAY_FULL;
    for (uint32_t i = 0; i < parsed.bundle.count; i++)
        digest_of(parsed.messages + (size_t)i * size, size, parsed.digests[i].bytes);
    pthread_mutex_lock(&pack->relay->lock);
    enum relay_verdict verdict = judge(pack, epoch, &parsed, token);
    pthread_mutex_unlock(&pack->relay->lock);
    free(parsed.digests);
    return verdict;
}

void relay_bundle_forget(struct relay_epoch *epoch, struct relay_bundle *bundle)
{
    const uint64_t length = epoch->lengths.answer;
    bundle->forgotten = true;
    if (epoch->phase == RELAY_READY)
        relay_spool_forget(&epoch->answers, bundle->first * length, bundle->count * length);
}
