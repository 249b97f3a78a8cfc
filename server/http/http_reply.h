/* SPDX-License-Identifier: Apache-2.0
 * What is sent back. */
#ifndef PML_HTTP_REPLY_H
#define PML_HTTP_REPLY_H

#include "server/service/service.h"

#include <microhttpd.h>

/* Without a response: there was no memory, and the connection is closed. */
struct pml_http_reply {
    unsigned status;
    struct MHD_Response *response;
    uint64_t size; /* of its body */
};

/* `bytes` are taken over, whatever happens. */
struct pml_http_reply pml_http_reply_bytes(unsigned status, const char *type, struct pml_bytes *bytes);

/* Parts, which are taken over and sent piece by piece, never as one. */
struct pml_http_reply pml_http_reply_parts(unsigned status, const char *type, struct pml_parts *parts);

/* Bytes that outlive the service. */
struct pml_http_reply pml_http_reply_kept(unsigned status, const char *type, const void *bytes, size_t size);

/* Part of an open file, which is taken over. */
struct pml_http_reply pml_http_reply_file(const char *type, int file, uint64_t size);

/* {"error": name, "message": sentence} */
struct pml_http_reply pml_http_reply_error(unsigned status, const char *name, const char *sentence);

/* No-op without a response. */
void pml_http_reply_field(struct pml_http_reply *reply, const char *name, const char *value);

#endif
