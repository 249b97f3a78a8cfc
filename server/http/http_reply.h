/* SPDX-License-Identifier: Apache-2.0
 * What is sent back. */
#ifndef PML_HTTP_REPLY_H
#define PML_HTTP_REPLY_H

#include "server/service/part.h"

#include <microhttpd.h>

/* There is no response when memory ran out; then the connection is closed. */
struct pml_http_reply {
    unsigned status;
    struct MHD_Response *response;
    uint64_t size; /* of its body */
    bool later;    /* there is no response yet: the connection is suspended */
};

/* `bytes` are freed when they are sent, also on failure. */
struct pml_http_reply pml_http_reply_bytes(unsigned status, const char *type, struct pml_bytes *bytes);

/* Parts, which are freed when they are sent, also on failure. */
struct pml_http_reply pml_http_reply_parts(struct MHD_Connection *to, unsigned status, const char *type,
                                           struct pml_parts *parts);

/* Bytes that outlive the service. */
struct pml_http_reply pml_http_reply_kept(unsigned status, const char *type, const void *bytes, size_t size);

/* `size` bytes of an open file from `offset` on; it is closed when they are sent. */
struct pml_http_reply pml_http_reply_file(const char *type, int file, uint64_t offset, uint64_t size);

/* What is wrong with a request, or with the server: {"error": name, "message": sentence} (SPEC 7). */
struct pml_http_fault {
    unsigned status;
    const char *name, *sentence;
};
extern const struct pml_http_fault pml_http_store_fault; /* the store fails */

/* The document of a fault, which is freed when it is sent; 503 comes with Retry-After. */
struct pml_http_reply pml_http_reply_fault(unsigned status, struct pml_bytes *text);
struct pml_http_reply pml_http_reply_error(unsigned status, const char *name, const char *sentence);

/* Errors that several routes return: 404; 405 with Allow; 503 and Retry-After; the same when the store fails, which is
 * counted. */
struct pml_http_reply pml_http_not_found(void);
struct pml_http_reply pml_http_wrong_method(const char *allow);
struct pml_http_reply pml_http_come_later(const char *name, const char *sentence);
struct pml_http_reply pml_http_store_failed(atomic_ullong *failures);

/* What a browser asks before a page of another origin may ask. */
struct pml_http_reply pml_http_preflight(const char *methods, const char *fields);

/* Nobody may keep a copy of it. */
struct pml_http_reply pml_http_no_store(struct pml_http_reply reply);

/* No-op without a response. */
void pml_http_reply_field(struct pml_http_reply *reply, const char *name, const char *value);

#endif
