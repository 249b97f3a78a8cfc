/* SPDX-License-Identifier: Apache-2.0
 * Opens a pack and reads its fields. In: bytes. Out: a view into them. Never copies, never trusts. */
#include "pack.h"
#include "base/sha256.h"

static const char *model_of(const pml_pack *pack)
{
    const uint8_t *name = pack->section[PML_SECTION_MODEL];
    return name ? (const char *)name : "";
}

bool pml_same_text(const char *a, const char *b)
{
    while (*a == *b && *a != 0)
        a++, b++;
    return *a == *b;
}

pml_status pml_pack_open_with(pml_pack *pack, const void *bytes, size_t size, const uint8_t *pinned_id,
                              const char *model, const struct pml_kernels *kernels)
{
    if (!pack)
        return PML_ERROR_ARGUMENT;
    memset(pack, 0, sizeof *pack);
    if (!bytes)
        return PML_ERROR_ARGUMENT;
    pml_pack view = {0};
    pml_status status = pml_pack_check_header(&view, bytes, size);
    if (status != PML_OK)
        return status;
    uint8_t digest[32];
    pml_sha256_by(view.bytes + PML_PACK_HASHED, size - PML_PACK_HASHED, digest,
                  PML_KERNEL(kernels ? kernels : &pml_kernels_portable, sha256_blocks));
    if (memcmp(digest, view.bytes + 8, sizeof digest) != 0)
        return PML_ERROR_PACK_HASH;
    if (pinned_id && memcmp(pinned_id, pack_id(&view), PML_ID_SIZE) != 0)
        return PML_ERROR_PACK_ID;
    status = pml_pack_check_content(&view);
    if (status == PML_OK && model && (model[0] == 0 || !pml_same_text(model, model_of(&view))))
        status = PML_ERROR_PACK_MODEL;
    if (status == PML_OK)
        *pack = view;
    return status;
}

pml_status pml_pack_open(pml_pack *pack, const void *bytes, size_t size, const uint8_t *pinned_id, const char *model)
{
    return pml_pack_open_with(pack, bytes, size, pinned_id, model, NULL);
}

const char *pml_pack_model(const pml_pack *pack)
{
    return pack ? model_of(pack) : "";
}

void pml_pack_seal(uint8_t *bytes, size_t size)
{
    if (bytes && size >= PML_PACK_HEADER)
        pml_sha256(bytes + PML_PACK_HASHED, size - PML_PACK_HASHED, bytes + 8);
}

pml_status pml_pack_describe(const pml_pack *pack, pml_pack_info *info)
{
    if (!pack || !info)
        return PML_ERROR_ARGUMENT;
    memset(info, 0, sizeof *info);
    if (!pack->bytes)
        return PML_ERROR_ARGUMENT;
    memcpy(info->id, pack_id(pack), PML_ID_SIZE);
    info->size = pack->size;
    info->features = pack->features;
    info->modalities = pack->modalities;
    info->inputs = pack->inputs;
    info->anchors = pack->anchors;
    info->neighbours = pack->neighbours;
    info->dimensions = pack->dimensions;
    info->slots = pack->slots;
    info->slot_kind = (pml_slot_kind)pack->slot_kind;
    info->cells = pack->cells;
    info->prototypes = pack->prototypes;
    info->classes = pack->classes;
    info->lambda = pack->lambda;
    info->alpha = pack->alpha;
    info->sketch = pack->sketch;
    info->directions = pack->directions;
    info->labels = pack->labels;
    info->cell_codes = pack->section[PML_SECTION_CELL_CODES] != NULL;
    info->lists = pack->section[PML_SECTION_LISTS] != NULL;
    return PML_OK;
}

static const int8_t *row_of(const pml_pack *pack, int section, size_t index, size_t count)
{
    return pack->section[section] && index < count ? (const int8_t *)pack->section[section] + index * pack->features
                                                   : NULL;
}

const int8_t *pml_pack_anchor(const pml_pack *pack, size_t index)
{
    return pack ? row_of(pack, PML_SECTION_ANCHORS, index, pack->anchors) : NULL;
}

const int8_t *pml_pack_prototype(const pml_pack *pack, size_t slot, size_t index)
{
    return pack && slot < pack->slots && index < pack->prototypes
               ? row_of(pack, PML_SECTION_PROTOTYPES, slot * pack->prototypes + index,
                        (size_t)pack->slots * pack->prototypes)
               : NULL;
}

pml_status pml_pack_prototypes(const pml_pack *pack, size_t slot, const int8_t **rows, uint32_t *norms, uint32_t *cells)
{
    if (!pack || !rows || !norms || !cells || slot >= pack->slots)
        return PML_ERROR_ARGUMENT;
    *rows = pml_pack_prototype(pack, slot, 0);
    if (!*rows)
        return PML_ERROR_SECTION;
    for (size_t i = 0, at = slot * pack->prototypes; i < pack->prototypes; i++, at++) {
        norms[i] = pack_u32(pack->section[PML_SECTION_PROTOTYPE_NORMS], at);
        cells[i] = load_le16(pack->section[PML_SECTION_PROTOTYPE_CELLS] + 2 * at);
    }
    return PML_OK;
}

static pml_status code_of(const pml_pack *pack, int section, size_t index, size_t count, int16_t *out)
{
    if (!pack->section[section])
        return PML_ERROR_SECTION;
    if (index >= count || !out)
        return PML_ERROR_ARGUMENT;
    for (size_t i = 0; i < pack->dimensions; i++)
        out[i] = (int16_t)pack_code(pack->section[section], index * pack->dimensions + i);
    return PML_OK;
}

pml_status pml_pack_anchor_code(const pml_pack *pack, size_t index, int16_t *out)
{
    return pack ? code_of(pack, PML_SECTION_ANCHOR_CODES, index, pack->anchors, out) : PML_ERROR_ARGUMENT;
}

pml_status pml_pack_slot_code(const pml_pack *pack, size_t slot, int16_t *out)
{
    return pack ? code_of(pack, PML_SECTION_SLOT_CODES, slot, pack->slots, out) : PML_ERROR_ARGUMENT;
}

pml_status pml_pack_anchor_slot(const pml_pack *pack, size_t index, uint32_t *slot)
{
    if (!pack || !slot || index >= pack->anchors)
        return PML_ERROR_ARGUMENT;
    *slot = 0;
    while (pack_u32(pack->section[PML_SECTION_ANCHOR_STARTS], *slot + 1) <= index)
        ++*slot;
    return PML_OK;
}

pml_status pml_pack_list(const pml_pack *pack, size_t index, uint32_t *out)
{
    if (!pack || !out || index >= pack->anchors)
        return PML_ERROR_ARGUMENT;
    if (!pack->section[PML_SECTION_LISTS])
        return PML_ERROR_SECTION;
    for (size_t i = 0; i < pack->neighbours; i++)
        out[i] = pack_u32(pack->section[PML_SECTION_LISTS], index * pack->neighbours + i);
    return PML_OK;
}

pml_status pml_pack_class(const pml_pack *pack, size_t index, int32_t *label, uint32_t *slot)
{
    if (!pack || !label || !slot || index >= pack->classes)
        return PML_ERROR_ARGUMENT;
    *label = (int32_t)load_le32(pack->section[PML_SECTION_CLASSES] + 8 * index);
    *slot = load_le16(pack->section[PML_SECTION_CLASSES] + 8 * index + 4);
    return PML_OK;
}
