/* SPDX-License-Identifier: Apache-2.0
 * One HTTP exchange. In: a release. Out: the answer's bytes, as they come. */
#define _POSIX_C_SOURCE 200809L
#include "exchange.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- URL ---- */

static bool is_loopback(const char *host)
{
    uint8_t address[4]; /* a name may begin with 127. too */
    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (inet_pton(AF_INET, host, address) == 1 && address[0] == 127);
}

exit_code exchange_check(const struct command *command, const char *url)
{
    char *scheme = NULL, *host = NULL, *extra = NULL;
    if (strchr(url, '@')) /* messages show the address */
        return command_fail(command, EXIT_USAGE,
                            "--server must not hold a user name or password, which others would see. Leave out what "
                            "stands before the @ (in a path, use %%40).");
    CURLU *parts = curl_url();
    if (!parts)
        return command_no_memory(command);
    bool good = strstr(url, "://") && curl_url_set(parts, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
                curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    bool plain = good && strcmp(scheme, "http") == 0;
    good = good && (plain || strcmp(scheme, "https") == 0) &&
           curl_url_get(parts, CURLUPART_QUERY, &extra, 0) != CURLUE_OK &&
           curl_url_get(parts, CURLUPART_FRAGMENT, &extra, 0) != CURLUE_OK;
    exit_code code = EXIT_OK;
    if (!good)
        code = command_fail(command, EXIT_USAGE,
                            "--server needs the address of a server, such as https://search.example.");
    else if (plain && !is_loopback(host))
        fprintf(
            stderr,
            "privatemail %s: http to %s is not encrypted: others on the network can read the release and change the "
            "answer. Use https.\n",
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
    CURL *curl;
    size_t refusal_size;
    bool not_taken;
};

static size_t take(char *bytes, size_t one, size_t size, void *context)
{
    struct state *state = context;
    struct exchange *exchange = state->exchange;
    long status = 0;
    (void)one; /* always 1 */
    curl_easy_getinfo(state->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200) {
        exchange->received += size;
        state->not_taken = exchange->take(exchange->context, bytes, size) != 0;
        return state->not_taken ? 0 : size;
    }
    size_t room = sizeof exchange->refusal - 1 - state->refusal_size, some = size < room ? size : room;
    memcpy(exchange->refusal + state->refusal_size, bytes, some);
    state->refusal_size += some;
    return size;
}

static CURLcode configure(CURL *curl, const struct exchange *exchange, struct state *state, const char *url,
                          struct curl_slist *fields)
{
    CURLcode code = curl_easy_setopt(curl, CURLOPT_URL, url);
#define SET(option, value) (code = code != CURLE_OK ? code : curl_easy_setopt(curl, option, value))
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L); /* a release goes to the server that was named, or nowhere */
    SET(CURLOPT_PROXY, "");          /* also when the environment names a proxy */
    SET(CURLOPT_HTTPHEADER, fields);
    SET(CURLOPT_USERAGENT, "privatemail");
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->size);
    SET(CURLOPT_POSTFIELDS, exchange->release);
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

static CURLcode perform(struct exchange *exchange, struct state *state, const char *url)
{
    static const char *const lines[] = {"Content-Type: application/cbor", "Accept: application/cbor-seq", "Expect:"};
    struct curl_slist *fields = NULL;
    CURLcode code = CURLE_OK;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0] && code == CURLE_OK; i++) {
        struct curl_slist *longer = curl_slist_append(fields, lines[i]);
        code = longer ? CURLE_OK : CURLE_OUT_OF_MEMORY;
        fields = longer ? longer : fields;
    }
    if (code == CURLE_OK)
        code = configure(state->curl, exchange, state, url, fields);
    if (code == CURLE_OK)
        code = curl_easy_perform(state->curl);
    long status = 0;
    curl_easy_getinfo(state->curl, CURLINFO_RESPONSE_CODE, &status);
    exchange->status = (unsigned)status;
    curl_slist_free_all(fields);
    return code;
}

enum exchange_result exchange_post(struct exchange *exchange)
{
    struct state state = {.exchange = exchange, .curl = curl_easy_init()};
    size_t length = strlen(exchange->server);
    char *url = malloc(length + sizeof "/v1/query");
    CURLcode code = CURLE_OUT_OF_MEMORY;
    exchange->status = 0;
    exchange->received = 0;
    memset(exchange->refusal, 0, sizeof exchange->refusal);
    memset(exchange->trouble, 0, sizeof exchange->trouble);
    if (state.curl && url) {
        while (length > 0 && exchange->server[length - 1] == '/')
            length--;
        snprintf(url, length + sizeof "/v1/query", "%.*s/v1/query", (int)length, exchange->server);
        code = perform(exchange, &state, url);
    }
    if (code != CURLE_OK && exchange->trouble[0] == 0)
        snprintf(exchange->trouble, sizeof exchange->trouble, "%s", curl_easy_strerror(code));
    curl_easy_cleanup(state.curl);
    free(url);
    if (state.not_taken)
        return EXCHANGE_NOT_TAKEN;
    if (code != CURLE_OK)
        return EXCHANGE_UNREACHABLE;
    return exchange->status == 200 ? EXCHANGE_OK : EXCHANGE_REFUSED;
}
