/* SPDX-License-Identifier: Apache-2.0
 * Header fields. In: their text, from anybody. Out: what it asks for. */
#define _POSIX_C_SOURCE 200809L
#include "http_fields.h"

#include <string.h>
#include <strings.h>

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* Length of `at` up to one of `ends` outside of quotes, trailing blanks not counted. */
static size_t token_length(const char *at, const char *ends, const char **next)
{
    const char *end = at;
    for (bool quoted = false; *end != 0 && (quoted || !strchr(ends, *end)); end++) {
        if (*end == '"')
            quoted = !quoted;
        else if (quoted && *end == '\\' && end[1] != 0)
            end++;
    }
    *next = end;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (size_t)(end - at);
}

static bool is_word(const char *at, size_t length, const char *word)
{
    return strlen(word) == length && strncasecmp(at, word, length) == 0;
}

/* ---- Accept ---- */

/* "1", "0.5", "0.125" in thousandths; 1000 for what is none. */
static unsigned read_quality(const char *at, size_t length)
{
    unsigned value = 0, unit = 1000;
    if (length == 0 || length > 5 || (at[0] != '0' && at[0] != '1') || (length > 1 && at[1] != '.'))
        return 1000;
    for (size_t i = 0; i < length; i++) {
        if (i == 1)
            continue;
        if (at[i] < '0' || at[i] > '9')
            return 1000;
        value += unit * (unsigned)(at[i] - '0');
        unit /= 10;
    }
    return value < 1000 ? value : 1000;
}

/* The q among the parameters from `at` on; leaves *next at the end of the element. */
static unsigned find_quality(const char *at, const char **next)
{
    unsigned quality = 1000;
    while (*at == ';') {
        at = skip_blanks(at + 1);
        size_t length = token_length(at, ";,", next);
        if (length >= 2 && (at[0] == 'q' || at[0] == 'Q') && at[1] == '=')
            quality = read_quality(at + 2, length - 2);
        at = *next;
    }
    *next = at;
    return quality;
}

static unsigned closeness(const char *range, size_t length, const char *type)
{
    if (is_word(range, length, type))
        return 3;
    return is_word(range, length, "application/*") ? 2 : is_word(range, length, "*/*");
}

void pml_http_accept(struct pml_http_accept *accept, const char *field)
{
    for (const char *at = skip_blanks(field); *at != 0; at = skip_blanks(at)) {
        const char *next, *range = at;
        size_t length = token_length(range, ";,", &next);
        unsigned quality = find_quality(next, &at);
        unsigned json = closeness(range, length, "application/json");
        /* Our answers are sequences; whoever asks for plain CBOR means them too. */
        unsigned sequence = closeness(range, length, "application/cbor-seq");
        unsigned plain = closeness(range, length, "application/cbor");
        unsigned cbor = sequence > plain ? sequence : plain;
        if (json > accept->json.closeness) {
            accept->json.closeness = json;
            accept->json.wanted = quality;
        }
        if (cbor > accept->cbor.closeness || (cbor == 3 && quality > accept->cbor.wanted)) {
            accept->cbor.closeness = cbor;
            accept->cbor.wanted = quality;
        }
        if (*at == ',')
            at++;
    }
}

bool pml_http_accept_json(const struct pml_http_accept *accept)
{
    return accept->json.wanted > accept->cbor.wanted;
}

/* ---- others ---- */

bool pml_http_is_type(const char *field, const char *type)
{
    const char *next;
    field = field ? skip_blanks(field) : "";
    return is_word(field, token_length(field, ";", &next), type);
}

bool pml_http_has_tag(const char *field, const char *tag)
{
    const char *at = field ? field : "";
    while (*(at = skip_blanks(at)) != 0) {
        const char *next;
        size_t length = token_length(at, ",", &next);
        bool weak = length > 2 && strncmp(at, "W/", 2) == 0;
        if ((length == 1 && *at == '*') ||
            (strlen(tag) == length - 2 * weak && strncmp(at + 2 * weak, tag, strlen(tag)) == 0))
            return true;
        at = *next == ',' ? next + 1 : next;
    }
    return false;
}

/* Digits at *at; false when there are none. Numbers too large become the largest. */
static bool read_number(const char **at, uint64_t *value)
{
    const char *start = *at;
    *value = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        uint64_t digit = (uint64_t)(**at - '0');
        *value = *value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *value * 10 + digit;
    }
    return *at > start;
}

enum pml_http_range pml_http_range(const char *field, uint64_t size, uint64_t *first, uint64_t *last)
{
    if (!field || strncasecmp(field, "bytes=", 6) != 0)
        return PML_HTTP_WHOLE;
    const char *at = skip_blanks(field + 6);
    bool has_first = read_number(&at, first);
    if (*at++ != '-')
        return PML_HTTP_WHOLE;
    bool has_last = read_number(&at, last);
    if ((!has_first && !has_last) || *skip_blanks(at) != 0 || (has_first && has_last && *last < *first))
        return PML_HTTP_WHOLE;
    if (!has_first) { /* the last so many */
        if (*last == 0 || size == 0)
            return PML_HTTP_BEYOND;
        *first = *last < size ? size - *last : 0;
        *last = size - 1;
    }
    if (*first >= size)
        return PML_HTTP_BEYOND;
    if (!has_last || *last >= size)
        *last = size - 1;
    return PML_HTTP_PART;
}
