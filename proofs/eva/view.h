/* SPDX-License-Identifier: Apache-2.0
 * The view of an opened pack of one small shape. Each section is an object of its own, of exactly its size, so that a step
 * beyond a section is an alarm even where the bytes of the next one follow in a pack. The content is arbitrary, except what
 * pml_pack_check_content has established and the name of the function here tells. */
#ifndef PML_EVA_VIEW_H
#define PML_EVA_VIEW_H

#include "arbitrary.h"
#include "core/pack/pack.h"

enum { FEATURES = 5, SLOTS = 3, CELLS = 3, PROTOTYPES = 4, CLASSES = 4, ANCHORS = 6, NEIGHBOURS = 2, DIMENSIONS = 2 };
enum { SKETCH = 8, DIRECTIONS = 16, CODED_SKETCH = 6, ROWS = SLOTS * PROTOTYPES };

static pml_pack view;
static uint8_t view_header[PML_PACK_HEADER];

static inline void view_start(uint32_t slots)
{
    ANY(view_header);
    view = (pml_pack){.bytes = view_header, .size = 4096, .features = FEATURES, .slots = (uint16_t)slots};
}

#define SECTION(name, bytes)                                                                                           \
    do {                                                                                                               \
        static uint8_t section[bytes];                                                                                 \
        ANY(section);                                                                                                  \
        view.section[PML_SECTION_##name] = section;                                                                    \
    } while (0)

/* Rows, inverse norms and cells of prototypes, all of any bits. */
static inline void view_prototypes(void)
{
    SECTION(PROTOTYPES, ROWS * FEATURES);
    SECTION(PROTOTYPE_NORMS, 4 * ROWS);
    SECTION(PROTOTYPE_CELLS, 2 * ROWS);
    view.cells = CELLS;
    view.prototypes = PROTOTYPES;
}

static inline void view_codes(void)
{
    SECTION(SLOT_CODES, 2 * SLOTS * DIMENSIONS);
    SECTION(CELL_CODES, 2 * SLOTS * CELLS * DIMENSIONS);
    view.dimensions = DIMENSIONS;
}

static inline void view_anchors(void)
{
    SECTION(ANCHORS, ANCHORS * FEATURES);
    SECTION(ANCHOR_NORMS, 4 * ANCHORS);
    SECTION(ANCHOR_STARTS, 4 * (SLOTS + 1));
    SECTION(ANCHOR_CODES, 2 * ANCHORS * DIMENSIONS);
    SECTION(SLOT_CODES, 2 * SLOTS * DIMENSIONS);
    view.anchors = ANCHORS;
    view.neighbours = NEIGHBOURS;
    view.dimensions = DIMENSIONS;
}

/* One choice of where the anchors of a slot start that starts_sound allows. */
static inline void view_starts(void)
{
    uint8_t *starts = (uint8_t *)view.section[PML_SECTION_ANCHOR_STARTS];
    memset(starts, 0, 4 * (SLOTS + 1));
    starts[4] = 1;
    starts[8] = 4;
    starts[12] = ANCHORS;
}

/* Coded sketches: a block of directions of two bits and one of four. */
static inline void view_coded(void)
{
    static uint8_t code[PML_SKETCH_CODE_SIZE];
    ANY(code);
    for (unsigned i = 0; i < 16; i++)
        code[i] = i == 2 || i == 6;
    view.section[PML_SECTION_SKETCH_CODE] = code;
    SECTION(DIRECTIONS, DIRECTIONS * FEATURES);
    SECTION(DIRECTION_NORMS, 4 * DIRECTIONS);
    SECTION(DIRECTION_RANGES, 4 * DIRECTIONS);
    view.directions = DIRECTIONS;
    view.sketch = CODED_SKETCH;
}

#endif
