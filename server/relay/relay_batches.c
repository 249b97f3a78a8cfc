/* SPDX-License-Identifier: Apache-2.0
 * An epoch to the gateway and back (SPEC 10.6), in requests of at most 1024 messages, a few at a time. In: messages in
 * their order. Out: their answers. Never sends anything a second time. */
#include "relay_gateway.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 1024,
    REQUEST_HEAD = 32,
    ANSWERS_HEAD = 40,
    DIGEST_AT = 24,
    CONNECTIONS_MAX = 16,
    MOMENT = 100 /* ms */,
    PIECE = 1 << 18
};

struct epoch_state {
    const struct relay_gateway *gateway;
    const struct relay_exchange *exchange;
    struct curl_slist *fields;
    uint32_t next; /* the first message that was not sent */
    bool has_digest, failed;
    uint8_t digest[8]; /* of the gallery that answered first */
};

/* One request that is on its way. */
struct batch {
    struct epoch_state *state;
    CURL *curl;
    uint8_t *request;
    uint32_t first, count;
    uint8_t head[ANSWERS_HEAD];
    uint64_t received;
};

static void store(uint8_t *out, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        out[i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

static void write_head(const struct batch *batch, uint8_t *out)
{
    const struct relay_exchange *exchange = batch->state->exchange;
    store(out, exchange->epoch, 8);
    memcpy(out + 8, exchange->pack, PML_ID_SIZE);
    store(out + 24, batch->count, 4);
    store(out + 28, exchange->lengths.message, 4);
}

/* The head must repeat the request's, say the right lengths, and name the gallery that the others name. */
static bool head_is_right(const struct batch *batch)
{
    struct epoch_state *state = batch->state;
    uint8_t expected[ANSWERS_HEAD];
    write_head(batch, expected);
    memcpy(expected + DIGEST_AT, state->has_digest ? state->digest : batch->head + DIGEST_AT, sizeof state->digest);
    store(expected + 32, batch->count, 4);
    store(expected + 36, state->exchange->lengths.answer, 4);
    if (memcmp(expected, batch->head, ANSWERS_HEAD) != 0)
        return false;
    memcpy(state->digest, batch->head + DIGEST_AT, sizeof state->digest);
    state->has_digest = true;
    return true;
}

static bool take_answers(struct batch *batch, const uint8_t *bytes, size_t size)
{
    const struct relay_exchange *exchange = batch->state->exchange;
    const uint32_t length = exchange->lengths.answer;
    uint64_t at = batch->received - ANSWERS_HEAD;
    if (size > (uint64_t)batch->count * length - at)
        return false;
    while (size > 0) {
        const uint32_t offset = (uint32_t)(at % length);
        const size_t piece = size < length - offset ? size : length - offset;
        if (exchange->write(exchange->context, batch->first + (uint32_t)(at / length), offset, bytes, piece) != 0)
            return false;
        bytes += piece;
        at += piece;
        size -= piece;
    }
    return true;
}

static size_t take(char *bytes, size_t one, size_t size, void *context)
{
    struct batch *batch = context;
    size_t taken = 0;
    long status = 0;
    (void)one; /* always 1 */
    curl_easy_getinfo(batch->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        return 0;
    if (batch->received < ANSWERS_HEAD) {
        const size_t missing = (size_t)(ANSWERS_HEAD - batch->received);
        taken = size < missing ? size : missing;
        memcpy(batch->head + batch->received, bytes, taken);
        batch->received += taken;
        if (batch->received < ANSWERS_HEAD)
            return size;
        if (!head_is_right(batch))
            return 0;
    }
    if (!take_answers(batch, (const uint8_t *)bytes + taken, size - taken))
        return 0;
    batch->received += size - taken;
    return size;
}

static bool is_complete(const struct batch *batch)
{
    const char *type = NULL;
    long status = 0;
    curl_easy_getinfo(batch->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(batch->curl, CURLINFO_CONTENT_TYPE, &type);
    return status == 200 && type && strcmp(type, "application/x-privatemail-answers") == 0 &&
           batch->received == ANSWERS_HEAD + (uint64_t)batch->count * batch->state->exchange->lengths.answer;
}

static void end_batch(CURLM *all, struct batch *batch)
{
    if (batch->curl) {
        curl_multi_remove_handle(all, batch->curl);
        curl_easy_cleanup(batch->curl);
    }
    free(batch->request);
    *batch = (struct batch){0};
}

static bool begin_batch(CURLM *all, struct epoch_state *state, struct batch *batch)
{
    const struct relay_exchange *exchange = state->exchange;
    const uint32_t left = exchange->count - state->next;
    *batch = (struct batch){.state = state, .first = state->next, .count = left < BATCH ? left : BATCH};
    const size_t size = REQUEST_HEAD + (size_t)batch->count * exchange->lengths.message;
    batch->request = malloc(size);
    batch->curl = relay_gateway_handle(state->gateway, "/.well-known/ohttp-gateway", state->fields);
    if (!batch->request || !batch->curl)
        return false;
    write_head(batch, batch->request);
    for (uint32_t i = 0; i < batch->count; i++) {
        uint8_t *message = batch->request + REQUEST_HEAD + (size_t)i * exchange->lengths.message;
        if (exchange->read(exchange->context, batch->first + i, message) != 0)
            return false;
    }
    state->next += batch->count;
    return curl_easy_setopt(batch->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size) == CURLE_OK &&
           curl_easy_setopt(batch->curl, CURLOPT_POSTFIELDS, batch->request) == CURLE_OK &&
           curl_easy_setopt(batch->curl, CURLOPT_WRITEFUNCTION, take) == CURLE_OK &&
           curl_easy_setopt(batch->curl, CURLOPT_WRITEDATA, batch) == CURLE_OK &&
           curl_easy_setopt(batch->curl, CURLOPT_PRIVATE, batch) == CURLE_OK &&
           curl_easy_setopt(batch->curl, CURLOPT_BUFFERSIZE, (long)PIECE) == CURLE_OK &&
           curl_multi_add_handle(all, batch->curl) == CURLM_OK;
}

/* Takes note of requests that are over. Returns whether there was one. */
static bool finish(CURLM *all, struct epoch_state *state, unsigned *running)
{
    const unsigned before = *running;
    int more;
    for (CURLMsg *told; (told = curl_multi_info_read(all, &more));) {
        struct batch *batch = NULL;
        const CURLcode code = told->data.result;
        if (told->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(told->easy_handle, CURLINFO_PRIVATE, &batch);
        state->failed = state->failed || code != CURLE_OK || !is_complete(batch);
        end_batch(all, batch);
        --*running;
    }
    return *running < before;
}

static void run(CURLM *all, struct epoch_state *state, struct batch *batches, unsigned most)
{
    unsigned running = 0;
    while (!state->failed && (running > 0 || state->next < state->exchange->count)) {
        for (unsigned i = 0; i < most && state->next < state->exchange->count && !state->failed; i++) {
            if (batches[i].curl)
                continue;
            state->failed = !begin_batch(all, state, &batches[i]);
            running += !state->failed;
        }
        int active;
        if (curl_multi_perform(all, &active) != CURLM_OK ||
            (!finish(all, state, &running) && curl_multi_poll(all, NULL, 0, MOMENT, NULL) != CURLM_OK))
            state->failed = true;
        state->failed = state->failed || atomic_load(state->exchange->stop);
    }
}

pml_outcome relay_gateway_exchange(const struct relay_gateway *gateway, const struct relay_exchange *exchange)
{
    struct epoch_state state = {.gateway = gateway, .exchange = exchange};
    struct batch batches[CONNECTIONS_MAX] = {{0}};
    const unsigned most = gateway->connections < CONNECTIONS_MAX ? gateway->connections : CONNECTIONS_MAX;
    CURLM *all = curl_multi_init();
    struct curl_slist *type = curl_slist_append(NULL, "Content-Type: application/x-privatemail-epoch");
    state.fields = type ? curl_slist_append(type, "Expect:") : NULL;
    state.failed = !all || !state.fields;
    run(all, &state, batches, most);
    for (unsigned i = 0; i < most; i++)
        end_batch(all, &batches[i]);
    curl_slist_free_all(type);
    curl_multi_cleanup(all);
    return state.failed ? PML_UNAVAILABLE : PML_DONE;
}
