/* SPDX-License-Identifier: Apache-2.0
 * Finds the route of a request and makes its reply. */
#define _POSIX_C_SOURCE 200809L
#include "http_fields.h"
#include "http_files.h"
#include "http_state.h"
#include "http_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char pack_path[] = "/v1/pack/", part_path[] = "/v1/part/", gallery_end[] = "/gallery";

static const char *field(struct MHD_Connection *from, const char *name)
{
    return MHD_lookup_connection_value(from, MHD_HEADER_KIND, name);
}

enum route {
    PML_ROUTE_QUERY,
    PML_ROUTE_GATEWAY,
    PML_ROUTE_PACKS,
    PML_ROUTE_PACK,
    PML_ROUTE_GALLERY,
    PML_ROUTE_PART,
    PML_ROUTE_HEALTH,
    PML_ROUTE_METRICS,
    PML_ROUTE_FILES,
    PML_ROUTE_NONE,
    PML_HTTP_ROUTES
};

static const char *const names[PML_HTTP_ROUTES] = {"/v1/query",
                                                   "/.well-known/ohttp-gateway",
                                                   "/v1/packs",
                                                   "/v1/pack/ID",
                                                   "/v1/pack/ID/gallery",
                                                   "/v1/part/NAME",
                                                   "/healthz",
                                                   "/metrics",
                                                   "files",
                                                   "none"};

static unsigned find_route(struct pml_http *http, const char *path)
{
    static const enum route plain[] = {PML_ROUTE_QUERY, PML_ROUTE_GATEWAY, PML_ROUTE_PACKS, PML_ROUTE_HEALTH,
                                       PML_ROUTE_METRICS};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(path, names[plain[i]]) == 0)
            return plain[i];
    }
    if (strncmp(path, part_path, sizeof part_path - 1) == 0)
        return PML_ROUTE_PART;
    if (strncmp(path, pack_path, sizeof pack_path - 1) == 0)
        return strcmp(path + strcspn(path + sizeof pack_path - 1, "/") + sizeof pack_path - 1, gallery_end) == 0
                   ? PML_ROUTE_GALLERY
                   : PML_ROUTE_PACK;
    return http->files >= 0 && path[0] == '/' ? PML_ROUTE_FILES : PML_ROUTE_NONE;
}

static size_t begin(struct pml_http *http, struct pml_http_request *request, const char *path, bool *keep)
{
    const bool sealed = request->route == PML_ROUTE_GATEWAY && http->options.gateway;
    (void)path;
    *keep = sealed || request->route == PML_ROUTE_QUERY;
    return sealed ? PML_HTTP_SEALED_MAX : PML_HTTP_BODY_MAX;
}

/* ---- /v1/pack/ID ---- */

static struct pml_http_reply part_of_pack(const uint8_t *bytes, size_t size, struct MHD_Connection *from,
                                          const char *tag)
{
    static const char type[] = "application/octet-stream";
    const char *range = field(from, MHD_HTTP_HEADER_RANGE), *only = field(from, MHD_HTTP_HEADER_IF_RANGE);
    uint64_t first = 0, last = 0;
    char found[80];
    switch (only && strcmp(only, tag) != 0 ? PML_HTTP_WHOLE : pml_http_range(range, size, &first, &last)) {
    case PML_HTTP_PART: {
        struct pml_http_reply reply =
            pml_http_reply_kept(MHD_HTTP_PARTIAL_CONTENT, type, bytes + first, (size_t)(last - first + 1));
        snprintf(found, sizeof found, "bytes %" PRIu64 "-%" PRIu64 "/%zu", first, last, size);
        pml_http_reply_field(&reply, MHD_HTTP_HEADER_CONTENT_RANGE, found);
        return reply;
    }
    case PML_HTTP_BEYOND: {
        struct pml_http_reply reply =
            pml_http_reply_error(MHD_HTTP_RANGE_NOT_SATISFIABLE, "range", "The pack is not as long as that.");
        snprintf(found, sizeof found, "bytes */%zu", size);
        pml_http_reply_field(&reply, MHD_HTTP_HEADER_CONTENT_RANGE, found);
        return reply;
    }
    default:
        return pml_http_reply_kept(MHD_HTTP_OK, type, bytes, size);
    }
}

