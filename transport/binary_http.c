/* SPDX-License-Identifier: Apache-2.0
 * In: Binary HTTP from whoever knows the gateway's public key. Never reads beyond it; pieces point into it. */
#include "binary_http.h"

#include "core/base/base.h"

/* ---- reading ---- */

static const uint8_t *take(pml_binary_reader *reader, uint64_t size)
{
    if (reader->failed || size > reader->left) {
        reader->failed = true;
        return NULL;
    }
    const uint8_t *bytes = reader->at;
    reader->at += size;
    reader->left -= (size_t)size;
    return bytes;
}

uint64_t pml_binary_read_varint(pml_binary_reader *reader)
{
    const uint8_t *first = take(reader, 1);
    if (!first)
        return 0;
    const unsigned more = (1u << (*first >> 6)) - 1;
    const uint8_t *rest = take(reader, more);
    uint64_t value = *first & 0x3F;
    for (unsigned i = 0; rest && i < more; i++)
        value = value << 8 | rest[i];
    return value;
}

static pml_piece read_piece(pml_binary_reader *reader)
{
    const uint64_t size = pml_binary_read_varint(reader);
    const uint8_t *bytes = take(reader, size);
    return (pml_piece){bytes, bytes ? (size_t)size : 0};
}

/* A sender may cut off empty sections at the end (section 3.8). */
static pml_piece read_section(pml_binary_reader *reader)
{
    return reader->left == 0 ? (pml_piece){NULL, 0} : read_piece(reader);
}

/* Fields: names and values in turn, no name empty. */
static pml_piece read_fields(pml_binary_reader *reader)
{
    const pml_piece fields = read_section(reader);
    pml_binary_reader inside = {fields.bytes, fields.size, false};
    while (inside.left > 0 && !inside.failed) {
        if (read_piece(&inside).size == 0)
            inside.failed = true;
        (void)read_piece(&inside);
    }
    reader->failed = reader->failed || inside.failed;
    return fields;
}

bool pml_binary_zeros(const uint8_t *bytes, size_t size)
{
    uint8_t any = 0;
    for (size_t i = 0; i < size; i++)
        any |= bytes[i];
    return any == 0;
}

/* What comes after the content: trailers, then padding. */
static bool read_end(pml_binary_reader *reader)
{
    (void)read_fields(reader);
    return !reader->failed && pml_binary_zeros(reader->at, reader->left);
}

pml_status pml_binary_request_read(const void *bytes, size_t size, pml_binary_request *request)
{
    if (!request)
        return PML_ERROR_ARGUMENT;
    *request = (pml_binary_request){0};
    if (!bytes)
        return PML_ERROR_ARGUMENT;
    pml_binary_reader reader = {bytes, size, false};
    pml_binary_request read;
    if (pml_binary_read_varint(&reader) != HTTP_KNOWN_REQUEST)
        return PML_ERROR_SEALED;
    read.method = read_piece(&reader);
    read.scheme = read_piece(&reader);
    read.authority = read_piece(&reader);
    read.path = read_piece(&reader);
    read.fields = read_fields(&reader);
    read.content = read_section(&reader);
    if (!read_end(&reader) || read.method.size == 0)
        return PML_ERROR_SEALED;
    *request = read;
    return PML_OK;
}

pml_status pml_binary_response_read(const void *bytes, size_t size, pml_binary_response *response)
{
    if (!response)
        return PML_ERROR_ARGUMENT;
    *response = (pml_binary_response){0};
    if (!bytes)
        return PML_ERROR_ARGUMENT;
    pml_binary_reader reader = {bytes, size, false};
    if (pml_binary_read_varint(&reader) != HTTP_KNOWN_RESPONSE)
        return PML_ERROR_SEALED;
    uint64_t status = pml_binary_read_varint(&reader);
    while (!reader.failed && status >= 100 && status <= 199) {
        (void)read_fields(&reader);
        status = pml_binary_read_varint(&reader);
    }
    const pml_piece fields = read_fields(&reader), content = read_section(&reader);
    if (!read_end(&reader) || !pml_binary_is_final(status))
        return PML_ERROR_SEALED;
    *response = (pml_binary_response){(unsigned)status, fields, content};
    return PML_OK;
}

