/* SPDX-License-Identifier: Apache-2.0
 * Opens a pack and reads its fields. In: bytes. Out: a view into them. Never copies, never trusts. */
#include "pack.h"
#include "sha256.h"

static const char *model_of(const struct pack_view *v)
{
    const uint8_t *name = v->section[PML_SECTION_MODEL];
    return name ? (const char *)name : "";
}

/* Both end with a zero byte. */
static bool same_text(const char *a, const char *b)
{
    while (*a == *b && *a != 0)
        a++, b++;
    return *a == *b;
}

int pml_pack_open(pml_pack *pack, const void *bytes, size_t size, const uint8_t *pinned_id, const char *model)
{
    if (!pack)
        return PML_ERROR_ARGUMENT;
    memset(pack, 0, sizeof *pack);
    if (!bytes)
        return PML_ERROR_ARGUMENT;
    struct pack_view view = {0};
    int status = pml_pack_check_header(&view, bytes, size);
    if (status != PML_OK)
        return status;
    uint8_t digest[32];
    pml_sha256(view.bytes + PML_PACK_HASHED, size - PML_PACK_HASHED, digest);
    if (memcmp(digest, view.bytes + 8, sizeof digest) != 0)
        return PML_ERROR_PACK_HASH;
    if (pinned_id && memcmp(pinned_id, pack_id(&view), PML_ID_SIZE) != 0)
        return PML_ERROR_PACK_ID;
    status = pml_pack_check_content(&view);
    if (status == PML_OK && model && (model[0] == 0 || !same_text(model, model_of(&view))))
        status = PML_ERROR_PACK_MODEL;
    if (status == PML_OK)
        memcpy(pack, &view, sizeof view);
    return status;
}

const char *pml_pack_model(const pml_pack *pack)
{
    return pack ? model_of(pack_view(pack)) : "";
}

void pml_pack_seal(uint8_t *bytes, size_t size)
{
    if (bytes && size >= PML_PACK_HEADER)
        pml_sha256(bytes + PML_PACK_HASHED, size - PML_PACK_HASHED, bytes + 8);
}

int pml_pack_describe(const pml_pack *pack, pml_pack_info *info)
{
    if (!pack || !info)
        return PML_ERROR_ARGUMENT;
    const struct pack_view *v = pack_view(pack);
    memset(info, 0, sizeof *info);
    if (!v->bytes)
        return PML_ERROR_ARGUMENT;
    memcpy(info->id, pack_id(v), PML_ID_SIZE);
    info->size = v->size;
    info->features = v->d;
    info->anchors = v->n;
    info->neighbours = v->K;
    info->dimensions = v->k;
    info->slots = v->G;
    info->slot_kind = v->kind;
    info->cells = v->m;
    info->prototypes = v->M;
    info->classes = v->C;
    info->lambda = v->lambda;
    info->alpha = v->alpha;
    info->sketch = v->L;
    info->cell_codes = v->section[PML_SECTION_CELL_CODES] != NULL;
    info->lists = v->section[PML_SECTION_LISTS] != NULL;
    return PML_OK;
}

static const int8_t *row_of(const struct pack_view *v, int section, size_t index, size_t count)
{
    return v->section[section] && index < count ? (const int8_t *)v->section[section] + index * v->d : NULL;
}

const int8_t *pml_pack_anchor(const pml_pack *pack, size_t index)
{
    return pack ? row_of(pack_view(pack), PML_SECTION_ANCHORS, index, pack_view(pack)->n) : NULL;
}

const int8_t *pml_pack_prototype(const pml_pack *pack, size_t slot, size_t index)
{
    const struct pack_view *v = pack ? pack_view(pack) : NULL;
    return v && slot < v->G && index < v->M
               ? row_of(v, PML_SECTION_PROTOTYPES, slot * v->M + index, (size_t)v->G * v->M)
               : NULL;
}

int pml_pack_prototype_cell(const pml_pack *pack, size_t slot, size_t index, uint32_t *cell)
{
    const struct pack_view *v = pack ? pack_view(pack) : NULL;
    if (!v || !cell || slot >= v->G || index >= v->M)
        return PML_ERROR_ARGUMENT;
    *cell = load_le16(v->section[PML_SECTION_PROTOTYPE_CELLS] + 2 * (slot * v->M + index));
    return PML_OK;
}

static int code_of(const struct pack_view *v, int section, size_t index, size_t count, int16_t *out)
{
    if (!v->section[section])
        return PML_ERROR_SECTION;
    if (index >= count || !out)
        return PML_ERROR_ARGUMENT;
    for (size_t i = 0; i < v->k; i++)
        out[i] = (int16_t)pack_code(v->section[section], index * v->k + i);
    return PML_OK;
}

int pml_pack_anchor_code(const pml_pack *pack, size_t index, int16_t *out)
{
    return pack ? code_of(pack_view(pack), PML_SECTION_ANCHOR_CODES, index, pack_view(pack)->n, out)
                : PML_ERROR_ARGUMENT;
}

int pml_pack_slot_code(const pml_pack *pack, size_t slot, int16_t *out)
{
    return pack ? code_of(pack_view(pack), PML_SECTION_SLOT_CODES, slot, pack_view(pack)->G, out) : PML_ERROR_ARGUMENT;
}

int pml_pack_cell_code(const pml_pack *pack, size_t slot, size_t cell, int16_t *out)
{
    const struct pack_view *v = pack ? pack_view(pack) : NULL;
    if (!v || slot >= v->G || cell >= v->m)
        return PML_ERROR_ARGUMENT;
    return code_of(v, PML_SECTION_CELL_CODES, slot * v->m + cell, (size_t)v->G * v->m, out);
}

int pml_pack_anchor_slot(const pml_pack *pack, size_t index, uint32_t *slot)
{
    const struct pack_view *v = pack ? pack_view(pack) : NULL;
    if (!v || !slot || index >= v->n)
        return PML_ERROR_ARGUMENT;
    *slot = 0;
    while (pack_u32(v->section[PML_SECTION_ANCHOR_STARTS], *slot + 1) <= index)
        ++*slot;
    return PML_OK;
}

int pml_pack_list(const pml_pack *pack, size_t index, uint32_t *out)
{
    const struct pack_view *v = pack ? pack_view(pack) : NULL;
    if (!v || !out || index >= v->n)
        return PML_ERROR_ARGUMENT;
    if (!v->section[PML_SECTION_LISTS])
        return PML_ERROR_SECTION;
    for (size_t i = 0; i < v->K; i++)
        out[i] = pack_u32(v->section[PML_SECTION_LISTS], index * v->K + i);
    return PML_OK;
}

int pml_pack_class(const pml_pack *pack, size_t index, int32_t *label, uint32_t *slot)
{
    const struct pack_view *v = pack ? pack_view(pack) : NULL;
    if (!v || !label || !slot || index >= v->C)
        return PML_ERROR_ARGUMENT;
    *label = (int32_t)load_le32(v->section[PML_SECTION_CLASSES] + 8 * index);
    *slot = load_le16(v->section[PML_SECTION_CLASSES] + 8 * index + 4);
    return PML_OK;
}
