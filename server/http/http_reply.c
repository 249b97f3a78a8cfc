/* SPDX-License-Identifier: Apache-2.0
 * Makes responses of libmicrohttpd from a status and bytes. */
#include "http_reply.h"

#include "http_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    JOINED_MAX = 1 << 16, /* bytes of parts that are sent as one */
    PIECE_MAX = 1 << 17,  /* bytes of longer ones that are copied at once, when they do not go as a vector */
    VECTOR_PARTS = 64,    /* of a vector; and of a header that leaves room for it: */
    VECTOR_FIELDS = 32,
    VECTOR_HEADER = 2048
};

void pml_http_reply_field(struct pml_http_reply *reply, const char *name, const char *value)
{
    if (reply->response && value)
        (void)MHD_add_response_header(reply->response, name, value);
}

static struct pml_http_reply typed(unsigned status, const char *type, struct MHD_Response *response, uint64_t size)
{
    struct pml_http_reply reply = {.status = status, .response = response, .size = size};
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    return reply;
}

struct pml_http_reply pml_http_reply_bytes(unsigned status, const char *type, struct pml_bytes *bytes)
{
    size_t size = bytes->size;
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback(size, bytes->bytes, free);
    if (response)
        *bytes = (struct pml_bytes){0};
    else
        pml_bytes_free(bytes);
    return typed(status, type, response, size);
}

/* ---- parts ---- */

/* Header and body of one buffer leave together, in one call of the system. For some kilobytes that is worth a copy. */
static struct pml_http_reply reply_joined(unsigned status, const char *type, struct pml_parts *parts)
{
    struct pml_bytes joined = {0};
    bool fine = pml_bytes_reserve(&joined, (size_t)parts->size) == PML_DONE;
    for (size_t i = 0; i < parts->count && fine; i++)
        fine = pml_bytes_append(&joined, parts->parts[i]->bytes, parts->parts[i]->size) == PML_DONE;
    if (fine)
        return pml_http_reply_bytes(status, type, &joined);
    pml_bytes_free(&joined);
    return (struct pml_http_reply){0};
}

/* Where the sending of parts is. */
struct sending {
    struct pml_parts parts;
    size_t part, offset; /* the next byte: of this part, so far into it */
};

static void end_sending(void *context)
{
    struct sending *sending = context;
    pml_parts_free(&sending->parts);
    free(sending);
}

/* libmicrohttpd asks for one piece after the other. */
static ssize_t next_piece(void *context, uint64_t position, char *room, size_t most)
{
    struct sending *sending = context;
    size_t given = 0;
    (void)position;
    while (given < most && sending->part < sending->parts.count) {
        const struct pml_part *part = sending->parts.parts[sending->part];
        const size_t left = part->size - sending->offset, piece = left < most - given ? left : most - given;
        memcpy(room + given, part->bytes + sending->offset, piece);
        given += piece;
        sending->offset += piece;
        if (sending->offset == part->size) {
            sending->part++;
            sending->offset = 0;
        }
    }
    return given > 0 ? (ssize_t)given : MHD_CONTENT_READER_END_OF_STREAM;
}

/* libmicrohttpd 0.9.75 keeps a vector in the connection's memory, of which a request's header may have left nothing, and
 * then ends the process. So only small headers and few parts get one. */
static bool has_room(struct MHD_Connection *to, size_t parts)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(to, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info && info->header_size <= VECTOR_HEADER && parts <= VECTOR_PARTS &&
           MHD_get_connection_values(to, MHD_HEADER_KIND, NULL, NULL) <= VECTOR_FIELDS;
}

static struct MHD_Response *send_vector(struct sending *sending)
{
    struct MHD_IoVec vector[VECTOR_PARTS];
    for (size_t i = 0; i < sending->parts.count; i++)
        vector[i] = (struct MHD_IoVec){sending->parts.parts[i]->bytes, sending->parts.parts[i]->size};
    return MHD_create_response_from_iovec(vector, (unsigned)sending->parts.count, end_sending, sending);
}

