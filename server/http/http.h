/* SPDX-License-Identifier: Apache-2.0
 * The service over HTTP (SPEC 7), by libmicrohttpd: a few threads that each serve many connections. Plain HTTP: TLS is
 * the task of a reverse proxy (docs/SERVER.md). The log and the metrics never hold a release or an answer. */
#ifndef PML_HTTP_H
#define PML_HTTP_H

#include "server/gateway/gateway.h"
#include "server/service/follow.h"

#define PML_HTTP_BODY_MAX 65536u
#define PML_HTTP_SEALED_MAX PML_EPOCH_SIZE_MAX /* of a body for the gateway */
#define PML_HTTP_ANSWER_MAX                                                                                            \
    ((uint64_t)PML_SEALED_MOST - 64) /* of an answer that is sealed: what is around it is less */

/* One pack that is served; everything belongs to the caller. */
struct pml_http_pack {
    const uint8_t *bytes;
    size_t size;
    struct pml_follow *follow;
};

/* A request that is over. */
struct pml_http_entry {
    const char *method; /* "other" when it is none of those served */
    const char *route;  /* never the path that was asked for */
    unsigned status;    /* 0: the connection was gone before there was one */
    uint64_t bytes;     /* of the answer's body */
    double seconds;
    const char *address; /* the client's, without its port */
};

struct pml_http_site;

struct pml_http_options {
    int listener;                      /* a listening socket; the service closes it, also when it cannot start */
    const struct pml_http_pack *packs; /* the newest first */
    size_t pack_count;
    struct pml_cache *cache;          /* of all packs; NULL: they have none */
    struct pml_gateway *gateway;      /* NULL: none; else no answer has more than PML_HTTP_ANSWER_MAX bytes */
    const struct pml_http_site *site; /* NULL: the packs' services (SPEC 7) */
    void *site_context;
    unsigned threads;     /* that answer */
    unsigned connections; /* at most at a time; beyond that, queries get 503 */
    unsigned timeout;     /* seconds for a request to arrive; also for an answer to move on, and for idling */
    const char *files;    /* a folder to serve at /; NULL: none */
    const char *connect;  /* origins that its pages may ask besides ours, a space before each; NULL: none */
    const char *origin;   /* the web pages that may ask: an origin, "*", or NULL for none but our own */
    /* Called once per request, from many threads at once. May be NULL. */
    void (*log)(void *context, const struct pml_http_entry *entry);
    void *log_context;
};

struct pml_http;

/* Opens a socket at "HOST:PORT" or "[IPV6]:PORT"; port 0 takes any that is free. `address` is where it listens, in the
 * same form. Returns PML_DONE, or with a message PML_REFUSED when the text is no address and PML_UNAVAILABLE when the
 * system does not allow it. */
#define PML_HTTP_ADDRESS_MAX 80u
pml_outcome pml_http_listen(const char *text, int *listener, char address[PML_HTTP_ADDRESS_MAX],
                            struct pml_message *message);

/* How many connections may be open at the same time. */
unsigned pml_http_descriptors(unsigned connections, unsigned threads);

/* Returns PML_DONE, or another outcome with a message. What the options point to must outlive the service. */
pml_outcome pml_http_start(struct pml_http **http, const struct pml_http_options *options, struct pml_message *message);

/* Closing time: takes no more connections, closes idle ones, refuses new queries; what runs goes on. */
void pml_http_drain(struct pml_http *http);

/* Requests that are not over. */
size_t pml_http_running(struct pml_http *http);

/* Ends everything at once. */
void pml_http_stop(struct pml_http *http);

#endif
