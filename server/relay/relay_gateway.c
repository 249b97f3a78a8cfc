/* SPDX-License-Identifier: Apache-2.0
 * Single requests to the gateway: its keys, its packs, its lengths. */
#define _POSIX_C_SOURCE 200809L
#include "relay_gateway.h"

#include "common/loopback.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { URL_MAX = 2048, DESCRIPTION_MAX = 65536, MESSAGE_MAX = 20000 /* PML_SEAL_RELEASE_MAX and the seal */ };
#define ANSWER_MAX ((uint32_t)1 << 30)

const char *relay_gateway_fault(const char *url)
{
    static const char no_address[] = "--gateway needs the address of a server, such as https://search.example.";
    const char *fault = no_address;
    char *scheme = NULL, *host = NULL, *extra = NULL;
    CURLU *parts = curl_url();
    if (parts && strlen(url) < URL_MAX / 2 && !strchr(url, '@') && strstr(url, "://") &&
        curl_url_set(parts, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_QUERY, &extra, 0) != CURLUE_OK &&
        curl_url_get(parts, CURLUPART_FRAGMENT, &extra, 0) != CURLUE_OK) {
        if (strcmp(scheme, "https") == 0)
            fault = NULL;
        else if (strcmp(scheme, "http") == 0)
            fault = pml_is_loopback(host)
                        ? NULL
                        : "--gateway must be https://, or http:// of this machine: on the way the order "
                          "of the messages could be seen and changed.";
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(extra);
    curl_url_cleanup(parts);
    return fault;
}

void *relay_gateway_handle(const struct relay_gateway *gateway, const char *path, struct curl_slist *fields)
{
    char url[URL_MAX];
    size_t length = strlen(gateway->url);
    CURL *curl = curl_easy_init();
    while (length > 0 && gateway->url[length - 1] == '/')
        length--;
    snprintf(url, sizeof url, "%.*s%s", (int)length, gateway->url, path);
    CURLcode code = curl ? curl_easy_setopt(curl, CURLOPT_URL, url) : CURLE_OUT_OF_MEMORY;
#define SET(option, value) (code = code != CURLE_OK ? code : curl_easy_setopt(curl, option, value))
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_USERAGENT, "privatemail");
    SET(CURLOPT_HTTPHEADER, fields);
    SET(CURLOPT_TIMEOUT, (long)gateway->timeout);
    SET(CURLOPT_NOSIGNAL, 1L);
    /* libcurl sends a request again by itself when a connection that it kept turns out to be closed */
    SET(CURLOPT_FORBID_REUSE, 1L);
    SET(CURLOPT_FRESH_CONNECT, 1L);
    SET(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    if (gateway->ca)
        SET(CURLOPT_CAINFO, gateway->ca);
#undef SET
    if (code == CURLE_OK)
        return curl;
    curl_easy_cleanup(curl);
    return NULL;
}

struct reading {
    struct pml_bytes *body;
    size_t most;
};

static size_t take(char *bytes, size_t one, size_t size, void *context)
{
    struct reading *reading = context;
    (void)one; /* always 1 */
    if (size > reading->most - reading->body->size || pml_bytes_append(reading->body, bytes, size) != PML_DONE)
        return 0;
    return size;
}

pml_outcome relay_gateway_get(const struct relay_gateway *gateway, const char *path, size_t most,
                              struct pml_bytes *body, struct pml_message *message)
{
    struct reading reading = {body, most};
    char trouble[CURL_ERROR_SIZE] = "";
    long status = 0;
    CURL *curl = relay_gateway_handle(gateway, path, NULL);
    if (!curl)
        return pml_say_memory(message);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reading);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, trouble);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    if (code == CURLE_OK && status == 200)
        return PML_DONE;
    pml_bytes_free(body);
    if (code == CURLE_OK)
        pml_say(message, "%s%s returned status %ld. Check --gateway.", gateway->url, path, status);
    else
        pml_say(message, "%s%s cannot be fetched (%s). Check --gateway, and that it runs.", gateway->url, path,
                trouble[0] != 0 ? trouble : curl_easy_strerror(code));
    return code == CURLE_OK && status == 404 ? PML_ABSENT : PML_UNAVAILABLE;
}

/* ---- lengths ---- */

/* The number after "name": in text; 0 when there is none from 1 to `most`. */
static uint32_t number_of(const char *text, const char *name, uint32_t most)
{
    const char *at = text ? strstr(text, name) : NULL;
    if (!at)
        return 0;
    at += strlen(name);
    at += strspn(at, " \t\r\n");
    if (*at++ != ':')
        return 0;
    at += strspn(at, " \t\r\n");
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9' && value <= most; at++)
        value = 10 * value + (uint64_t)(*at - '0');
    return value <= most ? (uint32_t)value : 0;
}

bool relay_lengths_read(const char *text, struct relay_lengths *lengths)
{
    const char *sealed = strstr(text, "\"sealed\"");
    *lengths = (struct relay_lengths){number_of(sealed, "\"message\"", MESSAGE_MAX),
                                      number_of(sealed, "\"answer\"", ANSWER_MAX)};
    return lengths->message > 0 && lengths->answer > 0;
}

pml_outcome relay_gateway_lengths(const struct relay_gateway *gateway, const char *pack, struct relay_lengths *lengths)
{
    char path[128];
    struct pml_bytes text = {0};
    snprintf(path, sizeof path, "/v1/pack/%s/gallery", pack);
    pml_outcome outcome = relay_gateway_get(gateway, path, DESCRIPTION_MAX, &text, NULL);
    if (outcome == PML_DONE)
        outcome = pml_bytes_append(&text, "", 1);
    if (outcome == PML_DONE && !relay_lengths_read((const char *)text.bytes, lengths))
        outcome = PML_ABSENT; /* a server without a key is no gateway */
    pml_bytes_free(&text);
    return outcome;
}
