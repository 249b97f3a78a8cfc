/* SPDX-License-Identifier: Apache-2.0
 * In: the text of a header, hostile or not. Out: type, order and shape.
 * Never reads past the end of the text, and never accepts what it does not know. */
#include "npy_header.h"

#include <stdbool.h>
#include <string.h>

#define AXIS_LIMIT ((uint64_t)1 << 40)

struct cursor {
    const char *at, *end;
};

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r'))
        c->at++;
}

static bool take(struct cursor *c, char wanted)
{
    skip_space(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool take_word(struct cursor *c, const char *word)
{
    size_t length = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

/* A quoted text of at most `room` − 1 characters. */
static bool take_text(struct cursor *c, char *out, size_t room)
{
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    const char quote = *c->at++;
    size_t length = 0;
    for (; c->at < c->end && *c->at != quote; c->at++) {
        if (length + 1 >= room || *c->at < ' ' || *c->at > '~' || *c->at == '\\')
            return false;
        out[length++] = *c->at;
    }
    out[length] = 0;
    return take(c, quote);
}

/* A list of fields: only where it ends matters. Its texts hold no brackets. */
static bool skip_structure(struct cursor *c)
{
    unsigned depth = 0;
    skip_space(c);
    for (; c->at < c->end; c->at++) {
        if (*c->at == '[')
            depth++;
        else if (*c->at == ']' && --depth == 0)
            return c->at++, true;
    }
    return false;
}

static bool take_type(struct cursor *c, struct pml_npy_header *header)
{
    skip_space(c);
    if (c->at < c->end && *c->at == '[') {
        header->type[0] = 0;
        return skip_structure(c);
    }
    return take_text(c, header->type, sizeof header->type) && header->type[0] != 0;
}

static bool take_number(struct cursor *c, uint64_t *number)
{
    skip_space(c);
    const char *start = c->at;
    *number = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        *number = *number * 10 + (uint64_t)(*c->at - '0');
        if (*number >= AXIS_LIMIT)
            return false;
    }
    bool found = c->at > start;
    if (found && c->at < c->end && *c->at == 'L') /* written by Python 2 */
        c->at++;
    return found;
}

static bool take_shape(struct cursor *c, struct pml_npy_header *header)
{
    header->axes = 0;
    if (!take(c, '('))
        return false;
    while (!take(c, ')')) {
        if (header->axes == PML_NPY_AXES_MAX || !take_number(c, &header->shape[header->axes++]))
            return false;
        if (!take(c, ','))
            return take(c, ')') && header->axes > 1; /* a single number needs its comma */
    }
    return true;
}

static bool take_entry(struct cursor *c, struct pml_npy_header *header, unsigned *seen)
{
    char key[16];
    unsigned bit;
    if (!take_text(c, key, sizeof key) || !take(c, ':'))
        return false;
    bool sound = false;
    if (strcmp(key, "descr") == 0) {
        bit = 1;
        sound = take_type(c, header);
    } else if (strcmp(key, "fortran_order") == 0) {
        bit = 2;
        header->fortran_order = take_word(c, "True");
        sound = header->fortran_order || take_word(c, "False");
    } else if (strcmp(key, "shape") == 0) {
        bit = 4;
        sound = take_shape(c, header);
    } else {
        return false;
    }
    sound = sound && (*seen & bit) == 0;
    *seen |= bit;
    return sound;
}

bool pml_npy_parse(const char *text, size_t size, struct pml_npy_header *header)
{
    struct cursor c = {text, text + size};
    unsigned seen = 0;
    *header = (struct pml_npy_header){.axes = 0};
    if (!take(&c, '{'))
        return false;
    while (!take(&c, '}')) {
        if (!take_entry(&c, header, &seen))
            return false;
        if (!take(&c, ',')) {
            if (!take(&c, '}'))
                return false;
            break;
        }
    }
    skip_space(&c);
    return c.at == c.end && seen == 7;
}