/* The pack whose id begins `text` and ends it, but for `end`; NULL when there is none. */
static const struct pml_http_pack *find_pack(const struct pml_http *http, const char *text, const char *end, char *id)
{
    for (size_t i = 0; i < http->options.pack_count; i++) {
        pml_http_id_text(pml_follow_pack(http->options.packs[i].follow)->id, id);
        if (strncasecmp(text, id, 2 * PML_ID_SIZE) == 0 && strcmp(text + 2 * PML_ID_SIZE, end) == 0)
            return &http->options.packs[i];
    }
    return NULL;
}

struct pml_http_reply pml_http_reply_pack(const uint8_t *bytes, size_t size, const char *id,
                                          struct MHD_Connection *from)
{
    char tag[2 * PML_ID_SIZE + 3];
    struct pml_http_reply reply;
    snprintf(tag, sizeof tag, "\"%s\"", id);
    if (pml_http_has_tag(field(from, MHD_HTTP_HEADER_IF_NONE_MATCH), tag))
        reply = pml_http_reply_kept(MHD_HTTP_NOT_MODIFIED, NULL, "", 0);
    else
        reply = part_of_pack(bytes, size, from, tag);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ETAG, tag);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
    if (reply.status != MHD_HTTP_RANGE_NOT_SATISFIABLE)
        pml_http_reply_field(&reply, MHD_HTTP_HEADER_CACHE_CONTROL, "public, max-age=31536000, immutable");
    return reply;
}

static struct pml_http_reply pack(const struct pml_http *http, struct MHD_Connection *from, const char *path)
{
    char id[2 * PML_ID_SIZE + 1];
    const struct pml_http_pack *found = find_pack(http, path + sizeof pack_path - 1, "", id);
    return found ? pml_http_reply_pack(found->bytes, found->size, id, from) : pml_http_not_found();
}

static struct pml_http_reply gallery(const struct pml_http *http, struct MHD_Connection *from, const char *path)
{
    char id[2 * PML_ID_SIZE + 1];
    const struct pml_http_pack *found = find_pack(http, path + sizeof pack_path - 1, gallery_end, id);
    return found ? pml_http_gallery(http, found, field(from, MHD_HTTP_HEADER_IF_NONE_MATCH)) : pml_http_not_found();
}

/* ---- /healthz, /metrics ---- */

static struct pml_http_reply health(const struct pml_http *http)
{
    static const char stopping[] = "{\"status\":\"stopping\"}\n", store[] = "{\"status\":\"store\"}\n",
                      fine[] = "{\"status\":\"ok\"}\n", type[] = "application/json";
    if (atomic_load(&http->draining))
        return pml_http_reply_kept(MHD_HTTP_SERVICE_UNAVAILABLE, type, stopping, sizeof stopping - 1);
    for (size_t i = 0; i < http->options.pack_count; i++) {
        if (pml_follow_ping(http->options.packs[i].follow) != PML_DONE)
            return pml_http_reply_kept(MHD_HTTP_SERVICE_UNAVAILABLE, type, store, sizeof store - 1);
    }
    return pml_http_reply_kept(MHD_HTTP_OK, type, fine, sizeof fine - 1);
}

static uint64_t count_items(const struct pml_http *http)
{
    uint64_t items = 0;
    for (size_t i = 0; i < http->options.pack_count; i++) {
        struct pml_service *service = pml_follow_take(http->options.packs[i].follow);
        items += pml_service_manifest(service)->items;
        pml_service_unref(service);
    }
    return items;
}

