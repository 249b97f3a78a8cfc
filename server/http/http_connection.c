/* SPDX-License-Identifier: Apache-2.0
 * Open connections and their deadlines: those that take too long are closed. */
#define _POSIX_C_SOURCE 200809L
#include "http_connection.h"
#include "common/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SLOWEST 4096.0 /* bytes per second that an answer must move */
#define ROUND_SECONDS 0.1

/* Under the lock. */
static void refuse(struct pml_http_connection *connection, unsigned status, const char *reason, const char *name,
                   const char *sentence)
{
    char body[256], text[512];
    int length = snprintf(body, sizeof body, "{\"error\":\"%s\",\"message\":\"%s\"}\n", name, sentence);
    int size = snprintf(text, sizeof text,
                        "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                        "Cache-Control: no-store\r\nConnection: close\r\n\r\n%s",
                        status, reason, length, body);
    connection->request.status = status;
    connection->request.sent = (uint64_t)length;
    (void)!send(connection->socket, text, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(connection->socket, SHUT_WR);
}

void pml_http_refuse_now(struct pml_http_connections *connections, struct pml_http_connection *connection,
                         unsigned status, const char *reason, const char *name, const char *sentence)
{
    pthread_mutex_lock(&connections->lock);
    if (!connection->cut)
        refuse(connection, status, reason, name, sentence);
    connection->cut = true;
    pthread_mutex_unlock(&connections->lock);
}

/* ---- watchman ---- */

/* Under the lock: a connection is removed before its socket is closed, so the number still means this one. */
static void cut(struct pml_http_connection *connection)
{
    connection->cut = true;
    if (connection->phase == PML_HTTP_RECEIVING)
        refuse(connection, 408, "Request Timeout", "timeout",
               "The request came too slowly. Send the same bytes again.");
    shutdown(connection->socket, SHUT_RDWR);
}

static void *watch(void *context)
{
    struct pml_http_connections *all = context;
    pthread_mutex_lock(&all->lock);
    while (!all->ended) {
        double now = pml_clock_now();
        for (struct pml_http_connection *at = all->first; at; at = at->next) {
            bool idle = all->draining && at->phase == PML_HTTP_WAITING;
            if (!at->cut && (idle || now > at->deadline))
                cut(at);
        }
        pml_clock_wait(&all->wake, &all->lock, ROUND_SECONDS);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

pml_outcome pml_http_connections_open(struct pml_http_connections *connections, unsigned timeout, unsigned no_route)
{
    memset(connections, 0, sizeof *connections);
    connections->timeout = timeout;
    connections->no_route = no_route;
    pthread_mutex_init(&connections->lock, NULL);
    pml_clock_condition(&connections->wake);
    return pthread_create(&connections->watchman, NULL, watch, connections) == 0 ? PML_DONE : PML_UNAVAILABLE;
}

static void tell(struct pml_http_connections *connections, bool *what)
{
    pthread_mutex_lock(&connections->lock);
    *what = true;
    pthread_cond_signal(&connections->wake);
    pthread_mutex_unlock(&connections->lock);
}

void pml_http_connections_close(struct pml_http_connections *connections)
{
    tell(connections, &connections->ended);
    pthread_join(connections->watchman, NULL);
    pthread_cond_destroy(&connections->wake);
    pthread_mutex_destroy(&connections->lock);
}

void pml_http_connections_drain(struct pml_http_connections *connections)
{
    tell(connections, &connections->draining);
}

size_t pml_http_connections_count(struct pml_http_connections *connections, size_t *running)
{
    size_t busy = 0;
    pthread_mutex_lock(&connections->lock);
    size_t count = connections->count;
    for (const struct pml_http_connection *at = connections->first; at && running; at = at->next)
        busy += at->phase != PML_HTTP_WAITING;
    pthread_mutex_unlock(&connections->lock);
    if (running)
        *running = busy;
    return count;
}

/* ---- connections ---- */

struct pml_http_connection *pml_http_connection_add(struct pml_http_connections *connections, int socket)
{
    struct pml_http_connection *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->socket = socket;
    made->deadline = pml_clock_now() + connections->timeout;
    pthread_mutex_lock(&connections->lock);
    made->next = connections->first;
    if (made->next)
        made->next->previous = made;
    connections->first = made;
    connections->count++;
    pthread_mutex_unlock(&connections->lock);
    return made;
}

void pml_http_connection_remove(struct pml_http_connections *connections, struct pml_http_connection *connection)
{
    pthread_mutex_lock(&connections->lock);
    if (connection->next)
        connection->next->previous = connection->previous;
    *(connection->previous ? &connection->previous->next : &connections->first) = connection->next;
    connections->count--;
    pthread_mutex_unlock(&connections->lock);
    pml_bytes_free(&connection->request.body);
    free(connection);
}

/* ---- requests ---- */

static void enter(struct pml_http_connections *connections, struct pml_http_connection *connection,
                  enum pml_http_phase phase, double deadline)
{
    pthread_mutex_lock(&connections->lock);
    connection->phase = phase;
    connection->deadline = deadline;
    pthread_mutex_unlock(&connections->lock);
}

void pml_http_request_starts(struct pml_http_connections *connections, struct pml_http_connection *connection)
{
    double now = pml_clock_now();
    struct pml_http_request fresh = {.route = connections->no_route, .method = "other", .start = now};
    pthread_mutex_lock(&connections->lock);
    fresh.late = connections->draining;
    connection->request = fresh;
    connection->phase = PML_HTTP_RECEIVING;
    connection->deadline = now + connections->timeout;
    pthread_mutex_unlock(&connections->lock);
}

bool pml_http_request_arrived(struct pml_http_connections *connections, struct pml_http_connection *connection)
{
    pthread_mutex_lock(&connections->lock);
    bool open = !connection->cut;
    connection->phase = PML_HTTP_ANSWERING;
    connection->deadline = 1e300; /* making the answer is our time */
    pthread_mutex_unlock(&connections->lock);
    return open;
}

void pml_http_request_answered(struct pml_http_connections *connections, struct pml_http_connection *connection,
                               uint64_t bytes)
{
    enter(connections, connection, PML_HTTP_ANSWERING,
          pml_clock_now() + connections->timeout + (double)bytes / SLOWEST);
}

void pml_http_request_over(struct pml_http_connections *connections, struct pml_http_connection *connection)
{
    pml_bytes_free(&connection->request.body);
    enter(connections, connection, PML_HTTP_WAITING, pml_clock_now() + connections->timeout);
}
