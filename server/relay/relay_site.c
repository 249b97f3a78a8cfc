/* SPDX-License-Identifier: Apache-2.0
 * The relay over HTTP (SPEC 11.2): its routes, and what they reply. In: bytes from anybody. Never tells one client
 * anything of another, but how large crowds are. */
#define _POSIX_C_SOURCE 200809L
#include "common/clock.h"
#include "relay_replies.h"
#include "server/http/http_fields.h"
#include "server/http/http_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LOOKUP_SECONDS 10.0                  /* for the gateway to say what it knows of a pack */
#define UPLOADING_MAX ((uint64_t)256 << 20)  /* bytes of bundles that are arriving */
enum { WAIT_MAX = 30, UNKNOWN_MAX = 65536 }; /* seconds of a long poll; bytes for a pack that is not known */

enum route {
    ROUTE_KEYS,
    ROUTE_RELAY,
    ROUTE_PACK,
    ROUTE_EPOCH,
    ROUTE_BUNDLE,
    ROUTE_TICKET,
    ROUTE_HEALTH,
    ROUTE_METRICS,
    ROUTE_NONE,
    ROUTES
};

static const char *const names[ROUTES] = {"/v1/keys",          "/v1/relay",          "/v1/pack/ID",
                                          "/v1/pack/ID/epoch", "/v1/pack/ID/bundle", "/v1/ticket/TICKET",
                                          "/healthz",          "/metrics",           "none"};
static const char pack_path[] = "/v1/pack/", ticket_path[] = "/v1/ticket/";

/* What a request holds of the relay until it is over. */
struct holding {
    struct relay_pack *pack;
    struct relay_epoch *epoch; /* that its bundle belongs to */
    uint64_t bytes;            /* of memory that its body may take */
    bool too_many;             /* there is no such memory */
    double until;              /* it waits no longer than that */
};

static struct pml_relay *relay_of(const struct pml_http *http)
{
    return http->options.site_context;
}

static const char *field(struct MHD_Connection *from, const char *name)
{
    return MHD_lookup_connection_value(from, MHD_HEADER_KIND, name);
}

/* ---- paths ---- */

/* Reads 32 hexadecimal digits, as lower case; returns what follows them, or NULL. */
static const char *read_digits(const char *text, char digits[RELAY_ID_TEXT])
{
    for (size_t i = 0; i < RELAY_ID_TEXT - 1; i++) {
        if (!isxdigit((unsigned char)text[i]))
            return NULL;
        digits[i] = (char)tolower((unsigned char)text[i]);
    }
    digits[RELAY_ID_TEXT - 1] = 0;
    return text + RELAY_ID_TEXT - 1;
}

static unsigned find_route(struct pml_http *http, const char *path)
{
    static const enum route plain[] = {ROUTE_KEYS, ROUTE_RELAY, ROUTE_HEALTH, ROUTE_METRICS};
    char id[RELAY_ID_TEXT];
    (void)http;
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(path, names[plain[i]]) == 0)
            return plain[i];
    }
    if (strncmp(path, ticket_path, sizeof ticket_path - 1) == 0)
        return ROUTE_TICKET;
    if (strncmp(path, pack_path, sizeof pack_path - 1) != 0)
        return ROUTE_NONE;
    const char *rest = read_digits(path + sizeof pack_path - 1, id);
    if (!rest)
        return ROUTE_NONE;
    return rest[0] == 0                   ? ROUTE_PACK
           : strcmp(rest, "/epoch") == 0  ? ROUTE_EPOCH
           : strcmp(rest, "/bundle") == 0 ? ROUTE_BUNDLE
                                          : ROUTE_NONE;
}

/* ---- a bundle begins to arrive ---- */

static struct holding *hold(struct pml_http_request *request)
{
    if (!request->own)
        request->own = calloc(1, sizeof(struct holding));
    return request->own;
}

/* Notes which epoch is open: the bundle belongs to that one, however long it takes. */
static size_t begin(struct pml_http *http, struct pml_http_request *request, const char *path, bool *keep)
{
    struct pml_relay *relay = relay_of(http);
    char id[RELAY_ID_TEXT];
    size_t most = UNKNOWN_MAX;
    bool absent;
    struct holding *holding =
        request->route == ROUTE_BUNDLE && strcmp(request->method, "POST") == 0 ? hold(request) : NULL;
    if (!holding || !read_digits(path + sizeof pack_path - 1, id))
        return most;
    pthread_mutex_lock(&relay->lock);
    struct relay_pack *pack = relay_pack_find(relay, id, &absent);
    if (pack && pack->open) {
        holding->pack = pack;
        holding->epoch = pack->open;
        holding->epoch->uploads++;
        most = RELAY_BUNDLE_HEAD + (size_t)relay->options.bundle_messages * holding->epoch->lengths.message;
    }
    const uint64_t bytes = request->declared < most ? request->declared : most;
    holding->too_many = bytes > UPLOADING_MAX - relay->uploading;
    if (!holding->too_many) {
        holding->bytes = bytes;
        relay->uploading += bytes;
    }
    pthread_mutex_unlock(&relay->lock);
    *keep = !holding->too_many;
    return most;
}

