/* SPDX-License-Identifier: Apache-2.0
 * The bytes of a pack (SPEC 1). */
#ifndef PML_PACK_BYTES_H
#define PML_PACK_BYTES_H

#include "common/fronts.h"
#include "common/rows/rows.h"
#include "slots_build.h"
#include "tools/codes/codes.h"
#include "tools/sketch/sketch_coder.h"

/* What a pack is made of. The caller owns all of it. */
struct pml_pack_parts {
    int slot_kind;
    const struct pml_slot_map *map;
    const struct pml_rows *anchors; /* in the map's order */
    const struct pml_code_book *codes;
    const int8_t *prototypes;             /* G·M rows */
    const uint32_t *prototype_cells;      /* G·M */
    const uint32_t *lists;                /* n·K */
    const int8_t *projection;             /* L rows, of plain sketches; or NULL, and … */
    const struct pml_sketch_coder *coder; /* … coded sketches: a pack of version 0.5 */
    uint32_t cells, prototype_count, neighbours, lambda, alpha, sketch;
    int response_only;               /* leave out anchors, their codes and lists */
    const char *model;               /* up to PML_MODEL_MAX bytes; NULL: none */
    const struct pml_fronts *fronts; /* NULL or none: no fronts; else at least version 0.3 */
    const pml_front *head;           /* NULL: none; else at least version 0.4 */
};

/* Writes and seals the pack. The caller frees the bytes. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_pack_bytes(const struct pml_pack_parts *parts, uint8_t **bytes, size_t *size);

#endif
