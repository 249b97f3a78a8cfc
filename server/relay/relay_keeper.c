/* SPDX-License-Identifier: Apache-2.0
 * The keeper of a pack: ends its epochs, sends what is in them to the gateway, and forgets. In: the messages that were
 * taken, in the order in which they came. Out: the same messages in a random order, the relay's own among them; then all
 * answers. Never hands out an answer while another one is missing, and never sends an epoch twice. */
#include "relay_state.h"

#include "common/clock.h"
#include "relay_noise.h"
#include "server/gateway/crypto_openssl.h"
#include "server/mixing/relay_order.h"

#include <privatemail_platform.h>
#include <privatemail_transport.h>
#include <stdlib.h>

#define SHORTEST_MEMORY 60.0 /* seconds that answers are kept at least */
#define EMPTY_SECONDS                                                                                                  \
    3600.0 /* an epoch that nobody is in gets a new number then: clients compare it with their clocks */
#define LONGEST_EPOCH 80000.0 /* beyond that, gateways and clients refuse its number */
#define RETRY_SECONDS 1.0     /* while the gateway does not say what its lengths are */

/* ---- to the gateway and back ---- */

/* A position in the random order is a message of a client (below message_count) or a fake. */
struct mixing {
    struct relay_epoch *epoch;
    uint32_t *order;
};

static int read_message(void *context, uint32_t position, uint8_t *message)
{
    const struct mixing *mixing = context;
    const struct relay_epoch *epoch = mixing->epoch;
    const uint32_t which = mixing->order[position], size = epoch->lengths.message;
    if (which < epoch->message_count)
        return relay_spool_read(&epoch->sealed, message, size, (uint64_t)which * size);
    return relay_spool_read(&epoch->fakes, message, size, (uint64_t)(which - epoch->message_count) * size);
}

/* Answers stand in the order of the messages as they came; those to fakes are dropped. */
static int write_answer(void *context, uint32_t position, uint32_t offset, const uint8_t *piece, size_t size)
{
    const struct mixing *mixing = context;
    const struct relay_epoch *epoch = mixing->epoch;
    const uint32_t which = mixing->order[position];
    if (which >= epoch->message_count)
        return 0;
    return relay_spool_write(&epoch->answers, piece, size, (uint64_t)which * epoch->lengths.answer + offset);
}

static pml_outcome fetch(struct relay_pack *pack, struct relay_epoch *epoch)
{
    const uint32_t count = epoch->message_count + epoch->fake_count;
    struct mixing mixing = {epoch, malloc(((size_t)count + 1) * sizeof *mixing.order)};
    if (!mixing.order)
        return PML_NO_MEMORY;
    pml_outcome outcome = relay_order(mixing.order, count, pml_platform_entropy, NULL);
    const struct relay_exchange exchange = {.epoch = epoch->number,
                                            .pack = pack->info.id,
                                            .count = count,
                                            .lengths = epoch->lengths,
                                            .read = read_message,
                                            .write = write_answer,
                                            .context = &mixing,
                                            .stop = &pack->relay->stopping};
    if (outcome == PML_DONE)
        outcome = relay_gateway_exchange(&pack->relay->options.gateway, &exchange);
    free(mixing.order);
    return outcome;
}

/* ---- an epoch's life; under the lock but where it says so ---- */

static void forget(struct relay_pack *pack, double now)
{
    const double seconds = pack->relay->options.epoch_seconds;
    const double kept = seconds > SHORTEST_MEMORY ? seconds : SHORTEST_MEMORY;
    struct relay_epoch *older;
    for (struct relay_epoch *epoch = pack->epochs; epoch; epoch = older) {
        older = epoch->older;
        if (epoch->phase == RELAY_READY && now > epoch->ready + kept)
            relay_epoch_drop(pack, epoch);
    }
}

static void draw_noise(struct relay_pack *pack, struct relay_epoch *epoch)
{
    struct pml_relay *relay = pack->relay;
    struct relay_fakes fakes = {.epoch = epoch->number,
                                .pack = &pack->info,
                                .clusters = pack->clusters,
                                .copies = pack->copies,
                                .message_size = epoch->lengths.message,
                                .spool = &epoch->fakes,
                                .stop = &relay->stopping};
    pml_outcome outcome = PML_REFUSED;
    size_t at = 0, size;
    pthread_mutex_unlock(&relay->lock);
    /* The gateway tells the messages for one key from those for another: each of them needs the whole noise. */
    for (const uint8_t *key; (key = relay_keys_next(&epoch->keys, &at, &size));) {
        pml_seal_key usable;
        if (pml_keys_choose(pml_crypto_openssl(), key, size, &usable) != PML_OK)
            continue; /* nobody seals for it */
        outcome = relay_noise_draw(&fakes, key, size);
        if (outcome != PML_DONE)
            break;
    }
    pthread_mutex_lock(&relay->lock);
    epoch->has_noise = outcome == PML_DONE;
    if (!epoch->has_noise)
        return;
    const uint64_t bytes = (uint64_t)fakes.count * epoch->lengths.message;
    relay->spooled += bytes; /* whatever the limit: without its noise the epoch cannot go */
    epoch->spooled += bytes;
    epoch->fake_count = fakes.count;
}

