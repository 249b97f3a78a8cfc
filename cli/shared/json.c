/* SPDX-License-Identifier: Apache-2.0
 * Writes JSON to stdout, one document per line. */
#include "command.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes of the UTF-8 character at `text`; 0 when it is none. */
static size_t character_length(const unsigned char *text)
{
    unsigned char first = text[0];
    size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    }
    /* overlong forms, surrogates, beyond U+10FFFF */
    if ((first == 0xE0 && text[1] < 0xA0) || (first == 0xED && text[1] >= 0xA0) || (first == 0xF0 && text[1] < 0x90) ||
        (first == 0xF4 && text[1] >= 0x90))
        return 0;
    return length;
}

static void write_text(const char *value)
{
    const unsigned char *at = (const unsigned char *)value;
    putchar('"');
    while (*at != 0) {
        size_t length = character_length(at);
        if (length == 0)
            fputs("\\ufffd", stdout);
        else if (*at == '"' || *at == '\\')
            printf("\\%c", *at);
        else if (*at < 0x20)
            printf("\\u%04x", *at);
        else
            fwrite(at, 1, length, stdout);
        at += length == 0 ? 1 : length;
    }
    putchar('"');
}

static void begin(struct json *json, const char *key)
{
    if (json->comma)
        putchar(',');
    json->comma = true;
    if (key) {
        write_text(key);
        putchar(':');
    }
}

void json_open(struct json *json, const char *key, char bracket)
{
    begin(json, key);
    putchar(bracket);
    json->comma = false;
    json->depth++;
}

void json_close(struct json *json, char bracket)
{
    putchar(bracket);
    json->comma = true;
    if (--json->depth == 0)
        putchar('\n');
}

void json_text(struct json *json, const char *key, const char *value)
{
    begin(json, key);
    if (value)
        write_text(value);
    else
        fputs("null", stdout);
}

void json_number(struct json *json, const char *key, double value)
{
    char text[40];
    begin(json, key);
    if (!isfinite(value)) {
        fputs("null", stdout);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (!(strtod(text, NULL) < value || strtod(text, NULL) > value))
            break;
    }
    fputs(text, stdout);
}

void json_count(struct json *json, const char *key, uint64_t value)
{
    begin(json, key);
    printf("%" PRIu64, value);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
    begin(json, key);
    printf("%" PRId64, value);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin(json, key);
    fputs(value ? "true" : "false", stdout);
}
