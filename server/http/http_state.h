/* SPDX-License-Identifier: Apache-2.0
 * What the files of the HTTP service share; for them alone. */
#ifndef PML_HTTP_STATE_H
#define PML_HTTP_STATE_H

#include "http.h"
#include "http_metrics.h"

struct pml_http {
    struct pml_http_options options;
    struct pml_http_connections connections;
    struct pml_http_metrics metrics;
    struct MHD_Daemon *daemon;
    int files; /* the folder, −1: none */
    atomic_bool draining;
};

/* ---- http_gallery.c: what a front end needs to put answers together ---- */

/* GET /v1/pack/ID/gallery; `tags` is the request's If-None-Match, or NULL. */
struct pml_http_reply pml_http_gallery(const struct pml_http_pack *pack, const char *tags);

/* GET /v1/gallery/D/SLOT/CELL; `rest` is what follows "/v1/gallery/". */
struct pml_http_reply pml_http_cell(struct pml_http *http, const char *rest, const char *tags);

#endif
