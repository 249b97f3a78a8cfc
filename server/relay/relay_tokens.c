/* SPDX-License-Identifier: Apache-2.0
 * Reads digests of tokens, and looks tokens up. */
#include "relay_tokens.h"

#include "common/files.h"
#include "core/base/sha256.h"

#include <stdlib.h>
#include <string.h>

enum { DIGEST_DIGITS = 64 };
#define FILE_MAX ((size_t)1 << 30)

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, RELAY_KEY_SIZE);
}

static int digit_of(char character)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = character != 0 ? strchr(digits, character | 0x20) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* One line without its end. */
static pml_outcome read_line(struct relay_tokens *tokens, const char *line, size_t size)
{
    uint8_t digest[RELAY_KEY_SIZE];
    const char *comment = memchr(line, '#', size);
    size = comment ? (size_t)(comment - line) : size;
    while (size > 0 && strchr(" \t\r", line[size - 1]))
        size--;
    if (size == 0)
        return PML_DONE;
    if (size != DIGEST_DIGITS)
        return PML_REFUSED;
    for (size_t i = 0; i < DIGEST_DIGITS; i++) {
        const int digit = digit_of(line[i]);
        if (digit < 0)
            return PML_REFUSED;
        if (i < 2 * RELAY_KEY_SIZE)
            digest[i / 2] = (uint8_t)(i % 2 == 0 ? digit << 4 : digest[i / 2] | digit);
    }
    memcpy(tokens->digests[tokens->count++], digest, sizeof digest);
    return PML_DONE;
}

pml_outcome relay_tokens_read(struct relay_tokens *tokens, const char *path, struct pml_message *message)
{
    uint8_t *text = NULL;
    size_t size = 0, line = 1;
    pml_outcome outcome = pml_file_read(path, FILE_MAX, &text, &size, message);
    if (outcome != PML_DONE)
        return outcome;
    struct relay_tokens made = {.digests = malloc((size / DIGEST_DIGITS + 1) * sizeof *made.digests)};
    outcome = made.digests ? PML_DONE : pml_say_memory(message);
    for (size_t at = 0; at < size && outcome == PML_DONE; line++) {
        const uint8_t *end = memchr(text + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - (text + at)) : size - at;
        outcome = read_line(&made, (const char *)text + at, length);
        if (outcome != PML_DONE)
            pml_say(message, "%s, line %zu: not the SHA-256 digest of a token. Give 64 hexadecimal digits per line.",
                    path, line);
        at += length + 1;
    }
    free(text);
    if (outcome != PML_DONE) {
        free(made.digests);
        return outcome;
    }
    qsort(made.digests, made.count, sizeof *made.digests, compare);
    relay_tokens_free(tokens);
    *tokens = made;
    return PML_DONE;
}

void relay_tokens_free(struct relay_tokens *tokens)
{
    free(tokens->digests);
    *tokens = (struct relay_tokens){0};
}

bool relay_tokens_admit(const struct relay_tokens *tokens, const char *token, uint8_t digest[RELAY_KEY_SIZE])
{
    uint8_t whole[32];
    pml_sha256((const uint8_t *)token, strlen(token), whole);
    memcpy(digest, whole, RELAY_KEY_SIZE);
    return tokens->count > 0 && bsearch(digest, tokens->digests, tokens->count, RELAY_KEY_SIZE, compare);
}
