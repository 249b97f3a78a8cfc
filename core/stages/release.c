/* SPDX-License-Identifier: Apache-2.0
 * Stage: the release as bytes (SPEC 2), and back. In: a body. Out: deterministic CBOR around it. Parsing writes the
 * head that a sound release must have and compares, so there is one description of the format, not two. */
#include "stages.h"

#define HEAD_MAX 40u

/*@ requires \valid(out + (0 .. length_of(size) - 1)) && size < 65536;
    terminates \true;
    assigns out[0 .. length_of(size) - 1];
    ensures \result == length_of(size) && says_length(out, size); */
static size_t byte_string_head(uint8_t *out, size_t size)
{
    if (size < 24) {
        out[0] = (uint8_t)(0x40 + size);
        return 1;
    }
    if (size < 256) {
        out[0] = 0x58;
        out[1] = (uint8_t)size;
        return 2;
    }
    out[0] = 0x59; /* the largest body, 1024 slots of 16 coordinates of 2 bytes, is below 65536 */
    out[1] = (uint8_t)(size >> 8);
    out[2] = (uint8_t)size;
    return 3;
}

uint8_t *pml_release_head(uint8_t *out, const uint8_t *id, pml_mechanism mechanism, uint32_t step, size_t body_size)
{
    uint8_t *p = out;
    *p++ = mechanism == PML_GAUSSIAN ? 0xA5 : 0xA4; /* map */
    *p++ = 0, *p++ = 1;                             /* 0: version */
    *p++ = 1, *p++ = 0x50;                          /* 1: pack id */
    memcpy(p, id, PML_ID_SIZE);
    p += PML_ID_SIZE;
    //@ assert id: \forall integer k; 0 <= k < 16 ==> out[5 + k] == id[k];
    *p++ = 2, *p++ = (uint8_t)mechanism; /* 2: mechanism */
    if (mechanism == PML_GAUSSIAN) {
        *p++ = 3, *p++ = 0x44; /* 3: step */
        store_be32(p, step);
        p += 4;
    }
    *p++ = 4; /* 4: body */
    return p + byte_string_head(p, body_size);
}

size_t pml_release_length(size_t body_size, pml_mechanism mechanism)
{
    uint8_t head[HEAD_MAX], id[PML_ID_SIZE] = {0};
    return (size_t)(pml_release_head(head, id, mechanism, 1, body_size) - head) + body_size;
}

pml_status pml_release_id(const void *release, size_t size, uint8_t id[PML_ID_SIZE])
{
    const uint8_t *p = release;
    if (!release || !id)
        return PML_ERROR_ARGUMENT;
    memset(id, 0, PML_ID_SIZE);
    if (size < 24 || (p[0] != 0xA4 && p[0] != 0xA5) || memcmp(p + 1, "\x00\x01\x01\x50", 4) != 0)
        return PML_ERROR_RELEASE;
    memcpy(id, p + 5, PML_ID_SIZE);
    return PML_OK;
}

static bool is_crowd(pml_mechanism mechanism)
{
    return PML_WITH_CROWD && mechanism == PML_CROWD;
}

/* The body a sound release of `mechanism` has at this total size; 0 when there is none. */
static size_t body_of(const pml_pack *pack, pml_mechanism mechanism, size_t size, unsigned *width)
{
    const bool crowd = is_crowd(mechanism) && pack->slots > 1; /* with one slot it would be a second form */
    if ((mechanism == PML_RESPONSE || crowd) && pack->section[PML_SECTION_PROTOTYPES]) {
        *width = symbol_bits(crowd ? pack->slots * pack->cells : pack->cells);
        size_t body = symbols_size(crowd ? 1 : pack->slots, *width);
        return pml_release_length(body, mechanism) == size ? body : 0;
    }
    if (mechanism == PML_GAUSSIAN && pack->section[PML_SECTION_ANCHORS])
        for (*width = 1; *width <= 2; ++*width) {
            size_t body = (size_t)pack->slots * pack->dimensions * *width;
            if (pml_release_length(body, mechanism) == size)
                return body;
        }
    return 0;
}

