/* SPDX-License-Identifier: Apache-2.0
 * The gateway over HTTP (SPEC 10): what comes sealed is answered as POST /v1/query would, and goes back sealed. Outside
 * the seal nothing depends on what was inside, neither a status nor a length. */
#define _POSIX_C_SOURCE 200809L
#include "http_state.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIECE = 1 << 16 }; /* bytes that libmicrohttpd asks for at a time */

/* ---- lengths ---- */

pml_outcome pml_http_measure(struct pml_http *http, struct pml_message *message)
{
    struct pml_bytes text = {0};
    if (!pml_http_fault_text(http, &pml_http_other_pack, &text)) { /* the longest: it names all packs */
        pml_bytes_free(&text);
        return pml_say_memory(message);
    }
    http->least_padded = pml_gateway_padded(text.size);
    pml_bytes_free(&text);
    return PML_DONE;
}

static size_t padded(const struct pml_http *http, uint64_t longest)
{
    const size_t size = pml_gateway_padded(longest);
    return size > http->least_padded ? size : http->least_padded;
}

size_t pml_http_padded(const struct pml_http *http, const struct pml_service *service)
{
    return padded(http, pml_service_longest(service)->message);
}

/* For a request on its own the length of its release decides, which everybody sees: what else is inside cannot show. */
static size_t padded_for(const struct pml_http *http, size_t release)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < http->options.pack_count; i++) {
        struct pml_service *service = pml_follow_take(http->options.packs[i].follow);
        const uint64_t own = pml_longest_for(pml_service_longest(service), pml_service_pack(service), release);
        longest = own > longest ? own : longest;
        pml_service_unref(service);
    }
    return padded(http, longest);
}

/* ---- inside ---- */

/* Who asks: a request on its own; or a message of an epoch, which must be of this pack and is answered from this version. */
struct asking {
    struct pml_http *http;
    struct pml_service *epoch; /* or NULL */
};

/* SPEC 10.3: what a message of an epoch may hold. */
static bool is_message(const struct pml_service *service, const pml_release_view *view)
{
    return view->mechanism == (pml_service_pack(service)->slots == 1 ? PML_RESPONSE : PML_CROWD);
}

/* Whether the whole answer fits into what it is padded to. One that does not is of a version that came after the lengths
 * were looked up. */
static bool append_parts(const struct pml_parts *parts, struct pml_inner *inner)
{
    const size_t size = pml_gateway_padded(parts->size);
    bool fine = size > 0 && size <= inner->padded;
    for (size_t i = 0; i < parts->count && fine; i++)
        fine = pml_bytes_append(&inner->content, parts->parts[i]->bytes, parts->parts[i]->size) == PML_DONE;
    return fine;
}

static bool of_pack(const struct pml_service *service, const struct pml_http_pack *pack)
{
    return memcmp(pml_service_pack(service)->id, pml_follow_pack(pack->follow)->id, PML_ID_SIZE) == 0;
}

static const struct pml_http_fault *answer_release(const struct asking *asking, const void *release, size_t size,
                                                   struct pml_inner *inner)
{
    struct pml_http *http = asking->http;
    const struct pml_http_pack *pack;
    struct pml_service *service = NULL;
    pml_release_view view;
    struct pml_parts parts;
    const struct pml_http_fault *fault = pml_http_release(http, release, size, &pack, &view);
    if (fault)
        return fault;
    if (asking->epoch && !of_pack(asking->epoch, pack))
        return &pml_http_other_pack;
    if (asking->epoch && !is_message(asking->epoch, &view))
        return &pml_http_no_release;
    fault = pml_http_outcome(http, asking->epoch ? pml_service_parts(asking->epoch, &view, &parts)
                                                 : pml_follow_answer(pack->follow, &view, &service, &parts));
    pml_service_unref(service);
    if (fault)
        return fault;
    if (!append_parts(&parts, inner))
        fault = pml_http_outcome(http, PML_DAMAGED);
    pml_parts_free(&parts);
    return fault;
}

static const struct pml_http_fault *refuse_inside(unsigned status)
{
    static const struct pml_http_fault faults[] = {
        {MHD_HTTP_BAD_REQUEST, "request", "What was sealed is no Binary HTTP request."},
        {MHD_HTTP_NOT_FOUND, "not_found", "There is nothing of this name. Use POST /v1/query."},
        {MHD_HTTP_CONFLICT, "epoch", "The epoch inside the message is another than the one it came with."}};
    size_t at = 0;
    while (at + 1 < sizeof faults / sizeof faults[0] && faults[at].status != status)
        at++;
    return &faults[at];
}

/* A pml_inner_fn. */
static void answer_inside(void *context, unsigned refusal, const void *release, size_t size, struct pml_inner *inner)
{
    const struct asking *asking = context;
    if (inner->padded == 0)
        inner->padded = padded_for(asking->http, size);
    const struct pml_http_fault *fault =
        refusal > 0 ? refuse_inside(refusal) : answer_release(asking, release, size, inner);
    inner->status = fault ? fault->status : MHD_HTTP_OK;
    if (fault) {
        inner->content.size = 0;
        if (!pml_http_fault_text(asking->http, fault, &inner->content))
            inner->content.size = 0;
    }
}

/* ---- outside ---- */

