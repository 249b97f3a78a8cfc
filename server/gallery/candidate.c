/* SPDX-License-Identifier: Apache-2.0
 * In: candidates; or bytes that claim to be a candidate, from anybody. Out: their only encoding (SPEC 3.1); or the
 * candidate. Never reads beyond the bytes, and accepts no encoding that it would not write. */
#include "candidate.h"
#include "cbor_items.h"

#define FIELDS 4u /* of a candidate */

pml_outcome pml_candidate_write(struct pml_bytes *bytes, const struct pml_candidate *candidate)
{
    if (pml_bytes_reserve(bytes, (FIELDS + 1) * PML_CBOR_HEAD_MAX + candidate->sketch_size + candidate->payload_size) !=
        PML_DONE)
        return PML_NO_MEMORY;
    pml_cbor_put_array(bytes, FIELDS);
    pml_cbor_put_uint(bytes, candidate->item);
    pml_cbor_put_label(bytes, candidate->label);
    pml_cbor_put_string(bytes, candidate->sketch, candidate->sketch_size);
    pml_cbor_put_string(bytes, candidate->payload, candidate->payload_size);
    return PML_DONE;
}

bool pml_candidate_read(const uint8_t *bytes, size_t size, size_t *offset, struct pml_candidate *candidate)
{
    struct pml_cbor_item array, item, label, sketch, payload;
    size_t at = *offset;
    if (at > size || !pml_cbor_next(bytes, size, &at, &array) || array.kind != PML_CBOR_ARRAY ||
        array.value != FIELDS || !pml_cbor_next(bytes, size, &at, &item) || item.kind != PML_CBOR_UINT ||
        !pml_cbor_next(bytes, size, &at, &label) || (label.kind != PML_CBOR_UINT && label.kind != PML_CBOR_NEGATIVE) ||
        label.value > INT32_MAX || !pml_cbor_next(bytes, size, &at, &sketch) || sketch.kind != PML_CBOR_BYTES ||
        sketch.value > PML_SKETCH_MAX || !pml_cbor_next(bytes, size, &at, &payload) || payload.kind != PML_CBOR_BYTES ||
        payload.value > PML_PAYLOAD_MAX)
        return false;
    *candidate = (struct pml_candidate){
        .item = item.value,
        .label = label.kind == PML_CBOR_NEGATIVE ? -1 - (int32_t)label.value : (int32_t)label.value,
        .sketch = (const int8_t *)sketch.string,
        .sketch_size = (size_t)sketch.value,
        .payload = payload.string,
        .payload_size = (size_t)payload.value,
    };
    *offset = at;
    return true;
}
