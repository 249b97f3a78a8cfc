/* SPDX-License-Identifier: Apache-2.0
 * Makes the relay's replies. */
#define _POSIX_C_SOURCE 200809L
#include "relay_replies.h"

#include "common/clock.h"
#include "server/http/http_text.h"

#include <inttypes.h>
#include <math.h>
#include <privatemail_platform.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COPIED_MAX = 65536 };

static const char json[] = "application/json", answers_type[] = "application/x-privatemail-answers";

/* Text that pml_http_print made, or nothing when it could not. */
static struct pml_http_reply text_reply(unsigned status, bool fine, struct pml_bytes *text)
{
    if (fine)
        return pml_http_no_store(pml_http_reply_bytes(status, json, text));
    pml_bytes_free(text);
    return (struct pml_http_reply){0};
}

struct pml_http_reply relay_reply_keys(const struct pml_relay *relay)
{
    struct pml_bytes keys = {0};
    if (pml_bytes_append(&keys, relay->keys.bytes, relay->keys.size) != PML_DONE)
        return (struct pml_http_reply){0};
    return pml_http_no_store(pml_http_reply_bytes(MHD_HTTP_OK, "application/ohttp-keys", &keys));
}

static bool print_noise(struct pml_bytes *text, double clusters, uint32_t copies)
{
    return clusters > 0.0 ? pml_http_print(text, "{\"clusters\":%.17g,\"copies\":%" PRIu32 "}", clusters, copies)
                          : pml_http_print(text, "null");
}

struct pml_http_reply relay_reply_about(const struct pml_relay *relay)
{
    const struct pml_relay_options *options = &relay->options;
    struct pml_bytes text = {0};
    bool fine = pml_http_print(&text, "{\"version\":1,\"epoch_seconds\":%u,\"clients\":%" PRIu32 ",\"noise\":",
                               options->epoch_seconds, options->clients);
    if (options->noise.epsilon > 0.0)
        fine = fine && pml_http_print(&text, "{\"epsilon\":%.17g,\"delta\":%.17g}", options->noise.epsilon,
                                      options->noise.delta);
    else
        fine = fine && print_noise(&text, options->noise.clusters, options->noise.copies);
    return text_reply(MHD_HTTP_OK, fine && pml_http_print(&text, "}\n"), &text);
}

struct pml_http_reply relay_reply_health(struct pml_relay *relay)
{
    struct pml_bytes text = {0};
    const bool stopping = atomic_load(&relay->stopping);
    return text_reply(stopping ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK,
                      pml_http_print(&text, "{\"status\":\"%s\"}\n", stopping ? "stopping" : "ok"), &text);
}

/* Seconds until the epoch may close. */
static double closes(const struct pml_relay *relay, const struct relay_epoch *epoch)
{
    const double left = epoch->opened + relay->options.epoch_seconds - pml_clock_now();
    return left > 0.0 ? left : 0.0;
}

struct pml_http_reply relay_reply_epoch(const struct relay_pack *pack)
{
    const struct relay_epoch *epoch = pack->open;
    struct pml_bytes text = {0};
    const bool fine = pml_http_print(&text,
                                     "{\"pack\":\"%s\",\"epoch\":%" PRIu64 ",\"closes\":%.0f,\"message\":%" PRIu32
                                     ",\"answer\":%" PRIu32 ",\"noise\":",
                                     pack->id, epoch->number, ceil(closes(pack->relay, epoch)), epoch->lengths.message,
                                     epoch->lengths.answer) &&
                      print_noise(&text, pack->clusters, pack->copies) && pml_http_print(&text, "}\n");
    return text_reply(MHD_HTTP_OK, fine, &text);
}

/* ---- bundles ---- */

static struct pml_http_reply accepted(unsigned status, const struct pml_bytes *body)
{
    char ticket[RELAY_ID_TEXT];
    uint64_t epoch = 0;
    struct pml_bytes text = {0};
    for (size_t i = 0; i < 8; i++)
        epoch = epoch << 8 | body->bytes[i];
    pml_http_id_text(body->bytes + 8, ticket);
    return text_reply(status, pml_http_print(&text, "{\"ticket\":\"%s\",\"epoch\":%" PRIu64 "}\n", ticket, epoch),
                      &text);
}

static struct pml_http_reply other_epoch(const struct relay_pack *pack)
{
    struct pml_bytes text = {0};
    const bool fine = pml_http_print(&text,
                                     "{\"error\":\"epoch\",\"message\":\"This epoch is not open. Seal again for the "
                                     "open one.\",\"epoch\":%" PRIu64 "}\n",
                                     pack->open ? pack->open->number : 0);
    return text_reply(MHD_HTTP_CONFLICT, fine, &text);
}

