/* SPDX-License-Identifier: Apache-2.0
 * From the bytes of a release to its answer or a fault: for POST /v1/query, and for what comes sealed (http_gateway.c). */
#define _POSIX_C_SOURCE 200809L
#include "http_fields.h"
#include "http_json.h"
#include "http_state.h"
#include "http_text.h"

#include <string.h>
#include <strings.h>

const struct pml_http_fault pml_http_no_release = {MHD_HTTP_BAD_REQUEST, "release",
                                                   "The body is not a release of its pack."},
                            pml_http_other_pack = {MHD_HTTP_CONFLICT, "pack",
                                                   "This server does not serve the release's pack. Fetch a current one "
                                                   "from /v1/pack/ID."};

static const struct pml_http_fault no_mechanism = {
    MHD_HTTP_BAD_REQUEST, "release", "This server does not serve the release's mechanism. Use the other one."};

/* ---- what both need ---- */

const struct pml_http_pack *pml_http_pack(const struct pml_http *http, const uint8_t id[PML_ID_SIZE])
{
    for (size_t i = 0; i < http->options.pack_count; i++) {
        const struct pml_http_pack *pack = &http->options.packs[i];
        if (memcmp(pml_follow_pack(pack->follow)->id, id, PML_ID_SIZE) == 0)
            return pack;
    }
    return NULL;
}

const struct pml_http_fault *pml_http_release(const struct pml_http *http, const void *release, size_t size,
                                              const struct pml_http_pack **pack, pml_release_view *view)
{
    uint8_t id[PML_ID_SIZE];
    if (pml_release_id(release, size, id) != PML_OK)
        return &pml_http_no_release;
    *pack = pml_http_pack(http, id);
    if (!*pack)
        return &pml_http_other_pack;
    return pml_follow_read((*pack)->follow, release, size, view) == PML_OK ? NULL : &pml_http_no_release;
}

const struct pml_http_fault *pml_http_outcome(struct pml_http *http, pml_outcome outcome)
{
    if (outcome == PML_DONE || outcome == PML_REFUSED)
        return outcome == PML_DONE ? NULL : &no_mechanism;
    atomic_fetch_add(&http->metrics.store_failures, 1);
    return &pml_http_store_fault;
}

bool pml_http_fault_text(const struct pml_http *http, const struct pml_http_fault *fault, struct pml_bytes *text)
{
    bool fine = pml_http_print(text, "{\"error\":\"%s\",\"message\":\"%s\"", fault->name, fault->sentence);
    if (fault == &pml_http_other_pack) {
        fine = fine && pml_http_print(text, ",\"current\":[");
        for (size_t i = 0; i < http->options.pack_count && fine; i++) {
            char id[2 * PML_ID_SIZE + 1];
            pml_http_id_text(pml_follow_pack(http->options.packs[i].follow)->id, id);
            fine = pml_http_print(text, "%s\"%s\"", i > 0 ? "," : "", id);
        }
        fine = fine && pml_http_print(text, "]");
    }
    return fine && pml_http_print(text, "}\n");
}

const struct pml_http_fault *pml_http_busy(struct pml_http *http, const struct pml_http_request *request)
{
    static const struct pml_http_fault closing = {MHD_HTTP_SERVICE_UNAVAILABLE, "busy",
                                                  "This server is closing. Send the same bytes again."},
                                       full = {
                                           MHD_HTTP_SERVICE_UNAVAILABLE, "busy",
                                           "This server has too many connections. Send the same bytes again later."};
    if (request->late)
        return &closing;
    return pml_http_connections_count(&http->connections, NULL) > http->options.connections ? &full : NULL;
}

/* ---- POST /v1/query ---- */

static enum MHD_Result take_accept(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    if (strcasecmp(name, MHD_HTTP_HEADER_ACCEPT) == 0 && value)
        pml_http_accept(context, value);
    return MHD_YES;
}

static struct pml_http_reply refuse(const struct pml_http *http, const struct pml_http_fault *fault)
{
    struct pml_bytes text = {0};
    if (pml_http_fault_text(http, fault, &text))
        return pml_http_reply_fault(fault->status, &text);
    pml_bytes_free(&text);
    return (struct pml_http_reply){0};
}

static struct pml_http_reply answer(struct pml_http *http, struct MHD_Connection *from,
                                    const struct pml_http_pack *pack, const pml_release_view *view, bool json)
{
    struct pml_service *service;
    struct pml_parts parts;
    struct pml_bytes text = {0};
    pml_outcome outcome = pml_follow_answer(pack->follow, view, &service, &parts);
    if (outcome == PML_DONE && json) {
        outcome = pml_http_answer_json(service, &parts, &text);
        pml_parts_free(&parts);
    }
    pml_service_unref(service);
    const struct pml_http_fault *fault = pml_http_outcome(http, outcome);
    if (fault)
        return refuse(http, fault);
    return pml_http_no_store(json ? pml_http_reply_bytes(MHD_HTTP_OK, "application/json", &text)
                                  : pml_http_reply_parts(from, MHD_HTTP_OK, "application/cbor-seq", &parts));
}

bool pml_http_has_type(struct MHD_Connection *from, const char *type)
{
    const char *encoding = MHD_lookup_connection_value(from, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_ENCODING);
    return pml_http_is_type(MHD_lookup_connection_value(from, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE), type) &&
           (!encoding || strcasecmp(encoding, "identity") == 0);
}

struct pml_http_reply pml_http_query(struct pml_http *http, struct MHD_Connection *from,
                                     const struct pml_http_request *request)
{
    static const struct pml_http_fault other_type = {MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "type",
                                                     "The body must be application/cbor, not compressed."};
    const struct pml_http_pack *pack;
    struct pml_http_accept accept = {0};
    pml_release_view view;
    const struct pml_http_fault *fault = pml_http_busy(http, request);
    if (!fault && !pml_http_has_type(from, "application/cbor"))
        fault = &other_type;
    if (!fault)
        fault = pml_http_release(http, request->body.bytes, request->body.size, &pack, &view);
    if (fault)
        return refuse(http, fault);
    MHD_get_connection_values(from, MHD_HEADER_KIND, take_accept, &accept);
    return answer(http, from, pack, &view, pml_http_accept_json(&accept));
}
