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
    FORM,
    BASE,
    LIST,      /* the same, version 2 */
    CANDIDATE, /* per candidate, version 1 */
    ITEM,
    LABEL,
    SKETCH,
    PAYLOAD, /* per candidate */
    END
};

enum { UINT = 0, NEGATIVE = 1, BYTES = 2, ARRAY = 4 };

enum { OWN_CLASSES = 1, PAYLOADS = 2 }; /* form of a list */

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

/* Numbers of candidates in lists of version 2 are in base 128, all others are heads of CBOR. */
static bool in_list(const struct answer *a)
{
    return a->version == 2 && a->field >= ITEM && a->field < END;
}

/* Bytes follow: of an id, a sketch or a payload. Those of candidates must fit into their list. */
static pml_status expect_body(struct answer *a, uint32_t size)
{
    if (in_list(a)) {
        if (size > a->list_left)
            return PML_ERROR_ANSWER;
        a->list_left -= size;
    }
    a->body_left = size;
    return PML_OK;
}

/* After a candidate, or the head of a list: the next candidate, the next slot, or the end. */
static pml_status go_on(struct answer *a, const pml_pack *pack)
{
    if (a->candidates_left > 0) {
        a->candidates_left--;
        a->carried++;
        a->field = a->version == 2 ? ITEM : CANDIDATE;
        return PML_OK;
    }
    a->slot++;
    a->field = a->slot < pack->slots && !a->one ? SLOT_HEAD : END;
    return a->list_left == 0 ? PML_OK : PML_ERROR_ANSWER;
}

/* The candidate is known but for its payload of so many bytes. */
static pml_status take_candidate(struct answer *a, const pml_pack *pack, struct shortlist *shortlist, uint64_t payload)
{
    if (payload > PML_PAYLOAD_MAX || expect_body(a, (uint32_t)payload) != PML_OK)
        return PML_ERROR_ANSWER;
    a->candidate.slot = a->slot;
    a->candidate.payload_offset = a->offset;
    a->candidate.payload_size = (uint32_t)payload;
    /* items of a list of version 2 ascend */
    pml_rank_offer(shortlist, &a->candidate, a->version == 1 || !(a->one || pack->slots == 1));
    return go_on(a, pack);
}

/* ---- numbers of version 1, and of everything but candidates ---- */

/* Is the head just read of the right kind? */
static bool kind_fits(const struct answer *a)
{
    static const uint8_t majors[] = {ARRAY, UINT, BYTES, UINT,  UINT, UINT, ARRAY, UINT, UINT,
                                     UINT,  UINT, BYTES, ARRAY, UINT, UINT, BYTES, BYTES};
    const bool class = a->field == LABEL || a->field == BASE;
    return a->major == majors[a->field] || (class && a->major == NEGATIVE);
}

/* ... and its value one that the field may have? That of a payload is looked at later. */
static bool value_fits(const struct answer *a, const pml_pack *pack)
{
    const uint64_t value = a->value;
    uint32_t wanted;
    switch ((enum field)a->field) {
    case GALLERY:
        return value > 0;
    case COUNT:
        return value <= PML_CANDIDATES_MAX;
    case FORM:
        return value <= (OWN_CLASSES | PAYLOADS);
    case BASE:
    case LABEL:
        return value <= INT32_MAX;
    case HEADER:
        wanted = 5;
        break;
    case VERSION:
        wanted = pack->directions > 0 ? 2 : 1;
        break;
    case ID:
        wanted = PML_ID_SIZE;
        break;
    case SLOTS:
        wanted = a->one ? 1 : pack->slots;
        break;
    case SKETCH_LENGTH:
    case SKETCH:
        wanted = pack->sketch;
        break;
    case SLOT_HEAD:
        wanted = a->version == 2 ? 5 : 2;
        break;
    case SLOT:
        if (a->one)
            return value < pack->slots;
        wanted = a->slot;
        break;
    case CANDIDATE:
        wanted = 4;
        break;
    default:
        return true;
    }
    return value == wanted;
}

