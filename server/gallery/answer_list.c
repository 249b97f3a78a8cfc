/* SPDX-License-Identifier: Apache-2.0
 * In: candidates, or bytes that claim to be a list of an answer. Out: the only encoding of the list (SPEC 3.1, 3.2); or its
 * candidates. Never reads beyond the bytes. */
#include "answer_list.h"
#include "cbor_items.h"

#include <stdlib.h>
#include <string.h>

#define LEB_MAX 10u /* bytes of the longest number in base 128 */

enum { OWN_CLASSES = 1, PAYLOADS = 2 }; /* form of a list of version 2 */

static uint32_t version_of(const pml_pack_info *pack)
{
    return pack->directions > 0 ? 2 : 1;
}

/* ---- writing ---- */

pml_outcome pml_answer_write_header(struct pml_bytes *bytes, const pml_pack_info *pack, uint32_t slots,
                                    uint64_t gallery)
{
    if (pml_bytes_reserve(bytes, 6 * PML_CBOR_HEAD_MAX + PML_ID_SIZE) != PML_DONE)
        return PML_NO_MEMORY;
    pml_cbor_put_array(bytes, 5);
    pml_cbor_put_uint(bytes, version_of(pack));
    pml_cbor_put_string(bytes, pack->id, PML_ID_SIZE);
    pml_cbor_put_uint(bytes, slots);
    pml_cbor_put_uint(bytes, pack->sketch);
    pml_cbor_put_uint(bytes, gallery);
    return PML_DONE;
}

static pml_outcome write_plain(struct pml_bytes *bytes, uint32_t slot, const struct pml_candidate *candidates,
                               size_t count)
{
    if (pml_bytes_reserve(bytes, 3 * PML_CBOR_HEAD_MAX) != PML_DONE)
        return PML_NO_MEMORY;
    pml_cbor_put_array(bytes, 2);
    pml_cbor_put_uint(bytes, slot);
    pml_cbor_put_uint(bytes, count);
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < count && outcome == PML_DONE; i++)
        outcome = pml_candidate_write(bytes, &candidates[i]);
    return outcome;
}

static int by_item(const void *left, const void *right)
{
    const struct pml_candidate *a = left, *b = right;
    return (a->item > b->item) - (a->item < b->item);
}

static bool ascending(const struct pml_candidate *candidates, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (candidates[i - 1].item >= candidates[i].item)
            return false;
    return true;
}

static void put_leb(struct pml_bytes *bytes, uint64_t value)
{
    for (; value > 127; value >>= 7)
        bytes->bytes[bytes->size++] = (uint8_t)(value | 128);
    bytes->bytes[bytes->size++] = (uint8_t)value;
}

static pml_outcome put_candidates(struct pml_bytes *bytes, const struct pml_candidate *candidates, size_t count,
                                  unsigned form, int32_t base)
{
    for (size_t i = 0; i < count; i++) {
        const struct pml_candidate *candidate = &candidates[i];
        if (pml_bytes_reserve(bytes, 3 * LEB_MAX + candidate->sketch_size + candidate->payload_size) != PML_DONE)
            return PML_NO_MEMORY;
        put_leb(bytes, i == 0 ? candidate->item : candidate->item - candidates[i - 1].item - 1);
        if (form & OWN_CLASSES)
            put_leb(bytes, (uint64_t)((int64_t)candidate->label - base));
        memcpy(bytes->bytes + bytes->size, candidate->sketch, candidate->sketch_size);
        bytes->size += candidate->sketch_size;
        if (!(form & PAYLOADS))
            continue;
        put_leb(bytes, candidate->payload_size);
        if (candidate->payload_size > 0)
            memcpy(bytes->bytes + bytes->size, candidate->payload, candidate->payload_size);
        bytes->size += candidate->payload_size;
    }
    return PML_DONE;
}

static pml_outcome write_coded(struct pml_bytes *bytes, uint32_t slot, const struct pml_candidate *candidates,
                               size_t count)
{
    struct pml_bytes string = {0};
    int32_t base = count > 0 ? candidates[0].label : 0;
    unsigned form = 0;
    for (size_t i = 0; i < count; i++) {
        form |= candidates[i].label != candidates[0].label ? OWN_CLASSES : 0;
        form |= candidates[i].payload_size > 0 ? PAYLOADS : 0;
        base = candidates[i].label < base ? candidates[i].label : base;
    }
    pml_outcome outcome = put_candidates(&string, candidates, count, form, base);
    if (outcome == PML_DONE)
        outcome = pml_bytes_reserve(bytes, 6 * PML_CBOR_HEAD_MAX + string.size);
    if (outcome == PML_DONE) {
        pml_cbor_put_array(bytes, 5);
        pml_cbor_put_uint(bytes, slot);
        pml_cbor_put_uint(bytes, count);
        pml_cbor_put_uint(bytes, form);
        pml_cbor_put_label(bytes, base);
        pml_cbor_put_string(bytes, string.bytes, string.size);
    }
    pml_bytes_free(&string);
    return outcome;
}

