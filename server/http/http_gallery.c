/* SPDX-License-Identifier: Apache-2.0
 * What a front end needs to put together the answer to a response release: which version is served, and parts, which never
 * change. Whoever asks for a part here does not say which release named it. */
#define _POSIX_C_SOURCE 200809L
#include "http_fields.h"
#include "http_state.h"
#include "http_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pml_http_reply with_tag(struct pml_http_reply reply, const char *tag, const char *control)
{
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ETAG, tag);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_CACHE_CONTROL, control);
    return reply;
}

/* A document that was written, or none when memory ran out. */
static struct pml_http_reply document(bool written, struct pml_bytes *text)
{
    if (written)
        return pml_http_reply_bytes(MHD_HTTP_OK, "application/json", text);
    pml_bytes_free(text);
    return (struct pml_http_reply){0};
}

/* ---- /v1/packs ---- */

static bool describe_pack(const struct pml_http_pack *pack, bool first, struct pml_bytes *text)
{
    struct pml_service *service = pml_follow_take(pack->follow);
    char id[2 * PML_ID_SIZE + 1], version[PML_NAME_DIGITS + 1];
    pml_http_id_text(pml_service_pack(service)->id, id);
    pml_name_write(pml_service_version(service), version);
    const bool described =
        pml_http_print(text, "%s{\"pack\":\"%s\",\"version\":\"%s\",\"items\":%" PRIu64 ",\"bytes\":%zu}",
                       first ? "" : ",", id, version, pml_service_manifest(service)->items, pack->size);
    pml_service_unref(service);
    return described;
}

struct pml_http_reply pml_http_packs(const struct pml_http *http)
{
    struct pml_bytes text = {0};
    bool fine = pml_http_print(&text, "{\"packs\":[");
    for (size_t i = 0; i < http->options.pack_count && fine; i++)
        fine = describe_pack(&http->options.packs[i], i == 0, &text);
    struct pml_http_reply reply = document(fine && pml_http_print(&text, "]}\n"), &text);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_CACHE_CONTROL, "public, max-age=60");
    return reply;
}

/* ---- /v1/pack/ID/gallery ---- */

/* Bytes of a sealed answer to a message of a crowd; 0 when there is none. */
static uint64_t sealed_size(const struct pml_http *http, const struct pml_service *service)
{
    return http->options.gateway && pml_service_longest(service)->message > 0
               ? pml_gateway_answer_size(pml_http_padded(http, service))
               : 0;
}

/* What a relay and its clients need to know of a gateway. */
static bool describe_sealed(const struct pml_http *http, const struct pml_service *service, struct pml_bytes *text)
{
    const uint64_t answer = sealed_size(http, service);
    const size_t message = pml_gateway_message_size(pml_longest_message(pml_service_pack(service)));
    return answer == 0 || pml_http_print(text, ",\"sealed\":{\"message\":%zu,\"answer\":%" PRIu64 "}", message, answer);
}

static bool describe(const struct pml_http *http, const struct pml_service *service, const char *version,
                     struct pml_bytes *text)
{
    const struct pml_manifest *manifest = pml_service_manifest(service);
    const struct pml_part *header = pml_service_header(service);
    char id[2 * PML_ID_SIZE + 1];
    pml_http_id_text(manifest->pack, id);
    return pml_http_print(text,
                          "{\"pack\":\"%s\",\"version\":\"%s\",\"items\":%" PRIu64 ",\"list\":%" PRIu32
                          ",\"slots\":%" PRIu32 ",\"cells\":%" PRIu32 ",\"header\":\"",
                          id, version, manifest->items, manifest->list, manifest->slots, manifest->cells) &&
           pml_http_base64(text, header->bytes, header->size) && pml_http_print(text, "\"") &&
           describe_sealed(http, service, text) && pml_http_print(text, "}\n");
}

struct pml_http_reply pml_http_gallery(const struct pml_http *http, const struct pml_http_pack *pack, const char *tags)
{
    static const char control[] = "public, max-age=5";
    struct pml_service *service = pml_follow_take(pack->follow);
    char version[PML_NAME_DIGITS + 1], tag[PML_NAME_DIGITS + 32];
    struct pml_bytes text = {0};
    struct pml_http_reply reply;
    pml_name_write(pml_service_version(service), version);
    const uint64_t sealed = sealed_size(http, service); /* it depends on the other packs too */
    if (sealed > 0)
        snprintf(tag, sizeof tag, "\"%s.%" PRIu64 "\"", version, sealed);
    else
        snprintf(tag, sizeof tag, "\"%s\"", version);
    if (pml_http_has_tag(tags, tag))
        reply = pml_http_reply_kept(MHD_HTTP_NOT_MODIFIED, NULL, "", 0);
    else
        reply = document(describe(http, service, version, &text), &text);
    pml_service_unref(service);
    return with_tag(reply, tag, control);
}

/* ---- /v1/part/NAME ---- */

static pml_outcome find_part(const struct pml_http *http, const struct pml_name *name, struct pml_part **part)
{
    pml_outcome outcome = PML_ABSENT;
    for (size_t i = 0; i < http->options.pack_count && outcome == PML_ABSENT; i++)
        outcome = pml_follow_part(http->options.packs[i].follow, name, part);
    return outcome;
}

struct pml_http_reply pml_http_part(struct pml_http *http, struct MHD_Connection *from, const char *name,
                                    const char *tags)
{
    static const char control[] = "public, max-age=31536000, immutable";
    struct pml_parts parts = {calloc(1, sizeof *parts.parts), 1, 0};
    struct pml_name wanted;
    char tag[PML_NAME_DIGITS + 3];
    if (!parts.parts)
        return (struct pml_http_reply){0};
    const bool named = strlen(name) == PML_NAME_DIGITS && pml_name_read(name, &wanted);
    const pml_outcome outcome = named ? find_part(http, &wanted, &parts.parts[0]) : PML_ABSENT;
    if (outcome != PML_DONE) {
        free(parts.parts);
        return outcome == PML_ABSENT ? pml_http_not_found() : pml_http_store_failed(&http->metrics.store_failures);
    }
    snprintf(tag, sizeof tag, "\"%s\"", name);
    if (pml_http_has_tag(tags, tag)) {
        pml_parts_free(&parts);
        return with_tag(pml_http_reply_kept(MHD_HTTP_NOT_MODIFIED, NULL, "", 0), tag, control);
    }
    parts.size = parts.parts[0]->size;
    return with_tag(pml_http_reply_parts(from, MHD_HTTP_OK, "application/octet-stream", &parts), tag, control);
}
