/* SPDX-License-Identifier: Apache-2.0
 * What is served over HTTP: its routes, and what they reply. http.c does the rest, the same for all sites: connections,
 * time limits, framing, counting, logging and stopping. */
#ifndef PML_HTTP_SITE_H
#define PML_HTTP_SITE_H

#include "http_connection.h"

struct pml_http;

enum { PML_HTTP_ROUTES_MAX = 16 };

struct pml_http_site {
    const char *const *names; /* of the routes, for log and metrics; the last one is for what is no path of the site */
    unsigned routes;          /* at most PML_HTTP_ROUTES_MAX */

    unsigned (*route)(struct pml_http *http, const char *path);

    /* The header of a request is there. Returns how many bytes its body may have; *keep, which is false, says whether
     * the body is kept. */
    size_t (*begin)(struct pml_http *http, struct pml_http_request *request, const char *path, bool *keep);

    /* A request has arrived completely. A reply with `later` says that the connection is suspended; when it is resumed,
     * this is called again. */
    struct pml_http_reply (*answer)(struct pml_http *http, struct MHD_Connection *from,
                                    struct pml_http_request *request, const char *path);

    /* A request is over, whether it was answered or not. May be NULL. */
    void (*over)(struct pml_http *http, struct pml_http_request *request);
};

#endif
