/* SPDX-License-Identifier: Apache-2.0
 * Finds the route of a request and makes its reply. */
#define _POSIX_C_SOURCE 200809L
#include "http_routes.h"

#include "http_fields.h"
#include "http_files.h"
#include "http_json.h"
#include "http_state.h"
#include "http_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char pack_path[] = "/v1/pack/", gallery_path[] = "/v1/gallery/", gallery_end[] = "/gallery";

static const char *field(struct MHD_Connection *from, const char *name)
{
    return MHD_lookup_connection_value(from, MHD_HEADER_KIND, name);
}

const char *pml_http_route_name(enum pml_http_route route)
{
    static const char *const names[PML_HTTP_ROUTES] = {
        "/v1/query", "/v1/pack/ID", "/v1/pack/ID/gallery", "/v1/gallery/D/SLOT/CELL", "/healthz", "/metrics",
        "files",     "none"};
    return names[route];
}

enum pml_http_route pml_http_route(const struct pml_http *http, const char *path)
{
    static const enum pml_http_route plain[] = {PML_ROUTE_QUERY, PML_ROUTE_HEALTH, PML_ROUTE_METRICS};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(path, pml_http_route_name(plain[i])) == 0)
            return plain[i];
    }
    if (strncmp(path, gallery_path, sizeof gallery_path - 1) == 0)
        return PML_ROUTE_CELL;
    if (strncmp(path, pack_path, sizeof pack_path - 1) == 0)
        return strcmp(path + strcspn(path + sizeof pack_path - 1, "/") + sizeof pack_path - 1, gallery_end) == 0
                   ? PML_ROUTE_GALLERY
                   : PML_ROUTE_PACK;
    return http->files >= 0 && path[0] == '/' ? PML_ROUTE_FILES : PML_ROUTE_NONE;
}

static struct pml_http_reply no_store(struct pml_http_reply reply)
{
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    return reply;
}

/* ---- /v1/query ---- */

static enum MHD_Result take_accept(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    if (strcasecmp(name, MHD_HTTP_HEADER_ACCEPT) == 0 && value)
        pml_http_accept(context, value);
    return MHD_YES;
}

/* The service of a pack, NULL when it is not served. */
static const struct pml_service *find_service(const struct pml_http *http, const uint8_t id[PML_ID_SIZE])
{
    for (size_t i = 0; i < http->options.pack_count; i++) {
        const struct pml_service *service = http->options.packs[i].service;
        if (memcmp(pml_service_pack(service)->id, id, PML_ID_SIZE) == 0)
            return service;
    }
    return NULL;
}

static struct pml_http_reply other_pack(const struct pml_http *http)
{
    struct pml_bytes text = {0};
    bool fine =
        pml_http_print(&text, "{\"error\":\"pack\",\"message\":\"This server does not serve the release's pack. "
                              "Fetch a current one from /v1/pack/ID.\",\"current\":[");
    for (size_t i = 0; i < http->options.pack_count && fine; i++) {
        char id[2 * PML_ID_SIZE + 1];
        pml_http_id_text(pml_service_pack(http->options.packs[i].service)->id, id);
        fine = pml_http_print(&text, "%s\"%s\"", i > 0 ? "," : "", id);
    }
    if (!fine || !pml_http_print(&text, "]}\n")) {
        pml_bytes_free(&text);
        return (struct pml_http_reply){0};
    }
    return no_store(pml_http_reply_bytes(MHD_HTTP_CONFLICT, "application/json", &text));
}

static struct pml_http_reply no_release(void)
{
    return pml_http_reply_error(MHD_HTTP_BAD_REQUEST, "release", "The body is not a release of its pack.");
}

static struct pml_http_reply query_failed(struct pml_http *http, pml_outcome outcome)
{
    return outcome == PML_ABSENT
               ? pml_http_reply_error(MHD_HTTP_BAD_REQUEST, "release",
                                      "This server does not serve the release's mechanism. Use the other one.")
               : pml_http_store_failed(&http->metrics.store_failures);
}

static struct pml_http_reply answer(struct pml_http *http, const struct pml_service *service,
                                    const pml_release_view *view, bool json)
{
    struct pml_parts parts;
    struct pml_bytes text = {0};
    pml_outcome outcome = json ? pml_http_answer_json(service, view, &text) : pml_service_parts(service, view, &parts);
    if (outcome != PML_DONE)
        return query_failed(http, outcome);
    return no_store(json ? pml_http_reply_bytes(MHD_HTTP_OK, "application/json", &text)
                         : pml_http_reply_parts(MHD_HTTP_OK, "application/cbor-seq", &parts));
}

