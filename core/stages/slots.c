/* SPDX-License-Identifier: Apache-2.0
 * Stage: the slot of a class. In: a secret label. Out: a secret slot. Reads every class, branches on none. */
#include "stages.h"

uint32_t pml_slots_find(const pml_pack *pack, int32_t label, uint64_t *known)
{
    uint64_t found = pack->slot_kind == PML_SLOTS_ONE ? ~(uint64_t)0 : 0;
    uint32_t slot = 0;
    for (size_t i = 0; i < pack->classes; i++) {
        const uint8_t *entry = pack->section[PML_SECTION_CLASSES] + 8 * i;
        uint64_t same = mask_equal(load_le32(entry), (uint32_t)label);
        slot |= (uint32_t)same & load_le16(entry + 4);
        found |= same;
    }
    *known = found;
    return slot;
}

pml_status pml_pack_slot(const pml_pack *pack, int32_t label, uint32_t *slot)
{
    if (!pack || !slot || !pack->bytes)
        return PML_ERROR_ARGUMENT;
    uint64_t known;
    *slot = pml_slots_find(pack, label, &known);
    return known != 0 ? PML_OK : PML_ERROR_LABEL;
}