struct pml_http_reply relay_reply_verdict(const struct relay_pack *pack, enum relay_verdict verdict,
                                          const struct pml_bytes *body)
{
    struct pml_http_reply reply;
    switch (verdict) {
    case RELAY_TAKEN:
        return accepted(MHD_HTTP_CREATED, body);
    case RELAY_KNOWN:
        return accepted(MHD_HTTP_OK, body);
    case RELAY_MALFORMED:
        return pml_http_reply_error(MHD_HTTP_BAD_REQUEST, "bundle", "The body is not a bundle of whole messages.");
    case RELAY_OTHER_EPOCH:
        return other_epoch(pack);
    case RELAY_DUPLICATE:
        return pml_http_reply_error(MHD_HTTP_CONFLICT, "duplicate",
                                    "The ticket or a message is in this epoch already. Seal again, with a new ticket.");
    case RELAY_NO_TOKEN:
        reply = pml_http_reply_error(MHD_HTTP_UNAUTHORIZED, "token",
                                     "This relay wants a token that was not used in this epoch.");
        pml_http_reply_field(&reply, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
        return reply;
    default:
        return pml_http_come_later("busy", "This relay has no room for the bundle. Send the same bytes again later.");
    }
}

/* ---- tickets ---- */

/* Faster than handing libmicrohttpd a file, which it sends apart from the header. */
static struct pml_http_reply copied(const struct relay_spool *spool, uint64_t offset, size_t size)
{
    struct pml_bytes bytes = {0};
    if (pml_bytes_reserve(&bytes, size) != PML_DONE || relay_spool_read(spool, bytes.bytes, size, offset) != PML_DONE) {
        pml_bytes_free(&bytes);
        return pml_http_come_later("busy", "The answers cannot be read now. Ask again later.");
    }
    bytes.size = size;
    return pml_http_no_store(pml_http_reply_bytes(MHD_HTTP_OK, answers_type, &bytes));
}

struct pml_http_reply relay_reply_answers(const struct relay_epoch *epoch, const struct relay_bundle *bundle,
                                          uint32_t index)
{
    const uint64_t length = epoch->lengths.answer;
    const uint64_t first = index == RELAY_NO_INDEX ? bundle->first : (uint64_t)bundle->first + index;
    const uint64_t size = index == RELAY_NO_INDEX ? bundle->count * length : length;
    if (size == 0)
        return pml_http_no_store(pml_http_reply_kept(MHD_HTTP_OK, answers_type, "", 0));
    if (size <= COPIED_MAX)
        return copied(&epoch->answers, first * length, (size_t)size);
    const int file = dup(epoch->answers.file); /* sent after the lock is left; the epoch may be forgotten then */
    if (file < 0)
        return pml_http_come_later("busy", "Too many files are open. Ask again later.");
    return pml_http_no_store(pml_http_reply_file(answers_type, file, first * length, size));
}

/* When to ask again: after the epoch's end, and not all at the same moment. */
static unsigned retry_after(const struct pml_relay *relay, const struct relay_epoch *epoch)
{
    const double left = epoch->phase == RELAY_OPEN ? closes(relay, epoch) : 0.0;
    const uint32_t spread = 1 + epoch->bundle_count / 500;
    uint8_t byte = 0;
    (void)!pml_platform_entropy(NULL, &byte, 1);
    return 1 + (unsigned)left + byte * (spread < 60 ? spread : 60) / 256;
}

struct pml_http_reply relay_reply_waiting(struct pml_relay *relay, const struct relay_epoch *epoch)
{
    char seconds[16];
    struct pml_bytes text = {0};
    const char *state = epoch->phase == RELAY_FETCHING ? "fetching" : "open";
    struct pml_http_reply reply =
        text_reply(MHD_HTTP_ACCEPTED, pml_http_print(&text, "{\"state\":\"%s\"}\n", state), &text);
    snprintf(seconds, sizeof seconds, "%u", retry_after(relay, epoch));
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    return reply;
}

struct pml_http_reply relay_reply_lost(void)
{
    return pml_http_reply_error(MHD_HTTP_GONE, "lost",
                                "Nothing is kept for this ticket. Send again, sealed anew, in a later epoch.");
}

/* ---- metrics ---- */

/* Nothing of bytes and messages: with what the server sees they would tell how many fakes there are. */
bool relay_metrics_write(struct pml_http *http, struct pml_bytes *text)
{
    struct pml_relay *relay = http->options.site_context;
    pthread_mutex_lock(&relay->lock);
    const struct relay_counts counts = relay->counts;
    const size_t waiting = relay->waiter_count;
    pthread_mutex_unlock(&relay->lock);
    return pml_http_metrics_write(http, text) &&
           pml_http_metric(text, "relay_epochs_total", "counter", "Epochs that were answered.", counts.epochs) &&
           pml_http_metric(text, "relay_epochs_lost_total", "counter", "Epochs that failed.", counts.lost) &&
           pml_http_metric(text, "relay_bundles_total", "counter", "Bundles of answered epochs.", counts.bundles) &&
           pml_http_metric(text, "relay_last_crowd", "gauge", "Bundles of the last answered epoch.", counts.last) &&
           pml_http_metric(text, "relay_waiting", "gauge", "Requests that wait for an epoch.", waiting);
}
