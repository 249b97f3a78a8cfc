/* SPDX-License-Identifier: Apache-2.0
 * The client's side of answers (SPEC 10.4): opens them as a stream, in the memory of one chunk.
 * In: bytes from anybody. Never hands out a byte before the tag of its chunk is checked. */
#include "binary_http.h"
#include "capsule.h"

#include "core/base/base.h"

/* 0 is an opening that has not begun, failed, or ended. */
enum { CLOSED, NONCE, LENGTH, CHUNK, DONE };

static void close_and_wipe(pml_open *open)
{
    if (open->buffer)
        pml_wipe(open->buffer, PML_OPEN_BUFFER);
    pml_wipe(open, sizeof *open);
}

pml_status pml_open_begin(pml_open *open, const pml_crypto *crypto, const pml_opener *opener, void *buffer,
                          size_t capacity, uint64_t answer_size)
{
    if (!open)
        return PML_ERROR_ARGUMENT;
    *open = (pml_open){0};
    if (!crypto || !opener || !buffer)
        return PML_ERROR_ARGUMENT;
    if (capacity < PML_OPEN_BUFFER)
        return PML_ERROR_MEMORY;
    if (opener->aead != PML_AEAD_CHACHA20_POLY1305 || !pml_aead_find(crypto, PML_AEAD_CHACHA20_POLY1305))
        return PML_ERROR_KEYS;
    /* The least answer has one byte of plaintext. What it has more is chunks, and more of the last one. */
    const uint64_t least = CAPSULE_NONCE_MAX + 1 + 1 + CAPSULE_TAG;
    if (answer_size < least || answer_size - least > (uint64_t)ANSWER_PLAINTEXT_MAX / PML_CHUNK_SIZE * CHUNK_STEP)
        return PML_ERROR_SEALED;
    const uint32_t last = (uint32_t)((answer_size - least) % CHUNK_STEP) + 1;
    if (last > PML_CHUNK_SIZE)
        return PML_ERROR_SEALED;
    open->crypto = crypto;
    open->buffer = buffer;
    open->opener = *opener;
    open->left = answer_size;
    open->chunks = (uint32_t)((answer_size - least) / CHUNK_STEP) + 1;
    open->last = last;
    open->step = NONCE;
    return PML_OK;
}

static bool is_last(const pml_open *open)
{
    return open->chunk + 1 == open->chunks;
}

static uint32_t plaintext_size(const pml_open *open)
{
    return is_last(open) ? open->last : PML_CHUNK_SIZE;
}

/* Bytes that the present step collects. */
static uint32_t wanted(const pml_open *open)
{
    switch (open->step) {
    case NONCE:
        return CAPSULE_NONCE_MAX;
    case LENGTH:
        return is_last(open) ? 1 : 2;
    default:
        return plaintext_size(open) + CAPSULE_TAG;
    }
}

static bool derive_keys(pml_open *open)
{
    const pml_aead *aead = pml_aead_find(open->crypto, PML_AEAD_CHACHA20_POLY1305);
    const int failed = pml_response_keys(open->crypto, aead, &open->opener, open->buffer, open->key, open->nonce);
    pml_opener_wipe(&open->opener);
    return failed == 0;
}

static bool length_is_right(const pml_open *open)
{
    const uint8_t *length = open->buffer;
    return is_last(open) ? length[0] == 0 : length[0] == CHUNK_LENGTH_HIGH && length[1] == CHUNK_LENGTH_LOW;
}

static bool open_chunk(const pml_open *open, uint32_t size)
{
    const pml_aead *aead = pml_aead_find(open->crypto, PML_AEAD_CHACHA20_POLY1305);
    const pml_piece aad = pml_chunk_aad(is_last(open));
    uint8_t nonce[PML_AEAD_NONCE_SIZE];
    pml_chunk_nonce(nonce, open->nonce, open->chunk);
    const int failed = aead->open(open->key, nonce, aad.bytes, aad.size, open->buffer, size, open->buffer + size);
    pml_wipe(nonce, sizeof nonce);
    return failed == 0;
}

