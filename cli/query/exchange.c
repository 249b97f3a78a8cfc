/* SPDX-License-Identifier: Apache-2.0
 * HTTP exchanges. In: what to send. Out: the body of the reply, as it comes. */
#define _POSIX_C_SOURCE 200809L
#include "exchange.h"

#include "common/loopback.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- URL ---- */

exit_code exchange_check(const struct command *command, const char *option, const char *url, enum exchange_plain plain)
{
    char *scheme = NULL, *host = NULL, *extra = NULL;
    if (strchr(url, '@')) /* messages show the address */
        return command_fail(command, EXIT_USAGE,
                            "--%s must not hold a user name or password, which others would see. Leave out what "
                            "stands before the @ (in a path, use %%40).",
                            option);
    CURLU *parts = curl_url();
    if (!parts)
        return command_no_memory(command);
    bool good = strstr(url, "://") && curl_url_set(parts, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
                curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    bool open = good && strcmp(scheme, "http") == 0;
    good = good && (open || strcmp(scheme, "https") == 0) &&
           curl_url_get(parts, CURLUPART_QUERY, &extra, 0) != CURLUE_OK &&
           curl_url_get(parts, CURLUPART_FRAGMENT, &extra, 0) != CURLUE_OK;
    exit_code code = EXIT_OK;
    if (!good)
        code = command_fail(command, EXIT_USAGE, "--%s needs the address of a server, such as https://search.example.",
                            option);
    else if (open && !pml_is_loopback(host) && plain == EXCHANGE_PLAIN_FAILS)
        code = command_fail(command, EXIT_USAGE,
                            "--%s: http to %s is not encrypted: others on the network could change keys and see who "
                            "asks. Use https, or add --plain-http.",
                            option, host);
    else if (open && !pml_is_loopback(host))
        fprintf(stderr,
                "privatemail %s: http to %s is not encrypted: others on the network can read what is sent and change "
                "the answer. Use https.\n",
                command->name, host);
    curl_free(scheme);
    curl_free(host);
    curl_free(extra);
    curl_url_cleanup(parts);
    return code;
}

/* ---- exchange ---- */

struct state {
    struct exchange *exchange;
    const struct exchange_request *request;
    size_t reply_size;
    bool not_taken;
};

static size_t take(char *bytes, size_t one, size_t size, void *context)
{
    struct state *state = context;
    struct exchange *exchange = state->exchange;
    const struct exchange_request *request = state->request;
    long status = 0;
    (void)one; /* always 1 */
    curl_easy_getinfo(exchange->connection, CURLINFO_RESPONSE_CODE, &status);
    exchange->received += size;
    if (status == 200 && request->take) {
        state->not_taken = request->take(request->context, bytes, size) != 0;
        return state->not_taken ? 0 : size;
    }
    size_t room = sizeof exchange->reply - 1 - state->reply_size, some = size < room ? size : room;
    memcpy(exchange->reply + state->reply_size, bytes, some);
    state->reply_size += some;
    return size;
}

static CURLcode configure(struct state *state, const char *url, struct curl_slist *fields)
{
    const struct exchange *exchange = state->exchange;
    const struct exchange_request *request = state->request;
    CURL *curl = exchange->connection;
    CURLcode code = curl_easy_setopt(curl, CURLOPT_URL, url);
#define SET(option, value) (code = code != CURLE_OK ? code : curl_easy_setopt(curl, option, value))
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L); /* a release goes to the server that was named, or nowhere */
    SET(CURLOPT_PROXY, "");          /* also when the environment names a proxy */
    SET(CURLOPT_HTTPHEADER, fields);
    SET(CURLOPT_USERAGENT, "privatemail");
    if (request->method == EXCHANGE_POST) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->size);
        SET(CURLOPT_POSTFIELDS, request->body);
        SET(CURLOPT_FRESH_CONNECT, 1L); /* on an old connection libcurl may send it twice and not say so */
    } else if (request->method == EXCHANGE_DELETE) {
        SET(CURLOPT_CUSTOMREQUEST, "DELETE");
    }
    SET(CURLOPT_WRITEFUNCTION, take);
    SET(CURLOPT_WRITEDATA, state);
    SET(CURLOPT_ERRORBUFFER, state->exchange->trouble);
    SET(CURLOPT_TIMEOUT, (long)exchange->timeout);
    SET(CURLOPT_NOSIGNAL, 1L);
    if (exchange->ca)
        SET(CURLOPT_CAINFO, exchange->ca);
