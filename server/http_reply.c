/* SPDX-License-Identifier: Apache-2.0
 * Replies. In: a status and bytes. Out: a response for libmicrohttpd. */
#include "http_reply.h"

#include "http_text.h"

#include <stdlib.h>
#include <unistd.h>

void pml_http_reply_field(struct pml_http_reply *reply, const char *name, const char *value)
{
    if (reply->response && value)
        (void)MHD_add_response_header(reply->response, name, value);
}

static struct pml_http_reply typed(unsigned status, const char *type, struct MHD_Response *response, uint64_t size)
{
    struct pml_http_reply reply = {status, response, size};
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

static void release_parts(void *context)
{
    pml_parts_free(context);
    free(context);
}

struct pml_http_reply pml_http_reply_parts(unsigned status, const char *type, struct pml_parts *parts)
{
    const uint64_t size = parts->size;
    struct pml_parts *kept = malloc(sizeof *kept);
    struct MHD_IoVec *vector = calloc(parts->count, sizeof *vector);
    struct MHD_Response *response = NULL;
    if (kept && vector) {
        for (size_t i = 0; i < parts->count; i++)
            vector[i] = (struct MHD_IoVec){parts->parts[i]->bytes, parts->parts[i]->size};
        *kept = *parts;
        response = MHD_create_response_from_iovec(vector, (unsigned)parts->count, release_parts, kept);
    }
    free(vector); /* it was copied */
    if (response) {
        *parts = (struct pml_parts){0};
    } else {
        free(kept);
        pml_parts_free(parts);
    }
    return typed(status, type, response, size);
}

struct pml_http_reply pml_http_reply_kept(unsigned status, const char *type, const void *bytes, size_t size)
{
    /* libmicrohttpd does not write to it */
    void *start = (void *)(uintptr_t)bytes;
    return typed(status, type, MHD_create_response_from_buffer(size, start, MHD_RESPMEM_PERSISTENT), size);
}

struct pml_http_reply pml_http_reply_file(const char *type, int file, uint64_t size)
{
    struct MHD_Response *response = MHD_create_response_from_fd64(size, file);
    if (!response)
        close(file);
    return typed(MHD_HTTP_OK, type, response, size);
}

struct pml_http_reply pml_http_reply_error(unsigned status, const char *name, const char *sentence)
{
    struct pml_bytes text = {0};
    if (pml_http_print(&text, "{\"error\":\"%s\",\"message\":\"%s\"}\n", name, sentence) != 0)
        return (struct pml_http_reply){0};
    struct pml_http_reply reply = pml_http_reply_bytes(status, "application/json", &text);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    return reply;
}