/* From now on nothing begins to arrive for the open epoch; waits for what began before. Returns false when the relay
 * stops meanwhile: uploads may still hold the epoch, which goes with its pack. */
static bool close_epoch(struct relay_pack *pack, struct relay_epoch *epoch)
{
    epoch->phase = RELAY_CLOSING;
    while (epoch->uploads > 0 && !atomic_load(&pack->relay->stopping))
        pml_clock_wait(&pack->wake, &pack->relay->lock, 1.0);
    relay_epoch_seal(epoch);
    return !atomic_load(&pack->relay->stopping);
}

static void send_epoch(struct relay_pack *pack, struct relay_epoch *epoch, const struct relay_lengths *lengths)
{
    struct pml_relay *relay = pack->relay;
    if (!close_epoch(pack, epoch))
        return;
    epoch->phase = RELAY_FETCHING;
    epoch->lengths.answer = lengths->answer; /* all answers of an epoch have one length, the gallery's of now */
    pthread_mutex_unlock(&relay->lock);
    pml_outcome outcome = fetch(pack, epoch);
    pthread_mutex_lock(&relay->lock);
    relay_spool_close(&epoch->sealed);
    relay_spool_close(&epoch->fakes);
    if (outcome != PML_DONE) {
        relay->counts.lost++;
        relay_epoch_drop(pack, epoch);
        return;
    }
    for (uint32_t i = 0; i < epoch->bundle_count; i++) {
        if (epoch->bundles[i].forgotten) /* while the answers were on their way */
            relay_spool_forget(&epoch->answers, (uint64_t)epoch->bundles[i].first * lengths->answer,
                               (uint64_t)epoch->bundles[i].count * lengths->answer);
    }
    epoch->phase = RELAY_READY;
    epoch->ready = pml_clock_now();
    relay->counts.epochs++;
    relay->counts.bundles += epoch->bundle_count;
    relay->counts.last = epoch->bundle_count;
    relay_wake(relay, epoch);
}

/* Seconds until something is to be done about the open epoch; 0: now. */
static double patience(const struct relay_pack *pack, const struct relay_epoch *epoch, double now)
{
    const struct pml_relay_options *options = &pack->relay->options;
    const double age = now - epoch->opened;
    if (epoch->stale)
        return 0.0;
    const bool full = epoch->bundle_count >= options->clients;
    const double limit = full ? options->epoch_seconds : epoch->bundle_count == 0 ? EMPTY_SECONDS : LONGEST_EPOCH;
    return age < limit ? limit - age : 0.0;
}

/* Ends the open epoch and opens the next one. */
static double turn(struct relay_pack *pack)
{
    struct pml_relay *relay = pack->relay;
    struct relay_epoch *epoch = pack->open;
    struct relay_lengths lengths;
    pthread_mutex_unlock(&relay->lock);
    pml_outcome outcome = relay_gateway_lengths(&relay->options.gateway, pack->id, &lengths);
    pthread_mutex_lock(&relay->lock);
    if (outcome == PML_ABSENT || (outcome == PML_DONE && lengths.message != epoch->lengths.message)) {
        pack->gone = true;
        pack->open = NULL; /* the pack may come back while the last uploads end */
        if (close_epoch(pack, epoch))
            relay_epoch_drop(pack, epoch);
        return RETRY_SECONDS;
    }
    if (outcome == PML_DONE)
        outcome = relay_epoch_open(pack, &lengths);
    if (outcome != PML_DONE) /* it stays open: nothing is lost by waiting */
        return RETRY_SECONDS;
    if (epoch->bundle_count >= relay->options.clients && epoch->has_noise && !epoch->stale)
        send_epoch(pack, epoch, &lengths);
    else if (close_epoch(pack, epoch))
        relay_epoch_drop(pack, epoch);
    return 0.0;
}

void *relay_keeper(void *context)
{
    struct relay_pack *pack = context;
    struct pml_relay *relay = pack->relay;
    pthread_mutex_lock(&relay->lock);
    while (!atomic_load(&relay->stopping)) {
        const double now = pml_clock_now();
        double pause = 1.0;
        forget(pack, now);
        if (pack->open && !pack->open->has_noise && pack->clusters > 0 && !pack->open->stale) {
            draw_noise(pack, pack->open);
            pause = pack->open->has_noise ? 0.0 : RETRY_SECONDS;
        } else if (pack->open) {
            pack->open->has_noise = pack->open->has_noise || pack->clusters <= 0;
            const double left = patience(pack, pack->open, now);
            pause = left > 0.0 ? left : turn(pack);
        }
        if (pause > 0.0)
            pml_clock_wait(&pack->wake, &relay->lock, pause < 1.0 ? pause : 1.0);
    }
    pthread_mutex_unlock(&relay->lock);
    return NULL;
}
