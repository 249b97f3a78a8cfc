/* SPDX-License-Identifier: Apache-2.0
 * Single items of CBOR, by libcbor, whose encoders choose the shortest head. */
#include "cbor_items.h"

#include <cbor.h>
#include <string.h>

uint64_t pml_cbor_head_size(uint64_t value)
{
    return value < 24 ? 1 : value <= UINT8_MAX ? 2 : value <= UINT16_MAX ? 3 : value <= UINT32_MAX ? 5 : 9;
}

/* ---- writing ---- */

void pml_cbor_put_uint(struct pml_bytes *bytes, uint64_t value)
{
    bytes->size += cbor_encode_uint(value, bytes->bytes + bytes->size, PML_CBOR_HEAD_MAX);
}

void pml_cbor_put_array(struct pml_bytes *bytes, size_t fields)
{
    bytes->size += cbor_encode_array_start(fields, bytes->bytes + bytes->size, PML_CBOR_HEAD_MAX);
}

void pml_cbor_put_label(struct pml_bytes *bytes, int32_t label)
{
    if (label < 0)
        bytes->size +=
            cbor_encode_negint((uint64_t)(-1 - (int64_t)label), bytes->bytes + bytes->size, PML_CBOR_HEAD_MAX);
    else
        pml_cbor_put_uint(bytes, (uint64_t)label);
}

void pml_cbor_put_string(struct pml_bytes *bytes, const void *string, size_t size)
{
    bytes->size += cbor_encode_bytestring_start(size, bytes->bytes + bytes->size, PML_CBOR_HEAD_MAX);
    if (size > 0)
        memcpy(bytes->bytes + bytes->size, string, size);
    bytes->size += size;
}

/* ---- reading ---- */

static void take_uint8(void *item, uint8_t value)
{
    *(struct pml_cbor_item *)item = (struct pml_cbor_item){PML_CBOR_UINT, value, NULL};
}

static void take_uint16(void *item, uint16_t value)
{
    *(struct pml_cbor_item *)item = (struct pml_cbor_item){PML_CBOR_UINT, value, NULL};
}

static void take_uint32(void *item, uint32_t value)
{
    *(struct pml_cbor_item *)item = (struct pml_cbor_item){PML_CBOR_UINT, value, NULL};
}

static void take_uint64(void *item, uint64_t value)
{
    *(struct pml_cbor_item *)item = (struct pml_cbor_item){PML_CBOR_UINT, value, NULL};
}

static void take_negative8(void *item, uint8_t value)
{
    *(struct pml_cbor_item *)item = (struct pml_cbor_item){PML_CBOR_NEGATIVE, value, NULL};
}

static void take_negative16(void *item, uint16_t value)
{
    *(struct pml_cbor_item *)item = (struct pml_cbor_item){PML_CBOR_NEGATIVE, value, NULL};
}

static void take_negative32(void *item, uint32_t value)
{
    *(struct pml_cbor_item *)item = (struct pml_cbor_item){PML_CBOR_NEGATIVE, value, NULL};
}

static void take_string(void *item, cbor_data string, size_t size)
{
    *(struct pml_cbor_item *)item = (struct pml_cbor_item){PML_CBOR_BYTES, size, string};
}

static void take_array(void *item, size_t fields)
{
    *(struct pml_cbor_item *)item = (struct pml_cbor_item){PML_CBOR_ARRAY, fields, NULL};
}

bool pml_cbor_next(const uint8_t *bytes, size_t size, size_t *offset, struct pml_cbor_item *item)
{
    struct cbor_callbacks callbacks = cbor_empty_callbacks; /* what is not named below stays PML_CBOR_OTHER */
    callbacks.uint8 = take_uint8;
    callbacks.uint16 = take_uint16;
    callbacks.uint32 = take_uint32;
    callbacks.uint64 = take_uint64;
    callbacks.negint8 = take_negative8;
    callbacks.negint16 = take_negative16;
    callbacks.negint32 = take_negative32;
    callbacks.byte_string = take_string;
    callbacks.array_start = take_array;
    *item = (struct pml_cbor_item){PML_CBOR_OTHER, 0, NULL};
    if (*offset >= size)
        return false;
    struct cbor_decoder_result result = cbor_stream_decode(bytes + *offset, size - *offset, &callbacks, item);
    if (result.status != CBOR_DECODER_FINISHED || item->kind == PML_CBOR_OTHER)
        return false;
    uint8_t shortest[PML_CBOR_HEAD_MAX];
    size_t head = result.read - (item->kind == PML_CBOR_BYTES ? (size_t)item->value : 0);
    if (head != cbor_encode_uint(item->value, shortest, sizeof shortest))
        return false;
    *offset += result.read;
    return true;
}