/* A complete head: keeps what it says. Sets the next field, or the length of the body to come. */
static pml_status accept(struct answer *a, const pml_pack *pack, struct shortlist *shortlist)
{
    if (!kind_fits(a) || !value_fits(a, pack))
        return PML_ERROR_ANSWER;
    const uint32_t low = (uint32_t)a->value;
    switch ((enum field)a->field) {
    case VERSION:
        a->version = (uint8_t)low;
        break;
    case GALLERY:
        a->gallery = a->value;
        break;
    case SLOT:
        a->slot = low;
        break;
    case COUNT:
        a->candidates_left = low;
        if (a->version == 1)
            return go_on(a, pack);
        break;
    case FORM:
        a->form = (uint8_t)low;
        break;
    case BASE:
        a->base = a->major == NEGATIVE ? -1 - (int32_t)low : (int32_t)low;
        break;
    case LIST:
        a->list_left = a->value;
        a->first = true;
        return go_on(a, pack);
    case ITEM:
        a->candidate.item = a->value;
        break;
    case LABEL:
        a->candidate.label = a->major == NEGATIVE ? -1 - (int32_t)low : (int32_t)low;
        break;
    case PAYLOAD:
        return take_candidate(a, pack, shortlist, a->value);
    case ID:
    case SKETCH:
        return expect_body(a, low); /* the field stays until its body is complete */
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
    /* shortest form: the value must not fit the next smaller head, which has half as many bytes, or none up to 23 */
    const unsigned bytes = a->head_size - 1u;
    const bool shortest = bytes == 0 || (bytes == 1 ? a->value > 23 : a->value >> 4 * bytes > 0);
    a->head_size = 0;
    return shortest ? accept(a, pack, shortlist) : PML_ERROR_ANSWER;
}

/* ---- candidates of version 2 ---- */

static pml_status accept_in_list(struct answer *a, const pml_pack *pack, struct shortlist *shortlist)
{
    pml_match *candidate = &a->candidate;
    switch ((enum field)a->field) {
    case ITEM:
        if (!a->first && a->value >= UINT64_MAX - candidate->item)
            return PML_ERROR_ANSWER;
        candidate->item = a->first ? a->value : candidate->item + 1 + a->value;
        candidate->label = a->base;
        a->first = false;
        a->field = a->form & OWN_CLASSES ? LABEL : SKETCH;
        break;
    case LABEL:
        if (a->value > (uint64_t)((int64_t)INT32_MAX - a->base))
            return PML_ERROR_ANSWER;
        candidate->label = (int32_t)(a->base + (int64_t)a->value);
        a->field = SKETCH;
        break;
    default:
        return take_candidate(a, pack, shortlist, a->value);
    }
    return a->field == SKETCH ? expect_body(a, pack->sketch) : PML_OK;
}

/* One byte of a number in base 128: at most ten, the tenth is 1. `head_size` counts them. */
static pml_status read_number(struct answer *a, const pml_pack *pack, struct shortlist *shortlist, uint8_t byte)
{
    if (a->list_left == 0 || (a->head_size == 9 && byte != 1) || (a->head_size > 0 && byte == 0))
        return PML_ERROR_ANSWER;
    a->list_left--;
    a->value = (a->head_size > 0 ? a->value : 0) | (uint64_t)(byte & 127) << 7 * a->head_size;
    a->head_size++;
    if (byte >= 128)
        return PML_OK;
    a->head_size = 0;
    return accept_in_list(a, pack, shortlist);
}

/* ---- bytes ---- */

/* Bytes of a body: an id or a sketch is compared, a payload is passed over. */
static size_t read_body(struct answer *a, const pml_pack *pack, struct shortlist *shortlist, const uint8_t *bytes,
                        size_t size)
{
    const size_t part = size < a->body_left ? size : a->body_left;
    if (a->field == ID && memcmp(bytes, pack_id(pack) + (PML_ID_SIZE - a->body_left), part) != 0)
        a->status = PML_ERROR_PACK_ID;
    if (a->field == SKETCH)
        pml_rank_compare(shortlist, pack->sketch - a->body_left, bytes, part);
    a->body_left -= (uint32_t)part;
    a->offset += part;
    if (a->body_left > 0 || (a->field != ID && a->field != SKETCH))
        return part;
    if (in_list(a) && !(a->form & PAYLOADS))
        a->status = take_candidate(a, pack, shortlist, 0);
    else
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
            a->offset++; /* before the number is accepted: a payload starts right after it */
            a->status = in_list(a) ? read_number(a, pack, shortlist, *bytes) : read_head(a, pack, shortlist, *bytes);
        }
        bytes += part;
        size -= part;
    }
    return a->status;
}