static bool write_metrics(struct pml_http *http, struct pml_bytes *text)
{
    struct pml_follow_counts all = {0};
    struct pml_cache_counts cache = {0};
    if (http->options.cache)
        cache = pml_cache_count(http->options.cache);
    for (size_t i = 0; i < http->options.pack_count; i++) {
        const struct pml_follow_counts counts = pml_follow_count(http->options.packs[i].follow);
        all.queries += counts.queries;
        all.touched += counts.touched;
        all.switches += counts.switches;
        all.failures += counts.failures;
    }
    return pml_http_metrics_write(http, text) &&
           pml_http_metric(text, "received_bytes_total", "counter", "Bytes of requests' bodies.",
                           http->metrics.received) &&
           pml_http_metric(text, "sent_bytes_total", "counter", "Bytes of answers' bodies.", http->metrics.sent) &&
           pml_http_metric(text, "store_failures_total", "counter", "Queries that the store could not answer.",
                           http->metrics.store_failures) &&
           pml_http_metric(text, "queries_total", "counter", "Queries that were answered.", all.queries) &&
           pml_http_metric(text, "queries_from_store_total", "counter",
                           "Queries for which the store was read; the others were answered from memory.",
                           all.touched) &&
           pml_http_metric(text, "cache_hits_total", "counter", "Parts of answers found in memory.", cache.hits) &&
           pml_http_metric(text, "cache_misses_total", "counter", "Parts that were not.", cache.misses) &&
           pml_http_metric(text, "cache_evictions_total", "counter", "Parts that had to go.", cache.evictions) &&
           pml_http_metric(text, "cache_bytes", "gauge", "Bytes of parts in memory.", cache.bytes) &&
           pml_http_metric(text, "cache_limit_bytes", "gauge", "Bytes there may be.", cache.limit) &&
           pml_http_metric(text, "gallery_switches_total", "counter", "Newer versions of galleries that came.",
                           all.switches) &&
           pml_http_metric(text, "gallery_failures_total", "counter",
                           "Times that a newer version was found and could not be served.", all.failures) &&
           pml_http_metric(text, "gallery_items", "gauge", "Items of the galleries that are served.",
                           count_items(http)) &&
           pml_http_metric(text, "packs", "gauge", "Packs that are served.", http->options.pack_count);
}

/* ---- all ---- */

static struct pml_http_reply reply_to(struct pml_http *http, struct MHD_Connection *from,
                                      struct pml_http_request *request, const char *path)
{
    bool reads = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    if (request->route == PML_ROUTE_NONE || (request->route == PML_ROUTE_GATEWAY && !http->options.gateway))
        return pml_http_not_found();
    if (http->options.origin && strcmp(request->method, "OPTIONS") == 0)
        return pml_http_preflight("GET, HEAD, POST", "Accept, Content-Type, Range");
    if (request->route == PML_ROUTE_QUERY) {
        if (strcmp(request->method, "POST") != 0)
            return pml_http_wrong_method("POST");
        struct pml_http_reply reply = pml_http_query(http, from, request);
        pml_http_reply_field(&reply, MHD_HTTP_HEADER_VARY, "Accept");
        return reply;
    }
    if (request->route == PML_ROUTE_GATEWAY && strcmp(request->method, "POST") == 0)
        return pml_http_sealed(http, from, request);
    if (!reads)
        return pml_http_wrong_method(request->route == PML_ROUTE_GATEWAY ? "GET, HEAD, POST" : "GET, HEAD");
    switch (request->route) {
    case PML_ROUTE_PACK:
        return pack(http, from, path);
    case PML_ROUTE_GALLERY:
        return gallery(http, from, path);
    case PML_ROUTE_PACKS:
        return pml_http_packs(http);
    case PML_ROUTE_PART:
        return pml_http_part(http, from, path + sizeof part_path - 1, field(from, MHD_HTTP_HEADER_IF_NONE_MATCH));
    case PML_ROUTE_GATEWAY:
        return pml_http_keys(http);
    case PML_ROUTE_HEALTH:
        return pml_http_no_store(health(http));
    case PML_ROUTE_METRICS:
        return pml_http_reply_metrics(http, write_metrics);
    default:
        return pml_http_file(http->files, path, field(from, MHD_HTTP_HEADER_IF_NONE_MATCH), http->options.connect);
    }
}

const struct pml_http_site pml_http_service_site = {
    .names = names, .routes = PML_HTTP_ROUTES, .route = find_route, .begin = begin, .answer = reply_to};