/* Under the lock. */
static void leave_epoch(struct holding *holding)
{
    if (!holding->epoch)
        return;
    holding->epoch->uploads--;
    holding->epoch = NULL;
    pthread_cond_signal(&holding->pack->wake);
}

static void over(struct pml_http *http, struct pml_http_request *request)
{
    struct pml_relay *relay = relay_of(http);
    struct holding *holding = request->own;
    if (!holding)
        return;
    pthread_mutex_lock(&relay->lock);
    leave_epoch(holding);
    relay->uploading -= holding->bytes;
    pthread_mutex_unlock(&relay->lock);
    free(holding);
    request->own = NULL;
}

/* ---- packs ---- */

/* Under the lock: the pack, or NULL and a reply: 404, 503, or later, when the gateway has said what it knows. */
static struct relay_pack *known_pack(struct pml_relay *relay, struct MHD_Connection *from,
                                     struct pml_http_request *request, const char *path, struct pml_http_reply *reply)
{
    char id[RELAY_ID_TEXT];
    bool absent;
    struct holding *holding = hold(request);
    (void)read_digits(path + sizeof pack_path - 1, id);
    struct relay_pack *pack = relay_pack_find(relay, id, &absent);
    const double now = pml_clock_now();
    if (pack && pack->open)
        return pack;
    if (absent) {
        *reply = pml_http_not_found();
        return NULL;
    }
    if (holding && holding->until <= 0.0)
        holding->until = now + LOOKUP_SECONDS;
    if (holding && now < holding->until && relay_wait(relay, from, relay->asked, holding->until))
        *reply = (struct pml_http_reply){.later = true};
    else
        *reply = pml_http_come_later("busy", "The gateway does not say what it knows of this pack. Ask again later.");
    return NULL;
}

static struct pml_http_reply pack_reply(struct pml_relay *relay, struct MHD_Connection *from,
                                        struct pml_http_request *request, const char *path)
{
    struct pml_http_reply reply = {0};
    const struct relay_pack *pack = known_pack(relay, from, request, path, &reply);
    return pack ? pml_http_reply_pack(pack->bytes.bytes, pack->bytes.size, pack->id, from) : reply;
}

static struct pml_http_reply epoch_reply(struct pml_relay *relay, struct MHD_Connection *from,
                                         struct pml_http_request *request, const char *path)
{
    struct pml_http_reply reply = {0};
    const struct relay_pack *pack = known_pack(relay, from, request, path, &reply);
    return pack ? relay_reply_epoch(pack) : reply;
}

/* ---- bundles ---- */

static const char *bearer(struct MHD_Connection *from)
{
    const char *value = field(from, MHD_HTTP_HEADER_AUTHORIZATION);
    if (!value || strncasecmp(value, "Bearer ", 7) != 0)
        return NULL;
    return value + 7 + strspn(value + 7, " ");
}

static struct pml_http_reply bundle_reply(struct pml_http *http, struct MHD_Connection *from,
                                          struct pml_http_request *request, const char *path)
{
    struct pml_relay *relay = relay_of(http);
    struct holding *holding = hold(request);
    const char *encoding = field(from, MHD_HTTP_HEADER_CONTENT_ENCODING);
    struct pml_http_reply reply = {0};
    if (!holding || holding->too_many ||
        pml_http_connections_count(&http->connections, NULL) > http->options.connections)
        return pml_http_come_later("busy", "Too many bundles arrive at once. Send the same bytes again later.");
    if (!pml_http_is_type(field(from, MHD_HTTP_HEADER_CONTENT_TYPE), "application/x-privatemail-bundle") ||
        (encoding && strcasecmp(encoding, "identity") != 0))
        return pml_http_reply_error(MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "type",
                                    "The body must be application/x-privatemail-bundle, not compressed.");
    pthread_mutex_lock(&relay->lock);
    struct relay_pack *pack = holding->pack ? holding->pack : known_pack(relay, from, request, path, &reply);
    if (pack && !holding->epoch) { /* it was not known when the bundle began to arrive */
        holding->pack = pack;
        holding->epoch = pack->open;
        holding->epoch->uploads++;
    }
    pthread_mutex_unlock(&relay->lock);
    if (!pack)
        return reply;
    const enum relay_verdict verdict = relay_bundle_take(pack, holding->epoch, &request->body, bearer(from));
    pthread_mutex_lock(&relay->lock);
    if (verdict == RELAY_TAKEN && holding->epoch->bundle_count == relay->options.clients)
        pthread_cond_signal(&pack->wake);
    leave_epoch(holding);
    reply = relay_reply_verdict(pack, verdict, &request->body);
    pthread_mutex_unlock(&relay->lock);
    return reply;
}

/* ---- tickets ---- */

static double wait_seconds(struct MHD_Connection *from)
{
    const char *text = MHD_lookup_connection_value(from, MHD_GET_ARGUMENT_KIND, "wait");
    const unsigned long seconds = text && isdigit((unsigned char)text[0]) ? strtoul(text, NULL, 10) : 0;
    return seconds < WAIT_MAX ? (double)seconds : (double)WAIT_MAX;
}

