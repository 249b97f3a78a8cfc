/* SPDX-License-Identifier: Apache-2.0
 * The connections that are open, each with its request, and a watchman. libmicrohttpd times out silent connections
 * only; whoever sends a byte now and then would keep one for ever, so every phase of a request has an end in time. */
#ifndef PML_HTTP_CONNECTION_H
#define PML_HTTP_CONNECTION_H

#include "http_reply.h"

#include <pthread.h>
#include <stdatomic.h>

/* One at a time on a connection. */
struct pml_http_request {
    unsigned route;
    const char *method;
    bool begun;      /* its header fields are read */
    bool late;       /* it began after closing time */
    bool last;       /* its connection is closed after it */
    bool cut_short;  /* its path has a zero byte: it names nothing */
    const char *uri; /* where it was when the first line was read; not to be read later */
    size_t uri_size;
    double start;
    bool keeps;        /* its body is kept */
    uint64_t declared; /* bytes that its body will have; UINT64_MAX: it comes in chunks, nobody knows */
    size_t body_max;
    struct pml_bytes body;
    uint64_t received; /* bytes of the body, also those not kept */
    unsigned status;
    uint64_t sent;
    void *own; /* the site's */
};

enum pml_http_phase { PML_HTTP_WAITING, PML_HTTP_RECEIVING, PML_HTTP_ANSWERING };

struct pml_http_connection {
    struct pml_http_connection *previous, *next;
    int socket;
    enum pml_http_phase phase;
    bool cut; /* the watchman closed it */
    double deadline;
    struct pml_http_request request;
};

struct pml_http_connections {
    pthread_mutex_t lock; /* of everything here but the requests, and of phase, cut and deadline of each */
    pthread_cond_t wake;
    pthread_t watchman;
    struct pml_http_connection *first;
    size_t count;
    double timeout;
    unsigned no_route; /* that of a request whose path is not read yet */
    bool draining, ended;
};

/* Returns PML_UNAVAILABLE when the system gives no thread. */
pml_outcome pml_http_connections_open(struct pml_http_connections *connections, unsigned timeout, unsigned no_route);
void pml_http_connections_close(struct pml_http_connections *connections); /* when all of them are gone */

/* From now on those that wait for a request are closed. */
void pml_http_connections_drain(struct pml_http_connections *connections);

/* How many there are, and of these with a request that is not over. */
size_t pml_http_connections_count(struct pml_http_connections *connections, size_t *running);

/* Returns NULL when out of memory. */
struct pml_http_connection *pml_http_connection_add(struct pml_http_connections *connections, int socket);
void pml_http_connection_remove(struct pml_http_connections *connections, struct pml_http_connection *connection);

/* A request's first line has come; it has arrived completely; its answer of so many bytes is on its way; it is over.
 * `arrived` is false when the watchman has closed the connection. */
void pml_http_request_starts(struct pml_http_connections *connections, struct pml_http_connection *connection);
bool pml_http_request_arrived(struct pml_http_connections *connections, struct pml_http_connection *connection);
void pml_http_request_answered(struct pml_http_connections *connections, struct pml_http_connection *connection,
                               uint64_t bytes);
void pml_http_request_over(struct pml_http_connections *connections, struct pml_http_connection *connection);

/* An answer before the request has arrived, which libmicrohttpd cannot give; the connection is of no use afterwards. */
void pml_http_refuse_now(struct pml_http_connections *connections, struct pml_http_connection *connection,
                         unsigned status, const char *reason, const char *name, const char *sentence);

#endif
