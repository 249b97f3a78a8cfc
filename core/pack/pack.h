/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_PACK_H
#define PML_PACK_H
#include "base/base.h"

/* Sections of a pack, in the order they stand (SPEC 1). */
enum pml_section {
    PML_SECTION_CLASSES,
    PML_SECTION_PROTOTYPES,
    PML_SECTION_PROTOTYPE_NORMS,
    PML_SECTION_ANCHORS,
    PML_SECTION_ANCHOR_NORMS,
    PML_SECTION_ANCHOR_STARTS,
    PML_SECTION_ANCHOR_CODES,
    PML_SECTION_SLOT_CODES,
    PML_SECTION_CELL_CODES,
    PML_SECTION_LISTS,
    PML_SECTION_PROTOTYPE_CELLS,
    PML_SECTION_SKETCH,
    PML_SECTION_MODEL,  /* from version 0.2 on */
    PML_SECTION_FRONTS, /* from version 0.3 on, with the next */
    PML_SECTION_FRONT_BODIES,
    PML_SECTION_HEAD_SIZE, /* from version 0.4 on, with the next */
    PML_SECTION_HEAD,
    PML_SECTION_SKETCH_CODE, /* from version 0.5 on, with the next three; instead of PML_SECTION_SKETCH */
    PML_SECTION_DIRECTIONS,
    PML_SECTION_DIRECTION_NORMS,
    PML_SECTION_DIRECTION_RANGES,
    PML_SECTION_COUNT
};

#define PML_PACK_HEADER 88u
#define PML_PACK_HASHED 40u /* the hash covers what follows this offset */
#define PML_MODEL_SIZE (PML_MODEL_MAX + 1u)
#define PML_FRONTS_SIZE 512u /* eight records of 64 bytes */
#define PML_HEAD_SIZE_SIZE 16u
#define PML_SKETCH_CODE_SIZE 272u

_Static_assert(PML_SECTION_COUNT == PML_PACK_SECTIONS, "the view has room for every section");

static inline const uint8_t *pack_id(const pml_pack *pack)
{
    return pack->bytes + 8;
}

/*@ logic integer code_of(integer low, integer high) = high < 0x80 ? low + 0x100 * high : low + 0x100 * high - 0x10000;
    // code `index` of a section: two bytes, the lower one first, in two's complement (SPEC 1)
    logic integer code_at(uint8_t *codes, integer index) = code_of(codes[2 * index], codes[2 * index + 1]); */

/*@ requires index <= 0xFFFFFFFF && \valid_read(codes + (2 * index .. 2 * index + 1));
    terminates \true;
    assigns \nothing;
    ensures \result == code_at(codes, index) && -0x8000 <= \result <= 0x7FFF; */
static inline int32_t pack_code(const uint8_t *codes, size_t index)
{
    return (int16_t)load_le16(codes + 2 * index);
}

static inline uint32_t pack_u32(const uint8_t *section, size_t index)
{
    return load_le32(section + 4 * index);
}

/* pack.c: are two texts equal? Both end with a zero byte. */
bool pml_same_text(const char *a, const char *b);

/* pack_check.c: header and sizes fill the view; content is what only a look at every byte can tell. */
pml_status pml_pack_check_header(pml_pack *pack, const uint8_t *bytes, size_t size);
pml_status pml_pack_check_content(const pml_pack *pack);
bool pml_all_zero(const uint8_t *bytes, size_t size);
bool pml_values_sound(const uint8_t *values, size_t count); /* none is −128 */
bool pml_rows_sound(const uint8_t *rows, const uint8_t *norms, size_t count, size_t features);

/* pack_sketch.c: the directions of coded sketches. `measure` reads their number from section 17. */
bool pml_sketch_measure(pml_pack *pack);
bool pml_sketch_code_sound(const pml_pack *pack);

#endif