static bool is_called(pml_piece piece, const char *name)
{
    const uint8_t *bytes = piece.bytes;
    for (size_t i = 0; i < piece.size; i++) {
        if (name[i] == 0 || bytes[i] != (uint8_t)name[i])
            return false;
    }
    return name[piece.size] == 0;
}

pml_piece pml_binary_field(pml_piece fields, const char *name)
{
    pml_binary_reader reader = {fields.bytes, fields.size, false};
    while (reader.left > 0 && !reader.failed) {
        const pml_piece key = read_piece(&reader), value = read_piece(&reader);
        if (!reader.failed && is_called(key, name))
            return value;
    }
    return (pml_piece){NULL, 0};
}

/* ---- writing ---- */

struct writer {
    uint8_t *at;
    size_t left;
    bool failed;
};

static void put(struct writer *writer, const void *bytes, size_t size)
{
    if (writer->failed || size > writer->left) {
        writer->failed = true;
        return;
    }
    if (size > 0)
        memcpy(writer->at, bytes, size);
    writer->at += size;
    writer->left -= size;
}

/* In its shortest form. */
static void put_varint(struct writer *writer, uint64_t value)
{
    const unsigned log = value < 0x40 ? 0 : value < 0x4000 ? 1 : value < 0x40000000 ? 2 : 3, size = 1u << log;
    uint8_t bytes[HTTP_VARINT_MAX];
    for (unsigned i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
    bytes[0] |= (uint8_t)(log << 6);
    put(writer, bytes, size);
}

static void put_piece(struct writer *writer, pml_piece piece)
{
    put_varint(writer, piece.size);
    put(writer, piece.bytes, piece.size);
}

pml_status pml_binary_request_write(const pml_binary_request *request, uint8_t *out, size_t capacity, size_t *written)
{
    if (!request || !out || !written)
        return PML_ERROR_ARGUMENT;
    struct writer writer = {out, capacity, false};
    put_varint(&writer, HTTP_KNOWN_REQUEST);
    put_piece(&writer, request->method);
    put_piece(&writer, request->scheme);
    put_piece(&writer, request->authority);
    put_piece(&writer, request->path);
    put_piece(&writer, request->fields);
    put_piece(&writer, request->content);
    put_varint(&writer, 0); /* no trailers */
    *written = writer.failed ? 0 : capacity - writer.left;
    if (!writer.failed)
        return PML_OK;
    pml_wipe(out, capacity);
    return PML_ERROR_BUFFER;
}

pml_status pml_binary_response_write(const pml_binary_response *response, uint8_t *out, size_t capacity)
{
    if (!response || !out || !pml_binary_is_final(response->status))
        return PML_ERROR_ARGUMENT;
    struct writer writer = {out, capacity, false};
    put_varint(&writer, HTTP_KNOWN_RESPONSE);
    put_varint(&writer, response->status);
    put_piece(&writer, response->fields);
    put_piece(&writer, response->content);
    put_varint(&writer, 0);
    if (writer.failed) {
        pml_wipe(out, capacity);
        return PML_ERROR_BUFFER;
    }
    memset(writer.at, 0, writer.left);
    return PML_OK;
}

size_t pml_binary_response_head(uint8_t *head, unsigned status, size_t content_size)
{
    struct writer writer = {head, HTTP_RESPONSE_HEAD_MAX, false};
    put_varint(&writer, HTTP_KNOWN_RESPONSE);
    put_varint(&writer, status);
    put_varint(&writer, 0); /* no fields */
    put_varint(&writer, content_size);
    return HTTP_RESPONSE_HEAD_MAX - writer.left;
}

size_t pml_binary_response_size(size_t content_size)
{
    uint8_t head[HTTP_RESPONSE_HEAD_MAX];
    return pml_binary_response_head(head, 200, content_size) + content_size + 1;
}
