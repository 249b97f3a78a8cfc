/* SPDX-License-Identifier: Apache-2.0
 * Writes the bytes of a pack and seals them. pml_pack_open checks them, not this file. */
#include "pack_bytes.h"
#include "privatemail_public.h"

#include <stdlib.h>
#include <string.h>

enum {
    CLASSES,
    PROTOTYPES,
    PROTOTYPE_NORMS,
    ANCHORS,
    ANCHOR_NORMS,
    ANCHOR_STARTS,
    ANCHOR_CODES,
    SLOT_CODES,
    CELL_CODES,
    LISTS,
    PROTOTYPE_CELLS,
    PROJECTION,
    MODEL,
    FRONTS,
    FRONT_BODIES,
    HEAD_SIZE,
    HEAD,
    SKETCH_CODE,
    DIRECTIONS,
    DIRECTION_NORMS,
    DIRECTION_RANGES,
    SECTIONS
};

#define HEADER 88u
#define FRONT_RECORD 64u
#define CODE_SIZE 272u

struct layout {
    uint32_t present;
    size_t offset[SECTIONS], size;
};

static size_t front_count(const struct pml_pack_parts *parts)
{
    return parts->fronts ? parts->fronts->count : 0;
}

static size_t bodies_size(const struct pml_pack_parts *parts)
{
    size_t size = 0;
    for (size_t v = 0; v < front_count(parts); v++)
        size += parts->fronts->list[v].front.body_size;
    return size;
}

static struct layout lay_out(const struct pml_pack_parts *parts)
{
    const size_t slots = parts->map->slots, rows = slots * parts->prototype_count, n = parts->anchors->count;
    const size_t d = parts->anchors->columns, k = parts->codes->dimensions;
    const size_t directions = parts->coder ? parts->coder->directions : 0;
    const size_t sizes[SECTIONS] = {
        [CLASSES] = 8 * parts->map->classes,
        [PROTOTYPES] = rows * d,
        [PROTOTYPE_NORMS] = 4 * rows,
        [ANCHORS] = n * d,
        [ANCHOR_NORMS] = 4 * n,
        [ANCHOR_STARTS] = 4 * (slots + 1),
        [ANCHOR_CODES] = 2 * n * k,
        [SLOT_CODES] = 2 * slots * k,
        [CELL_CODES] = 2 * slots * parts->cells * k,
        [LISTS] = 4 * n * parts->neighbours,
        [PROTOTYPE_CELLS] = 2 * rows,
        [PROJECTION] = parts->sketch * d,
        [MODEL] = PML_MODEL_MAX + 1,
        [FRONTS] = PML_MODALITIES_MAX * FRONT_RECORD,
        [FRONT_BODIES] = bodies_size(parts),
        [HEAD_SIZE] = 16,
        [HEAD] = parts->head ? parts->head->body_size + 4 * (size_t)parts->head->outputs : 0,
        [SKETCH_CODE] = CODE_SIZE,
        [DIRECTIONS] = directions * d,
        [DIRECTION_NORMS] = 4 * directions,
        [DIRECTION_RANGES] = 4 * directions,
    };
    struct layout layout = {.present = 1u << PROTOTYPES | 1u << PROTOTYPE_NORMS | 1u << SLOT_CODES | 1u << CELL_CODES |
                                       1u << PROTOTYPE_CELLS};
    layout.present |= parts->coder
                          ? 1u << SKETCH_CODE | 1u << DIRECTIONS | 1u << DIRECTION_NORMS | 1u << DIRECTION_RANGES
                          : 1u << PROJECTION;
    if (parts->map->classes > 0)
        layout.present |= 1u << CLASSES;
    if (!parts->response_only) {
        layout.present |= 1u << ANCHORS | 1u << ANCHOR_NORMS | 1u << ANCHOR_STARTS | 1u << ANCHOR_CODES;
        if (n > parts->neighbours)
            layout.present |= 1u << LISTS;
    }
    if (parts->model)
        layout.present |= 1u << MODEL;
    if (front_count(parts) > 0)
        layout.present |= 1u << FRONTS | 1u << FRONT_BODIES;
    if (parts->head)
        layout.present |= 1u << HEAD_SIZE | 1u << HEAD;
    layout.size = HEADER;
    for (int i = 0; i < SECTIONS; i++) {
        if ((layout.present >> i & 1) == 0)
            continue;
        layout.offset[i] = (layout.size + 15) & ~(size_t)15;
        layout.size = layout.offset[i] + sizes[i];
    }
    return layout;
}

static uint8_t *put(uint8_t *at, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        at[i] = (uint8_t)(value >> 8 * i);
    return at + width;
}

static void put_words(uint8_t *at, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        at = put(at, words[i], 4);
}

static void put_codes(uint8_t *at, const int16_t *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        at = put(at, (uint16_t)codes[i], 2);
}

static void put_norms(uint8_t *at, const int8_t *rows, size_t count, size_t columns)
{
    for (size_t i = 0; i < count; i++)
        at = put(at, pml_inverse_norm(rows + i * columns, columns), 4);
}

static void put_header(uint8_t *at, const struct pml_pack_parts *parts, const struct layout *layout)
{
    const int full = !parts->response_only;
    memcpy(at, "PMPK", 4);
    put(at + 4, 0, 2);
    put(at + 6, parts->coder ? 5 : parts->head ? 4 : front_count(parts) > 0 ? 3 : 2, 2);
    at = put(at + 40, layout->size, 8);
    at = put(at, parts->anchors->columns, 4);
    at = put(at, full ? parts->anchors->count : 0, 4);
    at = put(at, full ? parts->neighbours : 0, 2);
    at = put(at, parts->codes->dimensions, 2);
    at = put(at, parts->map->slots, 2);
    at = put(at, (unsigned)parts->slot_kind, 2);
    at = put(at, parts->cells, 4);
    at = put(at, parts->map->classes, 4);
    at = put(at, full ? parts->lambda : 0, 4);
    at = put(at, full ? parts->alpha : 0, 2);
    at = put(at, parts->sketch, 2);
    at = put(at, layout->present, 4);
    put(at, parts->prototype_count, 4);
}

