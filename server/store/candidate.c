/* SPDX-License-Identifier: Apache-2.0
 * In: candidates and heads of answers; or bytes that claim to be a candidate, from anybody. Out: their only encoding
 * (SPEC 3); or the candidate. Never reads beyond the bytes, and accepts no encoding that it would not write. */
#include "candidate.h"

#include <string.h>

enum { UINT = 0, NEGATIVE = 1, BYTES = 2, ARRAY = 4 }; /* major types of CBOR */
enum { HEAD_MAX = 9 /* bytes of the longest head */, FIELDS = 4 /* of a candidate */ };

/* The exponent of a head's length: a value is in the head's first byte (−1), or in the 2^length bytes that follow it. */
static int length_of(uint64_t value)
{
    return value < 24 ? -1 : value <= UINT8_MAX ? 0 : value <= UINT16_MAX ? 1 : value <= UINT32_MAX ? 2 : 3;
}

/* ---- writing: the callers have made room ---- */

static void put_head(struct pml_bytes *bytes, unsigned major, uint64_t value)
{
    const int length = length_of(value);
    uint8_t *at = bytes->bytes + bytes->size;
    *at++ = (uint8_t)(major << 5 | (length < 0 ? (unsigned)value : 24u + (unsigned)length));
    for (int left = length < 0 ? 0 : 1 << length; left > 0; left--)
        *at++ = (uint8_t)(value >> 8 * (left - 1));
    bytes->size = (size_t)(at - bytes->bytes);
}

static void put_string(struct pml_bytes *bytes, const void *string, size_t size)
{
    put_head(bytes, BYTES, size);
    if (size > 0)
        memcpy(bytes->bytes + bytes->size, string, size);
    bytes->size += size;
}

pml_outcome pml_candidate_write(struct pml_bytes *bytes, const struct pml_candidate *candidate)
{
    const int64_t label = candidate->label;
    if (pml_bytes_reserve(bytes, (FIELDS + 1) * HEAD_MAX + candidate->sketch_size + candidate->payload_size) !=
        PML_DONE)
        return PML_NO_MEMORY;
    put_head(bytes, ARRAY, FIELDS);
    put_head(bytes, UINT, candidate->item);
    put_head(bytes, label < 0 ? NEGATIVE : UINT, (uint64_t)(label < 0 ? -1 - label : label));
    put_string(bytes, candidate->sketch, candidate->sketch_size);
    put_string(bytes, candidate->payload, candidate->payload_size);
    return PML_DONE;
}

pml_outcome pml_answer_write_header(struct pml_bytes *bytes, const uint8_t id[PML_ID_SIZE], uint32_t slots,
                                    uint32_t sketch, uint64_t gallery)
{
    if (pml_bytes_reserve(bytes, 6 * HEAD_MAX + PML_ID_SIZE) != PML_DONE)
        return PML_NO_MEMORY;
    put_head(bytes, ARRAY, 5);
    put_head(bytes, UINT, 1);
    put_string(bytes, id, PML_ID_SIZE);
    put_head(bytes, UINT, slots);
    put_head(bytes, UINT, sketch);
    put_head(bytes, UINT, gallery);
    return PML_DONE;
}

pml_outcome pml_answer_write_slot(struct pml_bytes *bytes, uint32_t slot, uint32_t count)
{
    if (pml_bytes_reserve(bytes, 3 * HEAD_MAX) != PML_DONE)
        return PML_NO_MEMORY;
    put_head(bytes, ARRAY, 2);
    put_head(bytes, UINT, slot);
    put_head(bytes, UINT, count);
    return PML_DONE;
}

/* ---- reading ---- */

/* What is left of the bytes. */
struct rest {
    const uint8_t *at, *end;
};

/* A head in its shortest form. */
static bool take_head(struct rest *rest, unsigned *major, uint64_t *value)
{
    if (rest->at == rest->end || (*rest->at & 31) > 27)
        return false;
    const int length = (*rest->at & 31) < 24 ? -1 : (*rest->at & 31) - 24;
    *major = *rest->at >> 5;
    *value = length < 0 ? *rest->at & 31 : 0;
    rest->at++;
    for (int left = length < 0 ? 0 : 1 << length; left > 0; left--) {
        if (rest->at == rest->end)
            return false;
        *value = *value << 8 | *rest->at++;
    }
    return length == length_of(*value);
}

/* A value that is at most `most`, in a head of this major type. */
static bool take_value(struct rest *rest, unsigned wanted, uint64_t most, uint64_t *value)
{
    unsigned major;
    return take_head(rest, &major, value) && major == wanted && *value <= most;
}

static bool take_string(struct rest *rest, uint64_t most, const uint8_t **string, size_t *size)
{
    uint64_t length;
    if (!take_value(rest, BYTES, most, &length) || length > (uint64_t)(rest->end - rest->at))
        return false;
    *string = rest->at;
    *size = (size_t)length;
    rest->at += *size;
    return true;
}

static bool take_label(struct rest *rest, int32_t *label)
{
    unsigned major;
    uint64_t value;
    if (!take_head(rest, &major, &value) || (major != UINT && major != NEGATIVE) || value > INT32_MAX)
        return false;
    *label = major == NEGATIVE ? -1 - (int32_t)value : (int32_t)value;
    return true;
}

bool pml_candidate_read(const uint8_t *bytes, size_t size, size_t *offset, struct pml_candidate *candidate)
{
    if (*offset >= size)
        return false;
    struct rest rest = {bytes + *offset, bytes + size};
    struct pml_candidate found;
    const uint8_t *sketch;
    uint64_t fields;
    if (!take_value(&rest, ARRAY, FIELDS, &fields) || fields != FIELDS ||
        !take_value(&rest, UINT, UINT64_MAX, &found.item) || !take_label(&rest, &found.label) ||
        !take_string(&rest, PML_SKETCH_MAX, &sketch, &found.sketch_size) ||
        !take_string(&rest, PML_PAYLOAD_MAX, &found.payload, &found.payload_size))
        return false;
    found.sketch = (const int8_t *)sketch;
    *candidate = found;
    *offset = (size_t)(rest.at - bytes);
    return true;
}
