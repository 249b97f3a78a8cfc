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
    int files;           /* the folder, −1: none */
    size_t least_padded; /* A of SPEC 10.5 is at least that: every fault fits */
    atomic_bool draining;
};

/* ---- http_routes.c ---- */

extern const struct pml_http_site pml_http_service_site;

/* GET of a pack: whole, a range of it, or 304. */
struct pml_http_reply pml_http_reply_pack(const uint8_t *bytes, size_t size, const char *id,
                                          struct MHD_Connection *from);

/* ---- http_query.c: from a release to its answer ---- */

struct pml_http_reply pml_http_query(struct pml_http *http, struct MHD_Connection *from,
                                     const struct pml_http_request *request);

extern const struct pml_http_fault pml_http_no_release, pml_http_other_pack;

/* A pack that is served; NULL when it is not. */
const struct pml_http_pack *pml_http_pack(const struct pml_http *http, const uint8_t id[PML_ID_SIZE]);

/* These return NULL, or what is wrong: reading a release; what the service returned, failures being counted; whether a
 * query comes too late or is one too many. */
const struct pml_http_fault *pml_http_release(const struct pml_http *http, const void *release, size_t size,
                                              const struct pml_http_pack **pack, pml_release_view *view);
const struct pml_http_fault *pml_http_outcome(struct pml_http *http, pml_outcome outcome);
const struct pml_http_fault *pml_http_busy(struct pml_http *http, const struct pml_http_request *request);

/* Appends the document of a fault. Returns false when out of memory. */
bool pml_http_fault_text(const struct pml_http *http, const struct pml_http_fault *fault, struct pml_bytes *text);

/* Whether a body is of this type, and not compressed. */
bool pml_http_has_type(struct MHD_Connection *from, const char *type);

/* ---- http_gateway.c: what comes sealed (SPEC 10); only with options.gateway ---- */

/* GET and POST of /.well-known/ohttp-gateway. */
struct pml_http_reply pml_http_keys(const struct pml_http *http);
struct pml_http_reply pml_http_sealed(struct pml_http *http, struct MHD_Connection *from,
                                      struct pml_http_request *request);

/* A of SPEC 10.5 for messages of a crowd. */
size_t pml_http_padded(const struct pml_http *http, const struct pml_service *service);

/* Measures the longest fault. Returns PML_DONE, or another outcome with a message. */
pml_outcome pml_http_measure(struct pml_http *http, struct pml_message *message);

/* ---- http_gallery.c: what a front end needs to put answers together; `tags` is the request's If-None-Match, or NULL ---- */

/* GET /v1/packs. */
struct pml_http_reply pml_http_packs(const struct pml_http *http);

/* GET /v1/pack/ID/gallery. */
struct pml_http_reply pml_http_gallery(const struct pml_http *http, const struct pml_http_pack *pack, const char *tags);

/* GET /v1/part/NAME. */
struct pml_http_reply pml_http_part(struct pml_http *http, struct MHD_Connection *from, const char *name,
                                    const char *tags);

#endif