struct pml_http_reply pml_http_keys(const struct pml_http *http)
{
    struct pml_bytes configuration = {0};
    if (pml_gateway_configuration(http->options.gateway, &configuration) != PML_DONE) {
        pml_bytes_free(&configuration);
        return (struct pml_http_reply){0};
    }
    struct pml_http_reply reply = pml_http_reply_bytes(MHD_HTTP_OK, "application/ohttp-keys", &configuration);
    /* Keys come and go: whoever passes them on asks again every minute. */
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_CACHE_CONTROL, "public, max-age=60");
    return reply;
}

static struct pml_http_reply not_sealed(void)
{
    return pml_http_reply_error(MHD_HTTP_BAD_REQUEST, "sealed", "The body is not sealed as it should be.");
}

/* RFC 9458, 5.3: the client fetches the configuration again. */
static struct pml_http_reply no_key(void)
{
    static const char problem[] = "{\"type\":\"https://iana.org/assignments/http-problem-types#ohttp-key\","
                                  "\"title\":\"There is no key of this id.\"}\n";
    return pml_http_no_store(
        pml_http_reply_kept(MHD_HTTP_BAD_REQUEST, "application/problem+json", problem, sizeof problem - 1));
}

static struct pml_http_reply single(struct pml_http *http, struct pml_bytes *body)
{
    struct asking asking = {http, NULL};
    struct pml_bytes reply = {0};
    const pml_outcome outcome =
        pml_gateway_single(http->options.gateway, body->bytes, body->size, answer_inside, &asking, &reply);
    if (outcome == PML_DONE)
        return pml_http_no_store(pml_http_reply_bytes(MHD_HTTP_OK, "message/ohttp-res", &reply));
    pml_bytes_free(&reply);
    return outcome == PML_ABSENT ? no_key() : outcome == PML_REFUSED ? not_sealed() : (struct pml_http_reply){0};
}

/* An epoch that is being answered. */
struct answering {
    struct asking asking;
    struct pml_bytes body; /* the request's: the messages lie in it */
    struct pml_gateway_batch *batch;
};

static void end_answering(void *context)
{
    struct answering *answering = context;
    if (answering->batch)
        pml_gateway_batch_close(answering->batch);
    pml_service_unref(answering->asking.epoch);
    pml_bytes_free(&answering->body);
    free(answering);
}

/* libmicrohttpd asks for one piece after the other; other connections get their turn in between. */
static ssize_t next_piece(void *context, uint64_t position, char *room, size_t most)
{
    struct answering *answering = context;
    (void)position;
    const ssize_t given = pml_gateway_batch_read(answering->batch, room, most);
    return given > 0 ? given : given == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

/* The first 8 bytes of the version, as the number that is written so. */
static uint64_t version_of(const struct pml_service *service)
{
    uint64_t number = 0;
    for (size_t i = 0; i < 8; i++)
        number = number << 8 | pml_service_version(service)->bytes[i];
    return number;
}

/* Takes over the body, and the reference to the service. */
static struct pml_http_reply stream(struct pml_http *http, struct pml_service *service, const struct pml_epoch *epoch,
                                    struct pml_bytes *body)
{
    struct answering *answering = malloc(sizeof *answering);
    struct pml_http_reply reply = {.status = MHD_HTTP_OK};
    if (!answering) {
        pml_service_unref(service);
        return (struct pml_http_reply){0};
    }
    *answering = (struct answering){.asking = {http, service}, .body = *body};
    *body = (struct pml_bytes){0};
    const struct pml_batch_options options = {*epoch, version_of(service), pml_http_padded(http, service),
                                              answer_inside, &answering->asking};
    if (pml_gateway_batch_open(&answering->batch, http->options.gateway, &options) == PML_DONE) {
        reply.size = pml_gateway_batch_size(answering->batch);
        reply.response = MHD_create_response_from_callback(reply.size, PIECE, next_piece, answering, end_answering);
    }
    if (!reply.response)
        end_answering(answering);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_CONTENT_TYPE, "application/x-privatemail-answers");
    return pml_http_no_store(reply);
}

static struct pml_http_reply whole_epoch(struct pml_http *http, struct pml_bytes *body)
{
    struct pml_epoch epoch;
    if (!pml_epoch_read(body->bytes, body->size, &epoch))
        return not_sealed();
    const struct pml_http_pack *pack = pml_http_pack(http, epoch.pack);
    if (!pack)
        return pml_http_not_found();
    if (epoch.message_size != pml_gateway_message_size(pml_longest_message(pml_follow_pack(pack->follow))))
        return not_sealed();
    if (!pml_epoch_is_current(epoch.number, (uint64_t)time(NULL)))
        return pml_http_reply_error(MHD_HTTP_CONFLICT, "epoch", "The epoch is too far from this server's clock.");
    return stream(http, pml_follow_take(pack->follow), &epoch, body);
}

struct pml_http_reply pml_http_sealed(struct pml_http *http, struct MHD_Connection *from,
                                      struct pml_http_request *request)
{
    const struct pml_http_fault *busy = pml_http_busy(http, request);
    if (busy)
        return pml_http_reply_error(busy->status, busy->name, busy->sentence);
    if (pml_http_has_type(from, "message/ohttp-req"))
        return single(http, &request->body);
    if (pml_http_has_type(from, "application/x-privatemail-epoch"))
        return whole_epoch(http, &request->body);
    return pml_http_reply_error(MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "type",
                                "The body must be message/ohttp-req or application/x-privatemail-epoch, not "
                                "compressed.");
}