#undef SET
    return code;
}

/* Adds a field; nothing when there is no value. */
static CURLcode add_field(struct curl_slist **fields, const char *name, const char *value)
{
    char line[64 + EXCHANGE_TOKEN_MAX];
    if (!value)
        return CURLE_OK;
    snprintf(line, sizeof line, "%s%s%s", name, value[0] ? " " : "", value);
    struct curl_slist *longer = curl_slist_append(*fields, line);
    *fields = longer ? longer : *fields;
    return longer ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

/* What the exchange was like, and how much went over the line. */
static void note(struct exchange *exchange)
{
    long status = 0, sent_fields = 0, got_fields = 0;
    curl_off_t sent = 0, got = 0, pause = 0;
    curl_easy_getinfo(exchange->connection, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(exchange->connection, CURLINFO_REQUEST_SIZE, &sent_fields);
    curl_easy_getinfo(exchange->connection, CURLINFO_HEADER_SIZE, &got_fields);
    curl_easy_getinfo(exchange->connection, CURLINFO_SIZE_UPLOAD_T, &sent);
    curl_easy_getinfo(exchange->connection, CURLINFO_SIZE_DOWNLOAD_T, &got);
    curl_easy_getinfo(exchange->connection, CURLINFO_RETRY_AFTER, &pause);
    exchange->status = (unsigned)status;
    exchange->retry_after = (unsigned)(pause < 0 ? 0 : pause > 3600 ? 3600 : pause);
    exchange->up += (uint64_t)sent_fields + (uint64_t)sent;
    exchange->down += (uint64_t)got_fields + (uint64_t)got;
}

static CURLcode perform(struct state *state, const char *url)
{
    const struct exchange_request *request = state->request;
    struct curl_slist *fields = NULL;
    CURLcode code = add_field(&fields, "Content-Type:", request->type);
    if (code == CURLE_OK)
        code = add_field(&fields, "Accept:", request->accept);
    if (code == CURLE_OK)
        code = add_field(&fields, "Expect:", "");
    if (code == CURLE_OK && request->token)
        code = add_field(&fields, "Authorization: Bearer", request->token);
    if (code == CURLE_OK)
        code = configure(state, url, fields);
    if (code == CURLE_OK)
        code = curl_easy_perform(state->exchange->connection);
    note(state->exchange);
    curl_slist_free_all(fields);
    return code;
}

enum exchange_result exchange_run(struct exchange *exchange, const struct exchange_request *request)
{
    struct state state = {.exchange = exchange, .request = request};
    size_t length = strlen(exchange->server), whole = length + strlen(request->path) + 1;
    char *url = malloc(whole);
    CURLcode code = CURLE_OUT_OF_MEMORY;
    if (exchange->connection)
        curl_easy_reset(exchange->connection); /* the connection itself stays */
    else
        exchange->connection = curl_easy_init();
    exchange->status = exchange->retry_after = 0;
    exchange->received = 0;
    exchange->slow = false;
    memset(exchange->reply, 0, sizeof exchange->reply);
    memset(exchange->trouble, 0, sizeof exchange->trouble);
    if (exchange->connection && url) {
        while (length > 0 && exchange->server[length - 1] == '/')
            length--;
        snprintf(url, whole, "%.*s%s", (int)length, exchange->server, request->path);
        code = perform(&state, url);
        exchange->slow = code == CURLE_OPERATION_TIMEDOUT;
    }
    if (code != CURLE_OK && exchange->trouble[0] == 0)
        snprintf(exchange->trouble, sizeof exchange->trouble, "%s", curl_easy_strerror(code));
    free(url);
    if (state.not_taken)
        return EXCHANGE_NOT_TAKEN;
    if (code != CURLE_OK)
        return EXCHANGE_UNREACHABLE;
    return exchange->status == 200 ? EXCHANGE_OK : EXCHANGE_REFUSED;
}

void exchange_close(struct exchange *exchange)
{
    curl_easy_cleanup(exchange->connection);
    exchange->connection = NULL;
}
