/* SPDX-License-Identifier: Apache-2.0
 * Which request gets which reply (SPEC 7). */
#ifndef PML_HTTP_ROUTES_H
#define PML_HTTP_ROUTES_H

#include "http_reply.h"

enum pml_http_route {
    PML_ROUTE_QUERY,
    PML_ROUTE_PACK,
    PML_ROUTE_GALLERY,
    PML_ROUTE_CELL,
    PML_ROUTE_HEALTH,
    PML_ROUTE_METRICS,
    PML_ROUTE_FILES,
    PML_ROUTE_NONE,
    PML_HTTP_ROUTES
};

/* "/v1/query" and so on; a word for what is no path of ours. */
const char *pml_http_route_name(enum pml_http_route route);

struct pml_http;
struct pml_http_request;

enum pml_http_route pml_http_route(const struct pml_http *http, const char *path);

/* The reply to a request that has arrived completely. */
struct pml_http_reply pml_http_answer(struct pml_http *http, struct MHD_Connection *from,
                                      const struct pml_http_request *request, const char *path);

#endif
