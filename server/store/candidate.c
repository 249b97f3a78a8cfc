/* SPDX-License-Identifier: Apache-2.0
 * In: candidates and heads of answers; or bytes that claim to be a candidate, from anybody. Out: their only encoding
 * (SPEC 3); or the candidate. Never reads beyond the bytes, and accepts no encoding that it would not write. */
#include "candidate.h"

#include <cbor.h>
#include <string.h>

#define HEAD_MAX 9u /* bytes of the longest head */
#define FIELDS 4u   /* of a candidate */

/* ---- writing ---- */

/* libcbor's encoders choose the shortest head. These write without asking for room: their callers have made some. */
static void put_uint(struct pml_bytes *bytes, uint64_t value)
{
    bytes->size += cbor_encode_uint(value, bytes->bytes + bytes->size, HEAD_MAX);
}

static void put_array(struct pml_bytes *bytes, size_t fields)
{
    bytes->size += cbor_encode_array_start(fields, bytes->bytes + bytes->size, HEAD_MAX);
}

static void put_label(struct pml_bytes *bytes, int32_t label)
{
    if (label < 0)
        bytes->size += cbor_encode_negint((uint64_t)(-1 - (int64_t)label), bytes->bytes + bytes->size, HEAD_MAX);
    else
        put_uint(bytes, (uint64_t)label);
}

static void put_string(struct pml_bytes *bytes, const void *string, size_t size)
{
    bytes->size += cbor_encode_bytestring_start(size, bytes->bytes + bytes->size, HEAD_MAX);
    if (size > 0)
        memcpy(bytes->bytes + bytes->size, string, size);
    bytes->size += size;
}

pml_outcome pml_candidate_write(struct pml_bytes *bytes, const struct pml_candidate *candidate)
{
    if (pml_bytes_reserve(bytes, (FIELDS + 1) * HEAD_MAX + candidate->sketch_size + candidate->payload_size) !=
        PML_DONE)
        return PML_NO_MEMORY;
    put_array(bytes, FIELDS);
    put_uint(bytes, candidate->item);
    put_label(bytes, candidate->label);
    put_string(bytes, candidate->sketch, candidate->sketch_size);
    put_string(bytes, candidate->payload, candidate->payload_size);
    return PML_DONE;
}

pml_outcome pml_answer_write_header(struct pml_bytes *bytes, const uint8_t id[PML_ID_SIZE], uint32_t slots,
                                    uint32_t sketch, uint64_t gallery)
{
    if (pml_bytes_reserve(bytes, 6 * HEAD_MAX + PML_ID_SIZE) != PML_DONE)
        return PML_NO_MEMORY;
    put_array(bytes, 5);
    put_uint(bytes, 1);
    put_string(bytes, id, PML_ID_SIZE);
    put_uint(bytes, slots);
    put_uint(bytes, sketch);
    put_uint(bytes, gallery);
    return PML_DONE;
}

pml_outcome pml_answer_write_slot(struct pml_bytes *bytes, uint32_t slot, uint32_t count)
{
    if (pml_bytes_reserve(bytes, 3 * HEAD_MAX) != PML_DONE)
        return PML_NO_MEMORY;
    put_array(bytes, 2);
    put_uint(bytes, slot);
    put_uint(bytes, count);
    return PML_DONE;
}

/* ---- reading ---- */

enum kind { OTHER, UINT, NEGATIVE, BYTES, ARRAY };

/* One item of CBOR: a number, a length, or a string and its length. */
struct item {
    enum kind kind;
    uint64_t value;
    const uint8_t *string;
};

static void take_uint8(void *item, uint8_t value)
{
    *(struct item *)item = (struct item){UINT, value, NULL};
}

static void take_uint16(void *item, uint16_t value)
{
    *(struct item *)item = (struct item){UINT, value, NULL};
}

static void take_uint32(void *item, uint32_t value)
{
    *(struct item *)item = (struct item){UINT, value, NULL};
}

static void take_uint64(void *item, uint64_t value)
{
    *(struct item *)item = (struct item){UINT, value, NULL};
}

static void take_negative8(void *item, uint8_t value)
{
    *(struct item *)item = (struct item){NEGATIVE, value, NULL};
}

static void take_negative16(void *item, uint16_t value)
{
    *(struct item *)item = (struct item){NEGATIVE, value, NULL};
}

static void take_negative32(void *item, uint32_t value)
{
    *(struct item *)item = (struct item){NEGATIVE, value, NULL};
}

static void take_string(void *item, cbor_data string, size_t size)
{
    *(struct item *)item = (struct item){BYTES, size, string};
}

static void take_array(void *item, size_t fields)
{
    *(struct item *)item = (struct item){ARRAY, fields, NULL};
}

/* Reads the item at *offset and moves *offset behind it. False when there is none, or its head is not the shortest. */
static bool next(const uint8_t *bytes, size_t size, size_t *offset, struct item *item)
{
    struct cbor_callbacks callbacks = cbor_empty_callbacks; /* what is not named below stays OTHER */
    callbacks.uint8 = take_uint8;
    callbacks.uint16 = take_uint16;
    callbacks.uint32 = take_uint32;
    callbacks.uint64 = take_uint64;
    callbacks.negint8 = take_negative8;
    callbacks.negint16 = take_negative16;
    callbacks.negint32 = take_negative32;
    callbacks.byte_string = take_string;
    callbacks.array_start = take_array;
    *item = (struct item){OTHER, 0, NULL};
    struct cbor_decoder_result result = cbor_stream_decode(bytes + *offset, size - *offset, &callbacks, item);
    if (result.status != CBOR_DECODER_FINISHED || item->kind == OTHER)
        return false;
    uint8_t shortest[HEAD_MAX];
    size_t head = result.read - (item->kind == BYTES ? (size_t)item->value : 0);
    if (head != cbor_encode_uint(item->value, shortest, sizeof shortest))
        return false;
    *offset += result.read;
    return true;
}

bool pml_candidate_read(const uint8_t *bytes, size_t size, size_t *offset, struct pml_candidate *candidate)
{
    struct item array, item, label, sketch, payload;
    size_t at = *offset;
    if (at > size || !next(bytes, size, &at, &array) || array.kind != ARRAY || array.value != FIELDS ||
        !next(bytes, size, &at, &item) || item.kind != UINT || !next(bytes, size, &at, &label) ||
        (label.kind != UINT && label.kind != NEGATIVE) || label.value > INT32_MAX || !next(bytes, size, &at, &sketch) ||
        sketch.kind != BYTES || sketch.value > PML_SKETCH_MAX || !next(bytes, size, &at, &payload) ||
        payload.kind != BYTES || payload.value > PML_PAYLOAD_MAX)
        return false;
    *candidate = (struct pml_candidate){
        .item = item.value,
        .label = label.kind == NEGATIVE ? -1 - (int32_t)label.value : (int32_t)label.value,
        .sketch = (const int8_t *)sketch.string,
        .sketch_size = (size_t)sketch.value,
        .payload = payload.string,
        .payload_size = (size_t)payload.value,
    };
    *offset = at;
    return true;
}