static void put_slots(uint8_t *bytes, const struct pml_pack_parts *parts, const struct layout *layout)
{
    const struct pml_slot_map *map = parts->map;
    const size_t rows = map->slots * parts->prototype_count, d = parts->anchors->columns, k = parts->codes->dimensions;
    uint8_t *at = bytes + layout->offset[CLASSES];
    for (size_t c = 0; c < map->classes; c++)
        at = put(put(at, (uint32_t)map->labels[c], 4), map->class_slots[c], 4);
    memcpy(bytes + layout->offset[PROTOTYPES], parts->prototypes, rows * d);
    put_norms(bytes + layout->offset[PROTOTYPE_NORMS], parts->prototypes, rows, d);
    put_codes(bytes + layout->offset[SLOT_CODES], parts->codes->slots, map->slots * k);
    put_codes(bytes + layout->offset[CELL_CODES], parts->codes->cells, map->slots * parts->cells * k);
    at = bytes + layout->offset[PROTOTYPE_CELLS];
    for (size_t i = 0; i < rows; i++)
        at = put(at, parts->prototype_cells[i], 2);
    if (parts->projection)
        memcpy(bytes + layout->offset[PROJECTION], parts->projection, parts->sketch * d);
    if (parts->model)
        memcpy(bytes + layout->offset[MODEL], parts->model, strlen(parts->model));
}

static void put_anchors(uint8_t *bytes, const struct pml_pack_parts *parts, const struct layout *layout)
{
    const struct pml_rows *anchors = parts->anchors;
    memcpy(bytes + layout->offset[ANCHORS], anchors->values, anchors->count * anchors->columns);
    put_words(bytes + layout->offset[ANCHOR_NORMS], anchors->inverse, anchors->count);
    put_words(bytes + layout->offset[ANCHOR_STARTS], parts->map->starts, parts->map->slots + 1);
    put_codes(bytes + layout->offset[ANCHOR_CODES], parts->codes->anchors, anchors->count * parts->codes->dimensions);
    if (layout->present >> LISTS & 1)
        put_words(bytes + layout->offset[LISTS], parts->lists, anchors->count * parts->neighbours);
}

static void put_fronts(uint8_t *bytes, const struct pml_pack_parts *parts, const struct layout *layout)
{
    uint8_t *record = bytes + layout->offset[FRONTS], *body = bytes + layout->offset[FRONT_BODIES];
    for (size_t v = 0; v < front_count(parts); v++, record += FRONT_RECORD) {
        const struct pml_named_front *named = &parts->fronts->list[v];
        uint8_t *at = put(record, (unsigned)named->front.kind, 2);
        at = put(at, named->front.root, 2);
        at = put(at, named->front.inputs, 4);
        put(at, named->front.kind == PML_FRONT_KERNELS ? named->front.centres : 0, 4);
        memcpy(record + 16, named->name, strlen(named->name));
        if (named->front.kind == PML_FRONT_SIGNS)
            memcpy(record + 32, named->front.seed, 32);
        if (named->front.body_size > 0)
            memcpy(body, named->front.body, named->front.body_size);
        body += named->front.body_size;
    }
}

/* The labels stand behind the body, in the file as in the pack. */
static void put_head(uint8_t *bytes, const pml_front *head, const struct layout *layout)
{
    put(bytes + layout->offset[HEAD_SIZE], head->outputs, 4);
    memcpy(bytes + layout->offset[HEAD], head->body, head->body_size);
    memcpy(bytes + layout->offset[HEAD] + head->body_size, head->labels, 4 * (size_t)head->outputs);
}

static void put_sketch_code(uint8_t *bytes, const struct pml_pack_parts *parts, const struct layout *layout)
{
    const struct pml_sketch_coder *coder = parts->coder;
    const size_t d = parts->anchors->columns;
    uint8_t *at = bytes + layout->offset[SKETCH_CODE];
    for (unsigned bits = 1; bits <= PML_CODER_BITS; bits++)
        at = put(at, coder->blocks[bits - 1], 2);
    memcpy(at + 2, coder->levels, PML_CODER_LEVELS);
    memcpy(bytes + layout->offset[DIRECTIONS], coder->rows, coder->directions * d);
    put_norms(bytes + layout->offset[DIRECTION_NORMS], coder->rows, coder->directions, d);
    at = bytes + layout->offset[DIRECTION_RANGES];
    put_codes(at, coder->middles, coder->directions);
    put_codes(at + 2 * coder->directions, coder->widths, coder->directions);
}

pml_outcome pml_pack_bytes(const struct pml_pack_parts *parts, uint8_t **bytes, size_t *size)
{
    const struct layout layout = lay_out(parts);
    *bytes = calloc(1, layout.size);
    if (!*bytes)
        return PML_NO_MEMORY;
    *size = layout.size;
    put_header(*bytes, parts, &layout);
    put_slots(*bytes, parts, &layout);
    if (!parts->response_only)
        put_anchors(*bytes, parts, &layout);
    put_fronts(*bytes, parts, &layout);
    if (parts->coder)
        put_sketch_code(*bytes, parts, &layout);
    if (parts->head)
        put_head(*bytes, parts->head, &layout);
    pml_pack_seal(*bytes, layout.size);
    return PML_DONE;
}
