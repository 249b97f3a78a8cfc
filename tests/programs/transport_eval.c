/* SPDX-License-Identifier: Apache-2.0
 * Seals and opens what is on standard input, one call per line: a name and its arguments in hexadecimal ("-" is empty).
 * Writes one line per call: the results in hexadecimal, or "refused" and the status. For tests/transport/check_interop.py.
 *
 *   keys CONFIGURATION                                     → id aead public_key
 *   message KEYS EPOCH PACK RELEASE EPHEMERAL              → message opener
 *   message_open SECRET ID EPOCH PACK MESSAGE              → status content opener
 *   answer OPENER STATUS CONTENT SIZE NONCE                → answer
 *   answer_open OPENER ANSWER PIECE                        → status content
 *   request KEYS AEAD PLAINTEXT EPHEMERAL                  → request opener
 *   request_open SECRET ID REQUEST                         → status plaintext opener
 *   response OPENER PLAINTEXT NONCE                        → response
 *   response_open OPENER RESPONSE                          → plaintext
 *
 * Numbers are hexadecimal and big-endian too. An opener is written as aead, secret, enc. */
#include "privatemail_transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGUMENTS 5
#define MOST (1u << 20)

struct argument {
    uint8_t *bytes;
    size_t size;
};

static struct argument arguments[ARGUMENTS];
static uint8_t out[2 * MOST], content[2 * MOST];
static const pml_crypto *crypto;

/* ---- reading ---- */

static uint64_t number(const struct argument *argument)
{
    uint64_t value = 0;
    for (size_t i = 0; i < argument->size; i++)
        value = value << 8 | argument->bytes[i];
    return value;
}

static pml_opener read_opener(const struct argument *argument)
{
    pml_opener opener = {.aead = (uint16_t)(argument->bytes[0] << 8 | argument->bytes[1])};
    memcpy(opener.secret, argument->bytes + 2, sizeof opener.secret);
    memcpy(opener.enc, argument->bytes + 2 + sizeof opener.secret, sizeof opener.enc);
    return opener;
}

static pml_private_key read_private(const struct argument *secret, const struct argument *id)
{
    pml_private_key key = {.id = id->bytes[0]};
    memcpy(key.secret, secret->bytes, sizeof key.secret);
    if (pml_key_complete(crypto, &key) != PML_OK)
        exit(1);
    return key;
}

/* Entropy is the argument. */
static int given(void *context, uint8_t *to, size_t size)
{
    const struct argument *argument = context;
    if (size != argument->size)
        return -1;
    memcpy(to, argument->bytes, size);
    return 0;
}

static void read_arguments(char *line)
{
    for (size_t i = 0; i < ARGUMENTS; i++) {
        const char *text = strtok(i == 0 ? line : NULL, " \n");
        arguments[i].size = 0;
        for (; text && text[0] && text[1] && arguments[i].size < MOST; text += 2) {
            const char digits[3] = {text[0], text[1], 0};
            arguments[i].bytes[arguments[i].size++] = (uint8_t)strtoul(digits, NULL, 16);
        }
    }
}

/* ---- writing ---- */

static void put(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    if (size == 0)
        printf("-");
    for (size_t i = 0; i < size; i++)
        printf("%02x", at[i]);
    printf(" ");
}

static void put_opener(const pml_opener *opener)
{
    printf("%04x", opener->aead);
    for (size_t i = 0; i < sizeof opener->secret; i++)
        printf("%02x", opener->secret[i]);
    put(opener->enc, sizeof opener->enc);
}

/* ---- calls ---- */

static pml_status keys(const struct argument *a)
{
    pml_seal_key key;
    const pml_status status = pml_keys_choose(crypto, a[0].bytes, a[0].size, &key);
    if (status == PML_OK) {
        printf("%02x %04x ", key.id, key.aead);
        put(key.public_key, sizeof key.public_key);
    }
    return status;
}

static pml_status message(struct argument *a)
{
    pml_seal_key key;
    pml_opener opener;
    pml_status status = pml_keys_choose(crypto, a[0].bytes, a[0].size, &key);
    if (status == PML_OK)
        status = pml_message_seal(crypto, &key, number(&a[1]), a[2].bytes, a[3].bytes, a[3].size, given, &a[4], out,
                                  sizeof out, &opener);
    if (status == PML_OK) {
        put(out, pml_message_size(a[3].size));
        put_opener(&opener);
    }
    return status;
}

static pml_status message_open(const struct argument *a)
{
    const pml_private_key key = read_private(&a[0], &a[1]);
    pml_opened opened;
    const pml_status status = pml_message_open(crypto, &key, number(&a[2]), a[3].bytes, a[4].bytes, a[4].size, &opened);
    if (status == PML_OK) {
        printf("%04x ", opened.status);
        put(opened.content.bytes, opened.content.size);
        put_opener(&opened.opener);
    }
    return status;
}

