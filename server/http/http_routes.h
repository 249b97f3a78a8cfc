/* SPDX-License-Identifier: Apache-2.0
 * What is answered where (SPEC 7). */
#ifndef PML_HTTP_ROUTES_H
#define PML_HTTP_ROUTES_H

#include "http.h"
#include "http_metrics.h"
#include "http_reply.h"

struct pml_http {
    struct pml_http_options options;
    struct pml_http_connections connections;
    struct pml_http_metrics metrics;
    struct MHD_Daemon *daemon;
    int files; /* the folder, −1: none */
    atomic_bool draining;
};

enum pml_http_route pml_http_route(const struct pml_http *http, const char *path);

/* The answer to a request that has arrived completely. */
struct pml_http_reply pml_http_answer(struct pml_http *http, struct MHD_Connection *from,
                                      const struct pml_http_request *request, const char *path);

/* ---- http_gallery.c: what a front end needs to put answers together ---- */

/* GET /v1/pack/ID/gallery and /v1/gallery/D/SLOT/CELL; `rest` is what follows the pack's id, or "/v1/gallery/". */
struct pml_http_reply pml_http_gallery(const struct pml_http_pack *pack, const char *tags);
struct pml_http_reply pml_http_cell(struct pml_http *http, const char *rest, const char *tags);
struct pml_http_reply pml_http_not_found(void);
struct pml_http_reply pml_http_store_failed(struct pml_http *http);

#endif
