/* SPDX-License-Identifier: Apache-2.0
 * Talks with a relay. In: sealed bundles. Out: sealed answers. Replies may be hostile. */
#define _POSIX_C_SOURCE 200809L
#include "relay_link.h"

#include "common/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATH_SIZE = 128, POLL_SECONDS = 20 };

/* ---- replies ---- */

/* Where the value of a member of this name begins; NULL when there is none. */
static const char *find_value(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = strchr(text, '"'); at; at = strchr(at + 1, '"')) {
        if (strncmp(at + 1, name, length) != 0 || at[1 + length] != '"')
            continue;
        const char *after = at + length + 2 + strspn(at + length + 2, " \t\r\n");
        if (*after == ':')
            return after + 1 + strspn(after + 1, " \t\r\n");
    }
    return NULL;
}

static bool read_number(const char *text, const char *name, double *value)
{
    const char *at = find_value(text, name);
    char *end = NULL;
    if (!at || (*at != '-' && (*at < '0' || *at > '9')))
        return false;
    *value = strtod(at, &end);
    return isfinite(*value);
}

/* A whole number up to 2^53, as JSON can say it. */
static bool read_count(const char *text, const char *name, uint64_t *value)
{
    double number = 0.0;
    const bool good = read_number(text, name, &number) && number >= 0.0 && number <= 0x1p53 && floor(number) == number;
    *value = good ? (uint64_t)number : 0;
    return good;
}

static bool is_error(const struct exchange *exchange, const char *name)
{
    const char *at = find_value(exchange->reply, "error");
    const size_t length = strlen(name);
    return at && *at == '"' && strncmp(at + 1, name, length) == 0 && at[1 + length] == '"';
}

/* ---- asking until the deadline ---- */

bool relay_pause(const struct relay_link *link, double seconds)
{
    const double left = link->deadline - pml_clock_now(), least = fmin(seconds, left);
    if (least > 0.0) {
        const struct timespec pause = {(time_t)least, (long)((least - floor(least)) * 1e9)};
        nanosleep(&pause, NULL);
    }
    return seconds < left;
}

/* Tries again after failures of the network and of the relay, at least as late as it wants, until the deadline. */
static enum relay_result ask(struct relay_link *link, const struct exchange_request *request,
                             const struct relay_taker *taker)
{
    struct exchange *exchange = &link->exchange;
    for (unsigned attempt = 0;; attempt++) {
        link->attempts = attempt + 1;
        const double left = link->deadline - pml_clock_now();
        exchange->timeout = (unsigned)fmin(fmax(ceil(left), 1.0), link->timeout);
        if (taker && taker->begin(taker->context) != 0)
            return RELAY_NOT_TAKEN;
        const enum exchange_result result = exchange_run(exchange, request);
        link->heard = link->heard || exchange->status != 0;
        if (result == EXCHANGE_OK)
            return RELAY_OK;
        if (result == EXCHANGE_NOT_TAKEN)
            return RELAY_NOT_TAKEN;
        if (result == EXCHANGE_REFUSED && exchange->status < 500)
            return RELAY_REFUSED;
        const double pause = 0.25 * (double)(1u << (attempt < 5 ? attempt : 5));
        if (!relay_pause(link, fmax(pause, exchange->retry_after)))
            return RELAY_LATE;
    }
}

static enum relay_result get(struct relay_link *link, const char *path)
{
    return ask(link, &(struct exchange_request){.method = EXCHANGE_GET, .path = path}, NULL);
}

/* ---- what the relay says ---- */

enum relay_result relay_describe(struct relay_link *link, struct relay_about *about)
{
    const char *reply = link->exchange.reply;
    *about = (struct relay_about){0};
    const enum relay_result result = get(link, "/v1/relay");
    if (result != RELAY_OK)
        return result;
    return read_count(reply, "version", &about->version) && about->version == RELAY_VERSION &&
                   read_count(reply, "epoch_seconds", &about->epoch_seconds) && about->epoch_seconds >= 1 &&
                   about->epoch_seconds <= 3600 && read_count(reply, "clients", &about->clients)
               ? RELAY_OK
               : RELAY_INVALID;
}

struct fetch {
    struct pml_bytes *bytes;
    size_t before, most;
};

static int begin_fetch(void *context)
{
    struct fetch *fetch = context;
    fetch->bytes->size = fetch->before;
    return 0;
}

static int take_fetch(void *context, const void *bytes, size_t size)
{
    struct fetch *fetch = context;
    return size > fetch->most - (fetch->bytes->size - fetch->before) ||
           pml_bytes_append(fetch->bytes, bytes, size) != PML_DONE;
}

enum relay_result relay_fetch(struct relay_link *link, const char *path, struct pml_bytes *bytes, size_t most)
{
    struct fetch fetch = {bytes, bytes->size, most};
    const struct relay_taker taker = {begin_fetch, take_fetch, &fetch};
    const struct exchange_request request = {
        .method = EXCHANGE_GET, .path = path, .take = take_fetch, .context = &fetch};
    const enum relay_result result = ask(link, &request, &taker);
    return result == RELAY_NOT_TAKEN ? RELAY_INVALID : result;
}