static pml_status answer(struct argument *a)
{
    const pml_opener opener = read_opener(&a[0]);
    const size_t size = (size_t)number(&a[3]);
    const pml_status status = pml_answer_seal(crypto, &opener, (unsigned)number(&a[1]), a[2].bytes, a[2].size, size,
                                              given, &a[4], out, sizeof out);
    if (status == PML_OK)
        put(out, (size_t)pml_answer_size(size));
    return status;
}

static pml_status take(void *context, const uint8_t *bytes, size_t size)
{
    size_t *taken = context;
    memcpy(content + *taken, bytes, size);
    *taken += size;
    return PML_OK;
}

static pml_status answer_open(const struct argument *a)
{
    static uint8_t buffer[PML_OPEN_BUFFER];
    const pml_opener opener = read_opener(&a[0]);
    const size_t piece = (size_t)number(&a[2]);
    size_t taken = 0;
    unsigned inside;
    pml_open open;
    pml_status status = pml_open_begin(&open, crypto, &opener, buffer, sizeof buffer, a[1].size);
    for (size_t at = 0; at < a[1].size && status == PML_OK; at += piece)
        status = pml_open_feed(&open, a[1].bytes + at, a[1].size - at < piece ? a[1].size - at : piece, take, &taken);
    if (status == PML_OK)
        status = pml_open_end(&open, &inside);
    if (status == PML_OK) {
        printf("%04x ", inside);
        put(content, taken);
    }
    return status;
}

static pml_status request(struct argument *a)
{
    pml_seal_key key;
    pml_opener opener;
    pml_status status = pml_keys_choose(crypto, a[0].bytes, a[0].size, &key);
    key.aead = (uint16_t)number(&a[1]);
    if (status == PML_OK)
        status = pml_ohttp_request_seal(crypto, &key, a[2].bytes, a[2].size, given, &a[3], out, sizeof out, &opener);
    if (status == PML_OK) {
        put(out, PML_OHTTP_REQUEST_SIZE(a[2].size));
        put_opener(&opener);
    }
    return status;
}

static pml_status request_open(const struct argument *a)
{
    const pml_private_key key = read_private(&a[0], &a[1]);
    pml_opened opened;
    const pml_status status = pml_ohttp_request_open(crypto, &key, a[2].bytes, a[2].size, &opened);
    if (status == PML_OK) {
        printf("%04x ", opened.status);
        put(opened.plaintext.bytes, opened.plaintext.size);
        put_opener(&opened.opener);
    }
    return status;
}

static pml_status response(struct argument *a)
{
    const pml_opener opener = read_opener(&a[0]);
    const pml_status status =
        pml_ohttp_response_seal(crypto, &opener, a[1].bytes, a[1].size, given, &a[2], out, sizeof out);
    if (status == PML_OK)
        put(out, pml_ohttp_response_size(crypto, &opener, a[1].size));
    return status;
}

static pml_status response_open(const struct argument *a)
{
    const pml_opener opener = read_opener(&a[0]);
    pml_piece plaintext;
    const pml_status status = pml_ohttp_response_open(crypto, &opener, a[1].bytes, a[1].size, &plaintext);
    if (status == PML_OK)
        put(plaintext.bytes, plaintext.size);
    return status;
}

static pml_status call(const char *name)
{
    struct argument *a = arguments;
    if (strcmp(name, "keys") == 0)
        return keys(a);
    if (strcmp(name, "message") == 0)
        return message(a);
    if (strcmp(name, "message_open") == 0)
        return message_open(a);
    if (strcmp(name, "answer") == 0)
        return answer(a);
    if (strcmp(name, "answer_open") == 0)
        return answer_open(a);
    if (strcmp(name, "request") == 0)
        return request(a);
    if (strcmp(name, "request_open") == 0)
        return request_open(a);
    if (strcmp(name, "response") == 0)
        return response(a);
    if (strcmp(name, "response_open") == 0)
        return response_open(a);
    return PML_ERROR_ARGUMENT;
}

int main(void)
{
    static char line[5 * MOST];
    crypto = pml_crypto_bearssl();
    for (size_t i = 0; i < ARGUMENTS; i++) {
        arguments[i].bytes = malloc(MOST);
        if (!arguments[i].bytes)
            return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        char *rest = line + strcspn(line, " \n");
        if (*rest)
            *rest++ = 0;
        read_arguments(rest);
        const pml_status status = call(line);
        if (status != PML_OK)
            printf("refused %d", status);
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
