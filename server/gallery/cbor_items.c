/* SPDX-License-Identifier: Apache-2.0
 * Single items of CBOR: a head, which has a kind and a number in as few bytes as it needs, and behind the head of a string
 * its bytes. In: bytes that may be damaged. */
#include "cbor_items.h"

#include <string.h>

/* The first three bits of a head are its kind. The other five are the number itself when it is below 24, or say that it
 * follows in 1, 2, 4 or 8 bytes, the most significant first. */
enum { MAJOR_UINT, MAJOR_NEGATIVE, MAJOR_BYTES, MAJOR_TEXT, MAJOR_ARRAY };
enum { SHORT = 24, LONGEST = 27 };

uint64_t pml_cbor_head_size(uint64_t value)
{
    return value < SHORT ? 1 : value <= UINT8_MAX ? 2 : value <= UINT16_MAX ? 3 : value <= UINT32_MAX ? 5 : 9;
}

/* ---- writing ---- */

static void put_head(struct pml_bytes *bytes, unsigned major, uint64_t value)
{
    uint8_t *out = bytes->bytes + bytes->size;
    const size_t size = (size_t)pml_cbor_head_size(value), follow = size - 1;
    const unsigned width = follow == 1 ? 0 : follow == 2 ? 1 : follow == 4 ? 2 : 3;
    out[0] = (uint8_t)(major << 5 | (follow == 0 ? (unsigned)value : SHORT + width));
    for (size_t i = 0; i < follow; i++)
        out[1 + i] = (uint8_t)(value >> 8 * (follow - 1 - i));
    bytes->size += size;
}

void pml_cbor_put_uint(struct pml_bytes *bytes, uint64_t value)
{
    put_head(bytes, MAJOR_UINT, value);
}

void pml_cbor_put_array(struct pml_bytes *bytes, size_t fields)
{
    put_head(bytes, MAJOR_ARRAY, fields);
}

void pml_cbor_put_label(struct pml_bytes *bytes, int32_t label)
{
    if (label < 0)
        put_head(bytes, MAJOR_NEGATIVE, (uint64_t)(-1 - (int64_t)label));
    else
        put_head(bytes, MAJOR_UINT, (uint64_t)label);
}

void pml_cbor_put_string(struct pml_bytes *bytes, const void *string, size_t size)
{
    put_head(bytes, MAJOR_BYTES, size);
    if (size > 0)
        memcpy(bytes->bytes + bytes->size, string, size);
    bytes->size += size;
}

/* ---- reading ---- */

/* The bytes of the head at the front of `bytes`, which are not empty; 0 when there is no whole head, or not the shortest. */
static size_t read_head(const uint8_t *bytes, size_t size, unsigned *major, uint64_t *value)
{
    const unsigned detail = bytes[0] & 31u;
    const size_t follow = detail < SHORT ? 0 : detail <= LONGEST ? (size_t)1 << (detail - SHORT) : size;
    if (follow >= size)
        return 0;
    *major = bytes[0] >> 5;
    *value = follow == 0 ? detail : 0;
    for (size_t i = 0; i < follow; i++)
        *value = *value << 8 | bytes[1 + i];
    return pml_cbor_head_size(*value) == follow + 1 ? follow + 1 : 0;
}

bool pml_cbor_next(const uint8_t *bytes, size_t size, size_t *offset, struct pml_cbor_item *item)
{
    static const enum pml_cbor_kind kinds[8] = {[MAJOR_UINT] = PML_CBOR_UINT,
                                                [MAJOR_NEGATIVE] = PML_CBOR_NEGATIVE,
                                                [MAJOR_BYTES] = PML_CBOR_BYTES,
                                                [MAJOR_ARRAY] = PML_CBOR_ARRAY};
    unsigned major = 0;
    uint64_t value = 0;
    *item = (struct pml_cbor_item){PML_CBOR_OTHER, 0, NULL};
    const size_t head = *offset < size ? read_head(bytes + *offset, size - *offset, &major, &value) : 0;
    if (head == 0 || kinds[major] == PML_CBOR_OTHER)
        return false;
    const bool string = major == MAJOR_BYTES;
    if (string && value > size - *offset - head)
        return false;
    *item = (struct pml_cbor_item){kinds[major], value, string ? bytes + *offset + head : NULL};
    *offset += head + (string ? (size_t)value : 0);
    return true;
}