/* Reads "TICKET" or "TICKET/I"; I is RELAY_NO_INDEX when there is none. */
static bool read_ticket(const char *path, uint8_t ticket[RELAY_KEY_SIZE], uint32_t *index)
{
    char digits[RELAY_ID_TEXT];
    const char *rest = read_digits(path + sizeof ticket_path - 1, digits);
    *index = RELAY_NO_INDEX;
    if (!rest || (rest[0] != 0 && rest[0] != '/'))
        return false;
    for (size_t i = 0; i < RELAY_KEY_SIZE; i++) {
        const char pair[3] = {digits[2 * i], digits[2 * i + 1], 0};
        ticket[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    if (rest[0] == 0)
        return true;
    const size_t length = strspn(rest + 1, "0123456789");
    if (length == 0 || length > 9 || rest[1 + length] != 0 || (rest[1] == '0' && length > 1))
        return false;
    *index = (uint32_t)strtoul(rest + 1, NULL, 10);
    return true;
}

/* Under the lock. */
static struct pml_http_reply answers_reply(struct pml_relay *relay, struct MHD_Connection *from,
                                           struct pml_http_request *request, const uint8_t *ticket, uint32_t index)
{
    struct relay_epoch *epoch;
    struct relay_bundle *bundle = relay_find_ticket(relay, NULL, ticket, &epoch);
    const double now = pml_clock_now();
    if (!bundle || bundle->forgotten || (atomic_load(&relay->stopping) && epoch->phase != RELAY_READY))
        return relay_reply_lost();
    if (index != RELAY_NO_INDEX && index >= bundle->count)
        return pml_http_not_found();
    if (strcmp(request->method, "DELETE") == 0) {
        relay_bundle_forget(epoch, bundle);
        return pml_http_reply_kept(MHD_HTTP_NO_CONTENT, NULL, "", 0);
    }
    if (epoch->phase == RELAY_READY)
        return relay_reply_answers(epoch, bundle, index);
    struct holding *holding = hold(request);
    if (holding && holding->until <= 0.0)
        holding->until = now + wait_seconds(from);
    if (holding && now < holding->until && relay_wait(relay, from, epoch, holding->until))
        return (struct pml_http_reply){.later = true};
    return relay_reply_waiting(relay, epoch);
}

static struct pml_http_reply ticket_reply(struct pml_relay *relay, struct MHD_Connection *from,
                                          struct pml_http_request *request, const char *path)
{
    uint8_t ticket[RELAY_KEY_SIZE];
    uint32_t index;
    const bool deletes = strcmp(request->method, "DELETE") == 0;
    if (!read_ticket(path, ticket, &index) || (deletes && index != RELAY_NO_INDEX))
        return pml_http_not_found();
    return answers_reply(relay, from, request, ticket, index);
}

/* ---- all ---- */

static struct pml_http_reply locked_reply(struct pml_http *http, struct MHD_Connection *from,
                                          struct pml_http_request *request, const char *path)
{
    struct pml_relay *relay = relay_of(http);
    struct pml_http_reply reply;
    pthread_mutex_lock(&relay->lock);
    switch (request->route) {
    case ROUTE_KEYS:
        reply = relay_reply_keys(relay);
        break;
    case ROUTE_RELAY:
        reply = relay_reply_about(relay);
        break;
    case ROUTE_PACK:
        reply = pack_reply(relay, from, request, path);
        break;
    case ROUTE_EPOCH:
        reply = epoch_reply(relay, from, request, path);
        break;
    case ROUTE_HEALTH:
        reply = relay_reply_health(relay);
        break;
    default:
        reply = ticket_reply(relay, from, request, path);
    }
    pthread_mutex_unlock(&relay->lock);
    return reply;
}

static struct pml_http_reply answer(struct pml_http *http, struct MHD_Connection *from,
                                    struct pml_http_request *request, const char *path)
{
    const bool reads = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    if (request->route == ROUTE_NONE)
        return pml_http_not_found();
    if (http->options.origin && strcmp(request->method, "OPTIONS") == 0)
        return pml_http_preflight("GET, HEAD, POST, DELETE", "Accept, Authorization, Content-Type, Range");
    if (request->route == ROUTE_BUNDLE)
        return strcmp(request->method, "POST") == 0 ? bundle_reply(http, from, request, path)
                                                    : pml_http_wrong_method("POST");
    if (request->route == ROUTE_TICKET && strcmp(request->method, "DELETE") == 0)
        return locked_reply(http, from, request, path);
    if (!reads)
        return pml_http_wrong_method(request->route == ROUTE_TICKET ? "GET, HEAD, DELETE" : "GET, HEAD");
    return request->route == ROUTE_METRICS ? pml_http_reply_metrics(http, relay_metrics_write)
                                           : locked_reply(http, from, request, path);
}

const struct pml_http_site relay_site = {
    .names = names, .routes = ROUTES, .route = find_route, .begin = begin, .answer = answer, .over = over};
