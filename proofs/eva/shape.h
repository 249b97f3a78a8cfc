/* SPDX-License-Identifier: Apache-2.0
 * Packs of a known shape with arbitrary content, in exactly as much memory as they have bytes. The sizes follow SPEC 1 and
 * not the code that is analysed. */
#ifndef PML_EVA_SHAPE_H
#define PML_EVA_SHAPE_H

#include "arbitrary.h"
#include "core/pack/pack.h"

struct shape {
    uint32_t minor, sections, features, slots, slot_kind, classes, cells, prototypes;
    uint32_t anchors, neighbours, dimensions, alpha, sketch, labels;
    uint32_t front, inputs, centres; /* of the one front; its kind is 0 when there is none */
    uint32_t blocks[8];              /* of coded sketches, by their bits */
};

#define HAS(section) (1u << PML_SECTION_##section)
#define RESPONSE_SECTIONS (HAS(PROTOTYPES) | HAS(PROTOTYPE_NORMS) | HAS(PROTOTYPE_CELLS))
#define GAUSSIAN_SECTIONS (HAS(ANCHORS) | HAS(ANCHOR_NORMS) | HAS(ANCHOR_STARTS) | HAS(ANCHOR_CODES) | HAS(SLOT_CODES))
#define FRONT_SECTIONS (HAS(FRONTS) | HAS(FRONT_BODIES))
#define HEAD_SECTIONS (HAS(HEAD_SIZE) | HAS(HEAD))
#define CODED_SECTIONS (HAS(SKETCH_CODE) | HAS(DIRECTIONS) | HAS(DIRECTION_NORMS) | HAS(DIRECTION_RANGES))

static uint32_t shape_directions(const struct shape *s)
{
    uint32_t blocks = 0;
    for (int bits = 1; bits < 8; bits++)
        blocks += s->blocks[bits];
    return 8 * blocks;
}

static uint32_t shape_body(const struct shape *s)
{
    if (s->front == PML_FRONT_MATRIX)
        return s->features * (12 + s->inputs);
    return s->front == PML_FRONT_KERNELS ? 8 * s->features + s->centres * (12 + s->inputs + s->features) : 0;
}

static uint32_t shape_section(const struct shape *s, int section)
{
    const uint32_t rows = s->slots * s->prototypes, directions = shape_directions(s);
    const uint32_t sizes[PML_SECTION_COUNT] = {
        8 * s->classes,
        rows * s->features,
        4 * rows,
        s->anchors * s->features,
        4 * s->anchors,
        4 * (s->slots + 1),
        2 * s->anchors * s->dimensions,
        2 * s->slots * s->dimensions,
        2 * s->slots * s->cells * s->dimensions,
        4 * s->anchors * s->neighbours,
        2 * rows,
        s->sketch * s->features,
        PML_MODEL_SIZE,
        512,
        shape_body(s),
        16,
        s->labels * (16 + s->features),
        272,
        directions * s->features,
        4 * directions,
        4 * directions,
    };
    return sizes[section];
}

static void put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v);
    put16(p + 2, v >> 16);
}

/* Where a section begins; with PML_SECTION_COUNT, the size of the pack. */
static uint32_t shape_place(const struct shape *s, int wanted)
{
    uint32_t end = 88;
    for (int i = 0; i < PML_SECTION_COUNT; i++) {
        if (!(s->sections >> i & 1))
            continue;
        const uint32_t start = (end + 15) & ~15u;
        if (i == wanted)
            return start;
        end = start + shape_section(s, i);
    }
    return end;
}

static void shape_header(const struct shape *s, uint8_t *pack, uint32_t size)
{
    pack[0] = 'P', pack[1] = 'M', pack[2] = 'P', pack[3] = 'K';
    put16(pack + 4, 0);
    put16(pack + 6, s->minor);
    put32(pack + 40, size);
    put32(pack + 44, 0);
    put32(pack + 48, s->features);
    put32(pack + 52, s->anchors);
    put16(pack + 56, s->neighbours);
    put16(pack + 58, s->dimensions);
    put16(pack + 60, s->slots);
    put16(pack + 62, s->slot_kind);
    put32(pack + 64, s->cells);
    put32(pack + 68, s->classes);
    if (s->anchors == 0)
        put32(pack + 72, 0); /* else any lambda */
    put16(pack + 76, s->alpha);
    put16(pack + 78, s->sketch);
    put32(pack + 80, s->sections);
    put32(pack + 84, s->prototypes);
}

/* The counts that stand in sections. A front of these kinds has no seed: `content` has the check of that. */
static void shape_counts(const struct shape *s, uint8_t *pack)
{
    if (s->front != 0) {
        uint8_t *record = pack + shape_place(s, PML_SECTION_FRONTS);
        put16(record, s->front);
        put16(record + 2, any_bool());
        put32(record + 4, s->inputs);
        put32(record + 8, s->centres);
        put32(record + 12, 0);
        put16(record + 64, 0); /* one front */
        memset(record + 32, 0, 32);
    }
    if (s->labels != 0)
        put32(pack + shape_place(s, PML_SECTION_HEAD_SIZE), s->labels);
    for (uint32_t bits = 1; bits < 8 && (s->sections & HAS(SKETCH_CODE)) != 0; bits++)
        put16(pack + shape_place(s, PML_SECTION_SKETCH_CODE) + 2 * bits - 2, s->blocks[bits]);
}

/* Opens a pack of this shape whose other bytes are arbitrary. */
static pml_status shape_open(const struct shape *s, pml_pack *pack, uint8_t *bytes, uint32_t size)
{
    static uint8_t pinned[PML_ID_SIZE];
    static char model[PML_MODEL_SIZE];
    ANY(pinned);
    ANY(model);
    model[PML_MODEL_MAX] = 0;
    make_any(bytes, size);
    shape_header(s, bytes, size);
    shape_counts(s, bytes);
    return pml_pack_open(pack, bytes, size, MAYBE(pinned), MAYBE(model));
}

#endif
