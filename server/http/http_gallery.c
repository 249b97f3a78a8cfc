/* SPDX-License-Identifier: Apache-2.0
 * What a front end needs to put together the answer to a response release: parts that never change. Whoever asks for a
 * cell here does not say which release named it. */
#define _POSIX_C_SOURCE 200809L
#include "http_fields.h"
#include "http_state.h"
#include "http_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGEST_DIGITS = 16 };

static struct pml_http_reply with_tag(struct pml_http_reply reply, const char *tag, const char *control)
{
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ETAG, tag);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_CACHE_CONTROL, control);
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

static bool describe(const struct pml_http *http, const struct pml_service *service, struct pml_bytes *text)
{
    const pml_pack_info *pack = pml_service_pack(service);
    const struct pml_store_info *store = pml_service_store(service);
    struct pml_part *header;
    char id[2 * PML_ID_SIZE + 1];
    if (pml_service_header(service, &header) != PML_DONE)
        return false;
    pml_http_id_text(pack->id, id);
    const bool described = pml_http_print(text,
                                          "{\"pack\":\"%s\",\"gallery\":\"%016" PRIx64 "\",\"items\":%" PRIu64
                                          ",\"slots\":%" PRIu32 ",\"cells\":%" PRIu32 ",\"header\":\"",
                                          id, store->digest, store->items, (uint32_t)pack->slots,
                                          pml_store_cell_lists(store) == PML_LISTS_NONE ? 0 : (uint32_t)pack->cells) &&
                           pml_http_base64(text, header->bytes, header->size) && pml_http_print(text, "\"") &&
                           describe_sealed(http, service, text) && pml_http_print(text, "}\n");
    pml_part_unref(header);
    return described;
}

struct pml_http_reply pml_http_gallery(const struct pml_http *http, const struct pml_http_pack *pack, const char *tags)
{
    /* It changes when the gallery is indexed anew: front ends ask again every minute. */
    static const char control[] = "public, max-age=60";
    char tag[64];
    struct pml_bytes text = {0};
    const uint64_t digest = pml_service_store(pack->service)->digest, sealed = sealed_size(http, pack->service);
    if (sealed > 0)
        snprintf(tag, sizeof tag, "\"%016" PRIx64 ".%" PRIu64 "\"", digest, sealed);
    else
        snprintf(tag, sizeof tag, "\"%016" PRIx64 "\"", digest);
    if (pml_http_has_tag(tags, tag))
        return with_tag(pml_http_reply_kept(MHD_HTTP_NOT_MODIFIED, NULL, "", 0), tag, control);
    if (!describe(http, pack->service, &text)) {
        pml_bytes_free(&text);
        return (struct pml_http_reply){0};
    }
    return with_tag(pml_http_reply_bytes(MHD_HTTP_OK, "application/json", &text), tag, control);
}

/* ---- /v1/gallery/D/SLOT/CELL ---- */

/* A number in its only form: a part has one address. */
static bool read_number(const char **at, uint32_t *value)
{
    const size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > 9 || (digits > 1 && **at == '0'))
        return false;
    *value = (uint32_t)strtoul(*at, NULL, 10);
    *at += digits;
    return true;
}

static const struct pml_service *find_gallery(const struct pml_http *http, const char *rest)
{
    for (size_t i = 0; i < http->options.pack_count; i++) {
        const struct pml_service *service = http->options.packs[i].service;
        char digest[DIGEST_DIGITS + 1];
        snprintf(digest, sizeof digest, "%016" PRIx64, pml_service_store(service)->digest);
        if (strncmp(rest, digest, DIGEST_DIGITS) == 0)
            return service;
    }
    return NULL;
}

static bool read_path(const char *rest, struct pml_cell *cell)
{
    const char *at = rest + DIGEST_DIGITS;
    if (*at++ != '/' || !read_number(&at, &cell->slot))
        return false;
    return *at++ == '/' && read_number(&at, &cell->cell) && *at == 0;
}

struct pml_http_reply pml_http_cell(struct pml_http *http, const char *rest, const char *tags)
{
    static const char control[] = "public, max-age=31536000, immutable";
    const struct pml_service *service = find_gallery(http, rest);
    struct pml_cell cell;
    char tag[64];
    if (!service || !read_path(rest, &cell) || !pml_service_has_cell(service, cell))
        return pml_http_not_found();
    snprintf(tag, sizeof tag, "\"%.*s.%" PRIu32 ".%" PRIu32 "\"", DIGEST_DIGITS, rest, cell.slot, cell.cell);
    if (pml_http_has_tag(tags, tag))
        return with_tag(pml_http_reply_kept(MHD_HTTP_NOT_MODIFIED, NULL, "", 0), tag, control);
    struct pml_parts parts = {calloc(1, sizeof *parts.parts), 1, 0};
    if (!parts.parts || pml_service_cell(service, cell, &parts.parts[0]) != PML_DONE) {
        free(parts.parts);
        return pml_http_store_failed(&http->metrics.store_failures);
    }
    parts.size = parts.parts[0]->size;
    return with_tag(pml_http_reply_parts(MHD_HTTP_OK, "application/cbor-seq", &parts), tag, control);
}
