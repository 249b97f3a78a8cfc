/* SPDX-License-Identifier: Apache-2.0
 * Reads an answer as it streams in (SPEC 3). In: hostile bytes in pieces of any length. Out: candidates, one by one, to
 * the shortlist. What it accepts depends on the pack and the bytes only, never on the query. */
#include "answer.h"

enum field {
    HEADER,
    VERSION,
    ID,
    SLOTS,
    SKETCH_LENGTH,
    GALLERY, /* once */
    SLOT_HEAD,
    SLOT,
    COUNT, /* per slot */
    CANDIDATE,
    ITEM,
    LABEL,
    SKETCH,
    PAYLOAD, /* per candidate */
    END
};

enum { UINT = 0, NEGATIVE = 1, BYTES = 2, ARRAY = 4 };

void pml_answer_start(struct answer *answer, bool one)
{
    memset(answer, 0, sizeof *answer);
    answer->open = true;
    answer->one = one;
}

bool pml_answer_complete(const struct answer *answer)
{
    return answer->field == END && answer->body_left == 0;
}

/* After a candidate, or an empty slot: the next candidate, the next slot, or the end. */
static enum field next_after(struct answer *a, const pml_pack *pack)
{
    if (a->candidates_left > 0) {
        a->candidates_left--;
        a->carried++;
        return CANDIDATE;
    }
    a->slot++;
    return a->slot < pack->slots && !a->one ? SLOT_HEAD : END;
}

static pml_status label_value(struct answer *a)
{
    if (a->value > INT32_MAX)
        return PML_ERROR_ANSWER;
    a->candidate.label = a->major == NEGATIVE ? -1 - (int32_t)a->value : (int32_t)a->value;
    return PML_OK;
}

/* A complete head: is it what this field must be? Sets the next field, or the length of the body to come. */
static pml_status accept(struct answer *a, const pml_pack *pack, struct shortlist *shortlist)
{
    static const uint8_t majors[] = {ARRAY, UINT, BYTES, UINT, UINT, UINT,  ARRAY,
                                     UINT,  UINT, ARRAY, UINT, UINT, BYTES, BYTES};
    if (a->major != majors[a->field] && !(a->field == LABEL && a->major == NEGATIVE))
        return PML_ERROR_ANSWER;
    /* what fields with a fixed value must hold; the others are checked below */
    const uint64_t slots = a->one ? 1 : pack->slots, slot = a->one ? a->value : a->slot;
    const uint64_t fixed[] = {5,    1,        PML_ID_SIZE, slots,    pack->sketch, a->value,     2,
                              slot, a->value, 4,           a->value, a->value,     pack->sketch, a->value};
    if (a->value != fixed[a->field])
        return PML_ERROR_ANSWER;
    switch ((enum field)a->field) {
    case GALLERY:
        a->gallery = a->value;
        if (a->gallery == 0)
            return PML_ERROR_ANSWER;
        break;
    case SLOT:
        if (a->value >= pack->slots)
            return PML_ERROR_ANSWER;
        a->slot = (uint32_t)a->value;
        break;
    case COUNT:
        if (a->value > PML_CANDIDATES_MAX)
            return PML_ERROR_ANSWER;
        a->candidates_left = (uint32_t)a->value;
        a->field = (uint8_t)next_after(a, pack);
        return PML_OK;
    case ITEM:
        a->candidate.item = a->value;
        break;
    case LABEL:
        if (label_value(a) != PML_OK)
            return PML_ERROR_ANSWER;
        break;
    case PAYLOAD:
        if (a->value > PML_PAYLOAD_MAX)
            return PML_ERROR_ANSWER;
        a->candidate.slot = a->slot;
        a->candidate.payload_offset = a->offset;
        a->candidate.payload_size = (uint32_t)a->value;
        pml_rank_offer(shortlist, a->candidate);
        a->body_left = a->value;
        a->field = (uint8_t)next_after(a, pack);
        return PML_OK;
    case ID:
    case SKETCH:
        a->body_left = a->value; /* the field stays until its body is complete */
        return PML_OK;
    default:
        break;
    }
    a->field++;
    return PML_OK;
}

/* One byte of a head. `head_size` is 0 between heads. */
static pml_status read_head(struct answer *a, const pml_pack *pack, struct shortlist *shortlist, uint8_t byte)
{
    if (a->head_size == 0) {
        unsigned info = byte & 31;
        a->major = byte >> 5;
        a->value = info < 24 ? info : 0;
        if (info > 27 || a->field == END) /* nothing follows the last candidate, not even half a head */
            return PML_ERROR_ANSWER;
        a->head_left = (uint8_t)(info < 24 ? 0u : 1u << (info - 24));
        a->head_size = (uint8_t)(1 + a->head_left);
    } else {
        a->value = a->value << 8 | byte;
        a->head_left--;
    }
    if (a->head_left > 0)
        return PML_OK;
    /* shortest form: the value must not fit the next smaller head */
    static const uint64_t least[] = {0, 0, 24, 256, 0, 65536, 0, 0, 0, (uint64_t)1 << 32};
    bool shortest = a->value >= least[a->head_size];
    a->head_size = 0;
    return shortest ? accept(a, pack, shortlist) : PML_ERROR_ANSWER;
}

/* Bytes of a body: an id or a sketch is compared, a payload is passed over. */
static size_t read_body(struct answer *a, const pml_pack *pack, struct shortlist *shortlist, const uint8_t *bytes,
                        size_t size)
{
    size_t part = size < a->body_left ? size : (size_t)a->body_left;
    if (a->field == ID && memcmp(bytes, pack_id(pack) + (PML_ID_SIZE - a->body_left), part) != 0)
        a->status = PML_ERROR_PACK_ID;
    if (a->field == SKETCH)
        pml_rank_compare(shortlist, (size_t)(pack->sketch - a->body_left), bytes, part);
    a->body_left -= part;
    a->offset += part;
    if (a->body_left == 0 && (a->field == ID || a->field == SKETCH))
        a->field++;
    return part;
}

pml_status pml_answer_parse(struct answer *a, const pml_pack *pack, struct shortlist *shortlist, const uint8_t *bytes,
                            size_t size)
{
    while (size > 0 && a->status == PML_OK) {
        size_t part = 1;
        if (a->body_left > 0) {
            part = read_body(a, pack, shortlist, bytes, size);
        } else {
            a->offset++; /* before the head is accepted: a payload starts right after it */
            a->status = read_head(a, pack, shortlist, *bytes);
        }
        bytes += part;
        size -= part;
    }
    return a->status;
}