static struct pml_http_reply query(struct pml_http *http, struct MHD_Connection *from,
                                   const struct pml_http_request *request)
{
    const struct pml_bytes *body = &request->body;
    const char *encoding = field(from, MHD_HTTP_HEADER_CONTENT_ENCODING);
    uint8_t id[PML_ID_SIZE];
    pml_release_view view;
    if (request->late)
        return pml_http_come_later("busy", "This server is closing. Send the same bytes again.");
    if (pml_http_connections_count(&http->connections, NULL) > http->options.connections)
        return pml_http_come_later("busy", "This server has too many connections. Send the same bytes again later.");
    if (!pml_http_is_type(field(from, MHD_HTTP_HEADER_CONTENT_TYPE), "application/cbor") ||
        (encoding && strcasecmp(encoding, "identity") != 0))
        return pml_http_reply_error(MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "type",
                                    "The body must be application/cbor, not compressed.");
    if (pml_release_id(body->bytes, body->size, id) != PML_OK)
        return no_release();
    const struct pml_service *service = find_service(http, id);
    if (!service)
        return other_pack(http);
    if (pml_service_read(service, body->bytes, body->size, &view) != PML_OK)
        return no_release();
    struct pml_http_accept accept = {0};
    MHD_get_connection_values(from, MHD_HEADER_KIND, take_accept, &accept);
    return answer(http, service, &view, pml_http_accept_json(&accept));
}

/* ---- /v1/pack/ID ---- */

static struct pml_http_reply part_of_pack(const struct pml_http_pack *pack, struct MHD_Connection *from,
                                          const char *tag)
{
    static const char type[] = "application/octet-stream";
    const char *range = field(from, MHD_HTTP_HEADER_RANGE), *only = field(from, MHD_HTTP_HEADER_IF_RANGE);
    uint64_t first = 0, last = 0;
    char found[80];
    switch (only && strcmp(only, tag) != 0 ? PML_HTTP_WHOLE : pml_http_range(range, pack->size, &first, &last)) {
    case PML_HTTP_PART: {
        struct pml_http_reply reply =
            pml_http_reply_kept(MHD_HTTP_PARTIAL_CONTENT, type, pack->bytes + first, (size_t)(last - first + 1));
        snprintf(found, sizeof found, "bytes %" PRIu64 "-%" PRIu64 "/%zu", first, last, pack->size);
        pml_http_reply_field(&reply, MHD_HTTP_HEADER_CONTENT_RANGE, found);
        return reply;
    }
    case PML_HTTP_BEYOND: {
        struct pml_http_reply reply =
            pml_http_reply_error(MHD_HTTP_RANGE_NOT_SATISFIABLE, "range", "The pack is not as long as that.");
        snprintf(found, sizeof found, "bytes */%zu", pack->size);
        pml_http_reply_field(&reply, MHD_HTTP_HEADER_CONTENT_RANGE, found);
        return reply;
    }
    default:
        return pml_http_reply_kept(MHD_HTTP_OK, type, pack->bytes, pack->size);
    }
}

/* The pack whose id begins `text` and ends it, but for `end`; NULL when there is none. */
static const struct pml_http_pack *find_pack(const struct pml_http *http, const char *text, const char *end, char *id)
{
    for (size_t i = 0; i < http->options.pack_count; i++) {
        pml_http_id_text(pml_service_pack(http->options.packs[i].service)->id, id);
        if (strncasecmp(text, id, 2 * PML_ID_SIZE) == 0 && strcmp(text + 2 * PML_ID_SIZE, end) == 0)
            return &http->options.packs[i];
    }
    return NULL;
}

static struct pml_http_reply pack(const struct pml_http *http, struct MHD_Connection *from, const char *path)
{
    char id[2 * PML_ID_SIZE + 1], tag[2 * PML_ID_SIZE + 3];
    const struct pml_http_pack *found = find_pack(http, path + sizeof pack_path - 1, "", id);
    struct pml_http_reply reply;
    if (!found)
        return pml_http_not_found();
    snprintf(tag, sizeof tag, "\"%s\"", id);
    if (pml_http_has_tag(field(from, MHD_HTTP_HEADER_IF_NONE_MATCH), tag))
        reply = pml_http_reply_kept(MHD_HTTP_NOT_MODIFIED, NULL, "", 0);
    else
        reply = part_of_pack(found, from, tag);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ETAG, tag);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
    if (reply.status != MHD_HTTP_RANGE_NOT_SATISFIABLE)
        pml_http_reply_field(&reply, MHD_HTTP_HEADER_CACHE_CONTROL, "public, max-age=31536000, immutable");
    return reply;
}

