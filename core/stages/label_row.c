/* SPDX-License-Identifier: Apache-2.0
 * Stage: rows of the label Laplacian times the codes (SPEC 5.6). In: the pack. Out: U_s of every slot, exact integers.
 * Public constants only: the query's class chooses among them, it does not enter them. */
#include "stages.h"

/* Adds up to `room` anchors of slot `from`; returns how many. */
static size_t add_anchors(const pml_pack *pack, uint32_t from, size_t room, uint32_t weight, const uint8_t *slot_code,
                          int64_t *row)
{
    const uint8_t *starts = pack->section[PML_SECTION_ANCHOR_STARTS];
    size_t first = pack_u32(starts, from), count = pack_u32(starts, from + 1) - first;
    if (count > room)
        count = room;
    for (size_t j = first; j < first + count; j++)
        for (size_t i = 0; i < pack->dimensions; i++)
            row[i] += (int64_t)weight * (pack_code(slot_code, i) -
                                         pack_code(pack->section[PML_SECTION_ANCHOR_CODES], j * pack->dimensions + i));
    return count;
}

void pml_label_rows(const pml_pack *pack, uint32_t (*weight_of)(uint32_t, uint32_t), int64_t *rows)
{
    memset(rows, 0, sizeof *rows * pack->slots * pack->dimensions);
    if (pack->alpha == 0)
        return;
    for (uint32_t slot = 0; slot < pack->slots; slot++) {
        const uint8_t *slot_code = pack->section[PML_SECTION_SLOT_CODES] + 2 * (size_t)slot * pack->dimensions;
        int64_t *row = rows + (size_t)slot * pack->dimensions;
        size_t room = pack->neighbours; /* K ≤ n: the room is filled before the slots are exhausted */
        for (uint32_t distance = 0; room > 0; distance++) {
            uint32_t weight = weight_of(distance, pack->lambda);
            if (distance <= slot)
                room -= add_anchors(pack, slot - distance, room, weight, slot_code, row);
            if (distance > 0 && slot + distance < pack->slots)
                room -= add_anchors(pack, slot + distance, room, weight, slot_code, row);
        }
    }
}
