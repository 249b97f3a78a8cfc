/* SPDX-License-Identifier: Apache-2.0
 * The service over HTTP: starting and stopping it, and the way of a request through it. In: bytes from anybody. Out:
 * replies, and one log entry per request. */
#define _POSIX_C_SOURCE 200809L
#include "common/clock.h"
#include "common/message.h"
#include "http_framing.h"
#include "http_state.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTION_MEMORY = 16384, /* also the limit of a request's header */
    SENTENCE_MAX = 64,
    SPARE_CONNECTIONS = 64 /* of each thread, to tell those that are too many to come later */
};

/* ---- one request ---- */

static const char *known_method(const char *method)
{
    static const char *const known[] = {"GET", "HEAD", "POST", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(method, known[i]) == 0)
            return known[i];
    }
    return "other";
}

static void allow_origin(const struct pml_http *http, struct MHD_Connection *from, struct pml_http_reply *reply)
{
    const char *allowed = http->options.origin;
    const char *origin = MHD_lookup_connection_value(from, MHD_HEADER_KIND, MHD_HTTP_HEADER_ORIGIN);
    if (!allowed)
        return;
    pml_http_reply_field(reply, MHD_HTTP_HEADER_VARY, "Origin");
    if (!origin || (strcmp(allowed, "*") != 0 && strcmp(allowed, origin) != 0))
        return;
    pml_http_reply_field(reply, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    pml_http_reply_field(reply, MHD_HTTP_HEADER_ACCESS_CONTROL_EXPOSE_HEADERS, "Content-Range, ETag, Retry-After");
}

static enum MHD_Result send_reply(struct pml_http *http, struct MHD_Connection *to,
                                  struct pml_http_connection *connection, struct pml_http_reply reply)
{
    struct pml_http_request *request = &connection->request;
    if (reply.later)
        return MHD_YES;
    if (!reply.response)
        return MHD_NO;
    pml_http_reply_field(&reply, "X-Content-Type-Options", "nosniff");
    pml_http_reply_field(&reply, "Referrer-Policy", "no-referrer");
    allow_origin(http, to, &reply);
    if (atomic_load(&http->draining) || request->last)
        pml_http_reply_field(&reply, MHD_HTTP_HEADER_CONNECTION, "close");
    request->status = reply.status;
    request->sent = strcmp(request->method, "HEAD") == 0 ? 0 : reply.size;
    pml_http_request_answered(&http->connections, connection, request->sent);
    enum MHD_Result queued = MHD_queue_response(to, reply.status, reply.response);
    MHD_destroy_response(reply.response);
    return queued;
}

/* Nothing that follows on the connection is a request, or is known to be one. */
static enum MHD_Result refuse(struct pml_http *http, struct MHD_Connection *from,
                              struct pml_http_connection *connection, unsigned status, const char *name,
                              const char *sentence)
{
    connection->request.last = true;
    return send_reply(http, from, connection, pml_http_reply_error(status, name, sentence));
}

static void tell_limit(const struct pml_http_request *request, char sentence[SENTENCE_MAX])
{
    snprintf(sentence, SENTENCE_MAX, "A body has at most %zu bytes.", request->body_max);
}

/* The header is there, the body is not. */
static enum MHD_Result begin(struct pml_http *http, struct MHD_Connection *from, struct pml_http_connection *connection,
                             const char *path, const char *method, const char *version)
{
    struct pml_http_request *request = &connection->request;
    const char *length = MHD_lookup_connection_value(from, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const struct pml_http_line line = {method, version, request->uri, request->uri_size};
    const char *fault = pml_http_framing_fault(from, &line, &request->last);
    request->begun = true;
    request->method = known_method(method);
    if (!request->cut_short)
        request->route = http->options.site->route(http, path);
    if (fault)
        return refuse(http, from, connection, MHD_HTTP_BAD_REQUEST, "request", fault);
    request->declared = length ? strtoull(length, NULL, 10) : request->last ? UINT64_MAX : 0;
    request->body_max = http->options.site->begin(http, request, path, &request->keeps);
    if (length && request->declared > request->body_max) {
        char sentence[SENTENCE_MAX];
        tell_limit(request, sentence);
        return refuse(http, from, connection, MHD_HTTP_CONTENT_TOO_LARGE, "size", sentence);
    }
    return MHD_YES;
}

/* Bodies where none belongs are read over. */
static enum MHD_Result take_body(struct pml_http *http, struct pml_http_connection *connection, const char *bytes,
                                 size_t *size)
{
    struct pml_http_request *request = &connection->request;
    request->received += *size;
    if (request->received > request->body_max) { /* its length was not told in advance */
        char sentence[SENTENCE_MAX];
        tell_limit(request, sentence);
        pml_http_refuse_now(&http->connections, connection, MHD_HTTP_CONTENT_TOO_LARGE, "Content Too Large", "size",
                            sentence);
        return MHD_NO;
    }
    if (request->keeps && pml_bytes_append(&request->body, bytes, *size) != PML_DONE)
        return MHD_NO;
    *size = 0;
    return MHD_YES;
}

/* libmicrohttpd calls it with the header, with every piece of the body, and at the end. */
static enum MHD_Result handle(void *context, struct MHD_Connection *from, const char *path, const char *method,
                              const char *version, const char *bytes, size_t *size, void **state)
{
    struct pml_http *http = context;
    struct pml_http_connection *connection = *state;
    if (!connection)
        return MHD_NO;
    if (!connection->request.begun)
        return begin(http, from, connection, path, method, version);
    if (*size > 0)
        return take_body(http, connection, bytes, size);
    if (!pml_http_request_arrived(&http->connections, connection))
        return MHD_NO;
    return send_reply(http, from, connection, http->options.site->answer(http, from, &connection->request, path));
}

/* ---- what libmicrohttpd tells ---- */

static struct pml_http_connection *connection_of(struct MHD_Connection *from)
{
    return MHD_get_connection_info(from, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* MHD_quiesce_daemon would do, but with epoll it races with the threads and may end the process. */
static enum MHD_Result may_connect(void *context, const struct sockaddr *address, socklen_t size)
{
    const struct pml_http *http = context;
    (void)address, (void)size;
    return atomic_load(&http->draining) ? MHD_NO : MHD_YES;
}

static void on_connection(void *context, struct MHD_Connection *from, void **state,
                          enum MHD_ConnectionNotificationCode what)
{
    struct pml_http *http = context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        int socket = MHD_get_connection_info(from, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        *state = pml_http_connection_add(&http->connections, socket);
    } else if (*state) {
        pml_http_connection_remove(&http->connections, *state);
        *state = NULL;
    }
}

/* Decoded, the path would end there: a proxy that compares paths sees another one. */
static bool has_zero_byte(const char *uri)
{
    const char *zero = strstr(uri, "%00");
    return zero && zero < uri + strcspn(uri, "?");
}

static void *on_first_line(void *context, const char *uri, struct MHD_Connection *from)
{
    struct pml_http *http = context;
    struct pml_http_connection *connection = connection_of(from);
    if (!connection)
        return NULL;
    pml_http_request_starts(&http->connections, connection);
    connection->request.uri = uri;
    connection->request.uri_size = uri ? strlen(uri) : 0;
    connection->request.cut_short = uri && has_zero_byte(uri);
    return connection;
}

static void tell_log(const struct pml_http *http, struct MHD_Connection *from, const struct pml_http_request *request,
                     double seconds)
{
    char host[64] = "";
    const struct sockaddr *client = MHD_get_connection_info(from, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    socklen_t size = client->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (getnameinfo(client, size, host, sizeof host, NULL, 0, NI_NUMERICHOST) != 0)
        host[0] = 0;
    struct pml_http_entry entry = {
        request->method, http->options.site->names[request->route], request->status, request->sent, seconds, host};
    http->options.log(http->options.log_context, &entry);
}

static void on_completed(void *context, struct MHD_Connection *from, void **state, enum MHD_RequestTerminationCode why)
{
    struct pml_http *http = context;
    struct pml_http_connection *connection = *state;
    (void)why;
    if (!connection)
        return;
    double seconds = pml_clock_now() - connection->request.start;
    (void)pml_http_request_arrived(&http->connections, connection); /* the watchman writes to it no more */
    pml_http_count(&http->metrics, &connection->request, seconds);
    if (http->options.log)
        tell_log(http, from, &connection->request, seconds);
    if (http->options.site->over)
        http->options.site->over(http, &connection->request);
    pml_http_request_over(&http->connections, connection);
    *state = NULL;
}

/* ---- life ---- */

unsigned pml_http_descriptors(unsigned connections, unsigned threads)
{
    return connections + SPARE_CONNECTIONS * threads;
}

static pml_outcome start_daemon(struct pml_http *http, struct pml_message *message)
{
    const struct pml_http_options *options = &http->options;
    unsigned most = pml_http_descriptors(options->connections, options->threads);
    struct MHD_OptionItem pool[] = {{MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)options->threads, NULL},
                                    {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}}; /* a pool of one thread is refused */
    http->daemon = MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME, 0, may_connect, http,
        handle, http, MHD_OPTION_ARRAY, options->threads > 1 ? pool : none, MHD_OPTION_LISTEN_SOCKET, options->listener,
        MHD_OPTION_CONNECTION_LIMIT, most, MHD_OPTION_CONNECTION_TIMEOUT, options->timeout,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
        MHD_OPTION_URI_LOG_CALLBACK, on_first_line, http, MHD_OPTION_END);
    return http->daemon ? PML_DONE
                        : pml_say(message, "the service cannot start. Reduce its threads or connections, or free "
                                           "memory.");
}

/* Frees what is there; the daemon is gone or never was. */
static void dispose(struct pml_http *http)
{
    if (http->files >= 0)
        close(http->files);
    free(http);
}

pml_outcome pml_http_start(struct pml_http **http, const struct pml_http_options *options, struct pml_message *message)
{
    struct pml_http *made = calloc(1, sizeof *made);
    pml_outcome outcome = made ? PML_DONE : pml_say_memory(message);
    *http = NULL;
    if (made) {
        made->options = *options;
        if (!made->options.site)
            made->options.site = &pml_http_service_site;
        made->files = options->files ? open(options->files, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (options->files && made->files < 0)
            outcome = pml_say(message, "%s cannot be opened as a folder. Check --files.", options->files);
    }
    if (outcome == PML_DONE && options->gateway)
        outcome = pml_http_measure(made, message);
    if (outcome == PML_DONE &&
        pml_http_connections_open(&made->connections, options->timeout, made->options.site->routes - 1) != PML_DONE)
        outcome = pml_say(message, "the system cannot start another thread. Close other programs.");
    else if (outcome == PML_DONE && (outcome = start_daemon(made, message)) != PML_DONE)
        pml_http_connections_close(&made->connections);
    if (outcome != PML_DONE) {
        close(options->listener);
        if (made)
            dispose(made);
        return outcome;
    }
    *http = made;
    return PML_DONE;
}

void pml_http_drain(struct pml_http *http)
{
    if (atomic_exchange(&http->draining, true))
        return;
    pml_http_connections_drain(&http->connections);
}

size_t pml_http_running(struct pml_http *http)
{
    size_t running;
    pml_http_connections_count(&http->connections, &running);
    return running;
}

void pml_http_stop(struct pml_http *http)
{
    pml_http_drain(http);
    MHD_stop_daemon(http->daemon);
    pml_http_connections_close(&http->connections);
    dispose(http);
}