static pml_outcome write_sorted(struct pml_bytes *bytes, uint32_t slot, const struct pml_candidate *candidates,
                                size_t count)
{
    struct pml_candidate *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return PML_NO_MEMORY;
    memcpy(sorted, candidates, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_item);
    const pml_outcome outcome =
        ascending(sorted, count) ? write_coded(bytes, slot, sorted, count) : PML_DAMAGED; /* one stands there twice */
    free(sorted);
    return outcome;
}

pml_outcome pml_answer_write_list(struct pml_bytes *bytes, const pml_pack_info *pack, uint32_t slot,
                                  const struct pml_candidate *candidates, size_t count)
{
    if (count > PML_CANDIDATES_MAX)
        return PML_DAMAGED;
    for (size_t i = 0; i < count; i++)
        if (candidates[i].sketch_size != pack->sketch || candidates[i].payload_size > PML_PAYLOAD_MAX)
            return PML_DAMAGED;
    if (version_of(pack) == 1)
        return write_plain(bytes, slot, candidates, count);
    return ascending(candidates, count) ? write_coded(bytes, slot, candidates, count)
                                        : write_sorted(bytes, slot, candidates, count);
}

/* ---- reading ---- */

static bool next_number(struct pml_list *list, enum pml_cbor_kind kind, uint64_t most, uint64_t *value)
{
    struct pml_cbor_item item;
    if (!pml_cbor_next(list->bytes, list->size, &list->offset, &item) || item.kind != kind || item.value > most)
        return false;
    *value = item.value;
    return true;
}

/* A reader stops at the end of the list's string, so what follows the list is not taken for candidates. */
static bool open_coded(struct pml_list *list)
{
    struct pml_cbor_item class, string;
    uint64_t form;
    if (!next_number(list, PML_CBOR_UINT, OWN_CLASSES | PAYLOADS, &form) ||
        !pml_cbor_next(list->bytes, list->size, &list->offset, &class) ||
        (class.kind != PML_CBOR_UINT && class.kind != PML_CBOR_NEGATIVE) || class.value > INT32_MAX ||
        !pml_cbor_next(list->bytes, list->size, &list->offset, &string) || string.kind != PML_CBOR_BYTES)
        return false;
    list->form = (uint32_t)form;
    list->base = class.kind == PML_CBOR_NEGATIVE ? -1 - (int32_t) class.value : (int32_t) class.value;
    list->size = list->offset;
    list->offset -= (size_t)string.value;
    return list->left > 0 || string.value == 0;
}

bool pml_list_open(struct pml_list *list, const pml_pack_info *pack, const uint8_t *bytes, size_t size, size_t offset)
{
    uint64_t fields, slot, count;
    *list = (struct pml_list){
        .bytes = bytes, .size = size, .offset = offset, .version = version_of(pack), .sketch = pack->sketch};
    if (!next_number(list, PML_CBOR_ARRAY, 5, &fields) || fields != (list->version == 2 ? 5 : 2) ||
        !next_number(list, PML_CBOR_UINT, pack->slots - 1, &slot) ||
        !next_number(list, PML_CBOR_UINT, PML_CANDIDATES_MAX, &count))
        return false;
    list->slot = (uint32_t)slot;
    list->count = list->left = (uint32_t)count;
    return list->version == 1 || open_coded(list);
}

static bool take_leb(struct pml_list *list, uint64_t *value)
{
    unsigned shift = 0;
    *value = 0;
    for (;; shift += 7) {
        if (list->offset == list->size || shift > 63)
            return false;
        const uint8_t byte = list->bytes[list->offset++];
        if ((shift == 63 && byte > 1) || (shift > 0 && byte == 0))
            return false;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
}

static bool take_string(struct pml_list *list, uint64_t size, const uint8_t **string)
{
    if (size > list->size - list->offset)
        return false;
    *string = list->bytes + list->offset;
    list->offset += (size_t)size;
    return true;
}

static bool next_coded(struct pml_list *list, struct pml_candidate *candidate)
{
    const bool first = list->left == list->count;
    const uint8_t *sketch, *payload = NULL;
    uint64_t item, class = 0, size = 0;
    if (!take_leb(list, &item) || (!first && item >= UINT64_MAX - list->item) ||
        (list->form & OWN_CLASSES && !take_leb(list, &class)) || class > (uint64_t)((int64_t)INT32_MAX - list->base) ||
        !take_string(list, list->sketch, &sketch) || (list->form & PAYLOADS && !take_leb(list, &size)) ||
        size > PML_PAYLOAD_MAX || !take_string(list, size, &payload))
        return false;
    list->item = first ? item : list->item + 1 + item;
    *candidate = (struct pml_candidate){
        .item = list->item,
        .label = (int32_t)(list->base + (int64_t) class),
        .sketch = (const int8_t *)sketch,
        .sketch_size = list->sketch,
        .payload = payload,
        .payload_size = (size_t)size,
    };
    return list->left > 1 || list->offset == list->size;
}

bool pml_list_next(struct pml_list *list, struct pml_candidate *candidate)
{
    if (list->left == 0 ||
        !(list->version == 2 ? next_coded(list, candidate)
                             : pml_candidate_read(list->bytes, list->size, &list->offset, candidate)))
        return false;
    list->left--;
    return true;
}