static struct pml_http_reply gallery(const struct pml_http *http, struct MHD_Connection *from, const char *path)
{
    char id[2 * PML_ID_SIZE + 1];
    const struct pml_http_pack *found = find_pack(http, path + sizeof pack_path - 1, gallery_end, id);
    return found ? pml_http_gallery(found, field(from, MHD_HTTP_HEADER_IF_NONE_MATCH)) : pml_http_not_found();
}

/* ---- /healthz, /metrics ---- */

static struct pml_http_reply health(const struct pml_http *http)
{
    static const char stopping[] = "{\"status\":\"stopping\"}\n", store[] = "{\"status\":\"store\"}\n",
                      fine[] = "{\"status\":\"ok\"}\n", type[] = "application/json";
    if (atomic_load(&http->draining))
        return pml_http_reply_kept(MHD_HTTP_SERVICE_UNAVAILABLE, type, stopping, sizeof stopping - 1);
    for (size_t i = 0; i < http->options.pack_count; i++) {
        if (pml_service_ping(http->options.packs[i].service) != PML_DONE)
            return pml_http_reply_kept(MHD_HTTP_SERVICE_UNAVAILABLE, type, store, sizeof store - 1);
    }
    return pml_http_reply_kept(MHD_HTTP_OK, type, fine, sizeof fine - 1);
}

static struct pml_http_reply metrics(struct pml_http *http)
{
    struct pml_bytes text = {0};
    struct pml_http_gauges gauges = {.packs = http->options.pack_count};
    gauges.connections = pml_http_connections_count(&http->connections, &gauges.running);
    if (http->options.cache)
        gauges.cache = pml_cache_count(http->options.cache);
    for (size_t i = 0; i < http->options.pack_count; i++) {
        const struct pml_service_counts counts = pml_service_count(http->options.packs[i].service);
        gauges.queries += counts.queries;
        gauges.touched += counts.touched;
    }
    if (pml_http_metrics_write(&http->metrics, &gauges, &text) != PML_DONE) {
        pml_bytes_free(&text);
        return (struct pml_http_reply){0};
    }
    return pml_http_reply_bytes(MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", &text);
}

/* ---- all ---- */

static struct pml_http_reply wrong_method(const char *allow)
{
    struct pml_http_reply reply =
        pml_http_reply_error(MHD_HTTP_METHOD_NOT_ALLOWED, "method", "Use a method that Allow names.");
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ALLOW, allow);
    return reply;
}

/* What a browser asks before a page of another origin may ask. */
static struct pml_http_reply preflight(void)
{
    struct pml_http_reply reply = pml_http_reply_kept(MHD_HTTP_NO_CONTENT, NULL, "", 0);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST");
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_HEADERS, "Accept, Content-Type, Range");
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ACCESS_CONTROL_MAX_AGE, "3600");
    return reply;
}

struct pml_http_reply pml_http_answer(struct pml_http *http, struct MHD_Connection *from,
                                      const struct pml_http_request *request, const char *path)
{
    bool reads = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    if (request->route == PML_ROUTE_NONE)
        return pml_http_not_found();
    if (http->options.origin && strcmp(request->method, "OPTIONS") == 0)
        return preflight();
    if (request->route == PML_ROUTE_QUERY) {
        if (strcmp(request->method, "POST") != 0)
            return wrong_method("POST");
        struct pml_http_reply reply = query(http, from, request);
        pml_http_reply_field(&reply, MHD_HTTP_HEADER_VARY, "Accept");
        return reply;
    }
    if (!reads)
        return wrong_method("GET, HEAD");
    switch (request->route) {
    case PML_ROUTE_PACK:
        return pack(http, from, path);
    case PML_ROUTE_GALLERY:
        return gallery(http, from, path);
    case PML_ROUTE_CELL:
        return pml_http_cell(http, path + sizeof gallery_path - 1, field(from, MHD_HTTP_HEADER_IF_NONE_MATCH));
    case PML_ROUTE_HEALTH:
        return no_store(health(http));
    case PML_ROUTE_METRICS:
        return no_store(metrics(http));
    default:
        return pml_http_file(http->files, path, field(from, MHD_HTTP_HEADER_IF_NONE_MATCH));
    }
}