static bool symbols_sound(const pml_pack *pack, const pml_release_view *view)
{
    const bool crowd = is_crowd(view->mechanism);
    const size_t count = crowd ? 1 : pack->slots;
    for (size_t c = 0; c < count; c++)
        if (pml_release_symbol(view, c) >= (crowd ? pack->slots * pack->cells : pack->cells))
            return false;
    size_t used = count * view->symbol_bits;
    return used % 8 == 0 || view->body[view->body_size - 1] >> used % 8 == 0;
}

pml_status pml_release_parse(const pml_pack *pack, const void *release, size_t size, pml_release_view *view)
{
    uint8_t id[PML_ID_SIZE], head[HEAD_MAX];
    if (!pack || !view || !pack->bytes)
        return PML_ERROR_ARGUMENT;
    memset(view, 0, sizeof *view);
    pml_status status = pml_release_id(release, size, id);
    if (status != PML_OK)
        return status;
    if (memcmp(id, pack_id(pack), PML_ID_SIZE) != 0)
        return PML_ERROR_PACK_ID;
    const uint8_t *bytes = release;
    pml_mechanism mechanism = (pml_mechanism)bytes[22];
    unsigned width = 0;
    size_t body = body_of(pack, mechanism, size, &width);
    if (body == 0)
        return PML_ERROR_RELEASE;
    uint32_t step = mechanism == PML_GAUSSIAN ? load_be32(bytes + 25) : 0;
    size_t head_size = (size_t)(pml_release_head(head, id, mechanism, step, body) - head);
    if (memcmp(head, bytes, head_size) != 0 || (mechanism == PML_GAUSSIAN && step == 0))
        return PML_ERROR_RELEASE;
    pml_release_view found = {.mechanism = mechanism, .step = step, .body = bytes + head_size, .body_size = body};
    *(mechanism == PML_GAUSSIAN ? &found.value_bytes : &found.symbol_bits) = width;
    if (mechanism != PML_GAUSSIAN && !symbols_sound(pack, &found))
        return PML_ERROR_RELEASE;
    *view = found;
    return PML_OK;
}

uint32_t pml_release_symbol(const pml_release_view *view, size_t slot)
{
    uint32_t symbol = 0;
    for (unsigned b = 0; b < view->symbol_bits; b++) {
        size_t at = slot * view->symbol_bits + b;
        symbol |= (uint32_t)(view->body[at / 8] >> at % 8 & 1) << b;
    }
    return symbol;
}

int32_t pml_release_value(const pml_release_view *view, size_t index)
{
    if (view->value_bytes == 1)
        return (int8_t)view->body[index];
    return (int16_t)(view->body[2 * index] << 8 | view->body[2 * index + 1]);
}

pml_status pml_release_rows(const pml_pack *pack, const void *release, size_t size, float *rows, size_t capacity)
{
    pml_release_view view;
    if (!rows)
        return PML_ERROR_ARGUMENT;
    memset(rows, 0, capacity * sizeof *rows);
    pml_status status = pml_release_parse(pack, release, size, &view);
    if (status != PML_OK)
        return status;
    const uint8_t *cell_codes = pack->section[PML_SECTION_CELL_CODES];
    if (view.mechanism != PML_GAUSSIAN && !cell_codes)
        return PML_ERROR_SECTION;
    const size_t count = is_crowd(view.mechanism) ? 1 : pack->slots;
    if (capacity < count * pack->dimensions)
        return PML_ERROR_BUFFER;
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < pack->dimensions; i++) {
            size_t at = s * pack->dimensions + i;
            if (view.mechanism == PML_GAUSSIAN) {
                rows[at] = (float)((double)pml_release_value(&view, at) * view.step);
                continue;
            }
            size_t cell = s * pack->cells + pml_release_symbol(&view, s); /* in a crowd: any slot's */
            int32_t sum = pack_code(pack->section[PML_SECTION_SLOT_CODES], cell / pack->cells * pack->dimensions + i) +
                          pack_code(cell_codes, cell * pack->dimensions + i);
            rows[at] = (float)sum * 0.5f;
        }
    return PML_OK;
}