struct pml_http_reply pml_http_reply_parts(struct MHD_Connection *to, unsigned status, const char *type,
                                           struct pml_parts *parts)
{
    const uint64_t size = parts->size;
    if (size <= JOINED_MAX) {
        struct pml_http_reply joined = reply_joined(status, type, parts);
        pml_parts_free(parts);
        return joined;
    }
    struct sending *sending = malloc(sizeof *sending);
    struct MHD_Response *response = NULL;
    if (sending) {
        *sending = (struct sending){.parts = *parts};
        response = has_room(to, parts->count)
                       ? send_vector(sending)
                       : MHD_create_response_from_callback(size, PIECE_MAX, next_piece, sending, end_sending);
    }
    if (response) {
        *parts = (struct pml_parts){0};
    } else {
        free(sending);
        pml_parts_free(parts);
    }
    return typed(status, type, response, size);
}

/* ---- others ---- */

struct pml_http_reply pml_http_reply_kept(unsigned status, const char *type, const void *bytes, size_t size)
{
    /* libmicrohttpd does not write to it */
    void *start = (void *)(uintptr_t)bytes;
    return typed(status, type, MHD_create_response_from_buffer(size, start, MHD_RESPMEM_PERSISTENT), size);
}

struct pml_http_reply pml_http_reply_file(const char *type, int file, uint64_t offset, uint64_t size)
{
    struct MHD_Response *response = MHD_create_response_from_fd_at_offset64(size, file, offset);
    if (!response)
        close(file);
    return typed(MHD_HTTP_OK, type, response, size);
}

struct pml_http_reply pml_http_reply_fault(unsigned status, struct pml_bytes *text)
{
    struct pml_http_reply reply = pml_http_no_store(pml_http_reply_bytes(status, "application/json", text));
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
        pml_http_reply_field(&reply, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    return reply;
}

struct pml_http_reply pml_http_reply_error(unsigned status, const char *name, const char *sentence)
{
    struct pml_bytes text = {0};
    if (!pml_http_print(&text, "{\"error\":\"%s\",\"message\":\"%s\"}\n", name, sentence))
        return (struct pml_http_reply){0};
    return pml_http_reply_fault(status, &text);
}

struct pml_http_reply pml_http_not_found(void)
{
    return pml_http_reply_error(MHD_HTTP_NOT_FOUND, "not_found", "There is nothing of this name.");
}

struct pml_http_reply pml_http_wrong_method(const char *allow)
{
    struct pml_http_reply reply =
        pml_http_reply_error(MHD_HTTP_METHOD_NOT_ALLOWED, "method", "Use a method that Allow names.");
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ALLOW, allow);
    return reply;
}

struct pml_http_reply pml_http_preflight(const char *methods, const char *fields)
{
    struct pml_http_reply reply = pml_http_reply_kept(MHD_HTTP_NO_CONTENT, NULL, "", 0);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_METHODS, methods);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_HEADERS, fields);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ACCESS_CONTROL_MAX_AGE, "3600");
    return reply;
}

struct pml_http_reply pml_http_no_store(struct pml_http_reply reply)
{
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    return reply;
}

struct pml_http_reply pml_http_come_later(const char *name, const char *sentence)
{
    return pml_http_reply_error(MHD_HTTP_SERVICE_UNAVAILABLE, name, sentence);
}

const struct pml_http_fault pml_http_store_fault = {MHD_HTTP_SERVICE_UNAVAILABLE, "store",
                                                    "The gallery cannot be read now. Send the same bytes again later."};

struct pml_http_reply pml_http_store_failed(atomic_ullong *failures)
{
    atomic_fetch_add(failures, 1);
    return pml_http_come_later(pml_http_store_fault.name, pml_http_store_fault.sentence);
}
