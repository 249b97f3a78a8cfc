/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_PACK_H
#define PML_PACK_H
#include "base.h"

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
    PML_SECTION_MODEL, /* from version 0.2 on */
    PML_SECTION_COUNT
};

#define PML_PACK_HEADER 88u
#define PML_PACK_HASHED 40u /* the hash covers what follows this offset */
#define PML_MODEL_SIZE (PML_MODEL_MAX + 1u)

/* What pml_pack holds. Section pointers are NULL when absent; multi-byte values in them are read bytewise. */
struct pack_view {
    const uint8_t *bytes;
    const uint8_t *section[PML_SECTION_COUNT];
    uint64_t size;
    uint32_t d, n, m, M, C, lambda;
    uint16_t K, k, G, kind, alpha, L;
};

_Static_assert(sizeof(struct pack_view) <= sizeof(pml_pack), "a view fits its public type");

static inline const struct pack_view *pack_view(const pml_pack *pack)
{
    return (const struct pack_view *)(const void *)pack;
}

static inline const uint8_t *pack_id(const struct pack_view *v)
{
    return v->bytes + 8;
}

static inline int32_t pack_code(const uint8_t *codes, size_t index)
{
    return (int16_t)load_le16(codes + 2 * index);
}

static inline uint32_t pack_u32(const uint8_t *section, size_t index)
{
    return load_le32(section + 4 * index);
}

/* pack_check.c: header and sizes fill the view; content is what only a look at every byte can tell. */
int pml_pack_check_header(struct pack_view *view, const uint8_t *bytes, size_t size);
int pml_pack_check_content(const struct pack_view *view);

#endif
