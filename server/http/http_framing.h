/* SPDX-License-Identifier: Apache-2.0
 * Whether it is beyond doubt where a request ends. Proxies and servers that disagree about that let a client hide a
 * request in the body of another one: request smuggling. */
#ifndef PML_HTTP_FRAMING_H
#define PML_HTTP_FRAMING_H

#include <microhttpd.h>
#include <stdbool.h>

/* The first line of a request, as it was sent. */
struct pml_http_line {
    const char *method, *version;
    const char *uri; /* compared only, never read: libmicrohttpd decodes it in place */
    size_t uri_size; /* before it was decoded */
};

/* Returns NULL, or a sentence that says what is wrong with the header. *chunked: the body comes in chunks. libmicrohttpd
 * hides how the lines of chunks end, so nothing that follows such a body may be taken for a request. */
const char *pml_http_framing_fault(struct MHD_Connection *from, const struct pml_http_line *line, bool *chunked);

#endif