enum relay_result relay_keys(struct relay_link *link, struct pml_bytes *keys)
{
    return relay_fetch(link, "/v1/keys", keys, RELAY_KEYS_MAX);
}

enum relay_result relay_epoch_now(struct relay_link *link, struct relay_epoch *epoch)
{
    const char *reply = link->exchange.reply;
    char path[PATH_SIZE];
    uint64_t copies = 0;
    snprintf(path, sizeof path, "/v1/pack/%s/epoch", link->pack);
    *epoch = (struct relay_epoch){0};
    const enum relay_result result = get(link, path);
    if (result != RELAY_OK)
        return result;
    epoch->noisy = read_number(reply, "clusters", &epoch->clusters) && read_count(reply, "copies", &copies) &&
                   epoch->clusters > 0.0 && copies >= 1 && copies <= PML_CROWD_COPIES_MAX;
    epoch->copies = epoch->noisy ? (uint32_t)copies : 0;
    epoch->clusters = epoch->noisy ? epoch->clusters : 0.0;
    return read_count(reply, "epoch", &epoch->number) && read_number(reply, "closes", &epoch->closes) &&
                   read_count(reply, "message", &epoch->message) && read_count(reply, "answer", &epoch->answer)
               ? RELAY_OK
               : RELAY_INVALID;
}

/* ---- bundle and answers ---- */

enum relay_result relay_hand_over(struct relay_link *link, const void *bundle, size_t size)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/v1/pack/%s/bundle", link->pack);
    const struct exchange_request request = {.method = EXCHANGE_POST,
                                             .path = path,
                                             .type = "application/x-privatemail-bundle",
                                             .token = link->token[0] ? link->token : NULL,
                                             .body = bundle,
                                             .size = size};
    const enum relay_result result = ask(link, &request, NULL);
    if (result != RELAY_REFUSED)
        return result;
    if (link->exchange.status == 201)
        return RELAY_OK;
    if (link->exchange.status != 409 || !is_error(&link->exchange, "epoch"))
        return RELAY_REFUSED;
    /* An earlier attempt may have arrived. Sealed again, the bundle would be in two epochs, and paid for in one. */
    return link->attempts == 1 ? RELAY_OTHER_EPOCH : RELAY_OK;
}

enum relay_result relay_answer(struct relay_link *link, const char *ticket, size_t place,
                               const struct relay_taker *taker)
{
    struct exchange *exchange = &link->exchange;
    for (;;) {
        /* The relay holds the request a little shorter than we wait for its reply. */
        const double left = fmin(link->deadline - pml_clock_now(), link->timeout) / 2.0;
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "/v1/ticket/%s/%zu?wait=%u", ticket, place,
                 (unsigned)fmax(fmin(left, POLL_SECONDS), 0.0));
        const struct exchange_request request = {
            .method = EXCHANGE_GET, .path = path, .take = taker->take, .context = taker->context};
        const enum relay_result result = ask(link, &request, taker);
        if (result != RELAY_REFUSED)
            return result;
        if (exchange->status == 410)
            return RELAY_LOST;
        if (exchange->status != 202)
            return RELAY_REFUSED;
        if (!relay_pause(link, fmax(0.1, exchange->retry_after)))
            return RELAY_LATE;
    }
}

void relay_forget(struct relay_link *link, const char *ticket)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/v1/ticket/%s", ticket);
    link->exchange.timeout = 5;
    exchange_run(&link->exchange, &(struct exchange_request){.method = EXCHANGE_DELETE, .path = path});
}

/* ---- telling ---- */

bool relay_slow(const struct relay_link *link)
{
    return link->heard && link->exchange.slow;
}

exit_code relay_tell(const struct relay_link *link, const struct command *command, enum relay_result result)
{
    const struct exchange *exchange = &link->exchange;
    if (result == RELAY_REFUSED && exchange->status == 401)
        return command_fail(
            command, EXIT_NETWORK,
            "%s admits clients by token, each once per epoch. Give one of its tokens with --token FILE.",
            exchange->server);
    if (result == RELAY_REFUSED)
        return command_fail(command, EXIT_NETWORK, "%s refused with status %u. Check that it is a relay for pack %s.",
                            exchange->server, exchange->status, link->pack);
    if (result != RELAY_LATE)
        return command_fail(command, EXIT_NETWORK, "%s sent an invalid reply. Check that it is a PrivateMail relay.",
                            exchange->server);
    if (exchange->status == 0 && !relay_slow(link))
        return command_fail(command, EXIT_NETWORK, "%s cannot be reached: %s. Check the address and the network.",
                            exchange->server, exchange->trouble);
    if (exchange->status >= 500)
        return command_fail(command, EXIT_NETWORK, "%s fails with status %u. Start the same command later.",
                            exchange->server, exchange->status);
    return command_fail(command, EXIT_NETWORK,
                        "the crowd of %s did not answer within --wait: too few take part, or the relay is slow. Start "
                        "the same command later, or give a longer --wait.",
                        exchange->server);
}