/* Reads what stands in front of the content, all of it in the first chunk. Returns its length, or 0 when it is not what
 * SPEC 10.4 says or the content does not fit into the answer. */
static uint32_t read_head(pml_open *open, uint32_t size)
{
    pml_binary_reader reader = {open->buffer, size, false};
    const uint64_t framing = pml_binary_read_varint(&reader), status = pml_binary_read_varint(&reader);
    const uint64_t fields = pml_binary_read_varint(&reader), content = pml_binary_read_varint(&reader);
    const uint64_t after = (uint64_t)(open->chunks - 1) * PML_CHUNK_SIZE + open->last - size; /* of later chunks */
    if (reader.failed || framing != HTTP_KNOWN_RESPONSE || !pml_binary_is_final(status) || fields != 0 ||
        content >= reader.left + after) /* a byte for the trailers is needed too */
        return 0;
    open->status = (uint16_t)status;
    open->content = content;
    return size - (uint32_t)reader.left;
}

/* Hands out what the chunk has of the content. After it there are only zeros: empty trailers, then padding. */
static pml_status hand_out(pml_open *open, uint32_t size, pml_sink_fn sink, void *context)
{
    const uint32_t head = open->chunk == 0 ? read_head(open, size) : 0;
    if (open->chunk == 0 && head == 0)
        return PML_ERROR_SEALED;
    const uint8_t *bytes = open->buffer + head;
    const uint32_t rest = size - head, part = open->content < rest ? (uint32_t)open->content : rest;
    if (!pml_binary_zeros(bytes + part, rest - part))
        return PML_ERROR_SEALED;
    open->content -= part;
    return part > 0 ? sink(context, bytes, part) : PML_OK;
}

static pml_status finish_chunk(pml_open *open, pml_sink_fn sink, void *context)
{
    const uint32_t size = plaintext_size(open);
    if (!open_chunk(open, size))
        return PML_ERROR_SEALED;
    const pml_status status = hand_out(open, size, sink, context);
    open->step = is_last(open) ? DONE : LENGTH;
    open->chunk++;
    return status;
}

/* A step has all its bytes. */
static pml_status finish_step(pml_open *open, pml_sink_fn sink, void *context)
{
    open->filled = 0;
    switch (open->step) {
    case NONCE:
        open->step = LENGTH;
        return derive_keys(open) ? PML_OK : PML_ERROR_SEALED;
    case LENGTH:
        open->step = CHUNK;
        return length_is_right(open) ? PML_OK : PML_ERROR_SEALED;
    default:
        return finish_chunk(open, sink, context);
    }
}

pml_status pml_open_feed(pml_open *open, const void *bytes, size_t size, pml_sink_fn sink, void *context)
{
    if (!open || (!bytes && size > 0) || !sink)
        return PML_ERROR_ARGUMENT;
    if (open->step == CLOSED)
        return PML_ERROR_STATE;
    const uint8_t *at = bytes;
    pml_status status = size > open->left ? PML_ERROR_SEALED : PML_OK;
    while (size > 0 && status == PML_OK) {
        const uint32_t missing = wanted(open) - open->filled, part = size < missing ? (uint32_t)size : missing;
        memcpy(open->buffer + open->filled, at, part);
        open->filled += part;
        open->left -= part;
        at += part;
        size -= part;
        if (part == missing)
            status = finish_step(open, sink, context);
    }
    if (status != PML_OK)
        close_and_wipe(open);
    return status;
}

unsigned pml_open_status(const pml_open *open)
{
    return open ? open->status : 0;
}

pml_status pml_open_end(pml_open *open, unsigned *status)
{
    if (status)
        *status = 0;
    if (!open || !status)
        return PML_ERROR_ARGUMENT;
    if (open->step == CLOSED)
        return PML_ERROR_STATE;
    const bool whole = open->step == DONE;
    if (whole)
        *status = open->status;
    close_and_wipe(open);
    return whole ? PML_OK : PML_ERROR_SEALED;
}
