/* SPDX-License-Identifier: Apache-2.0
 * Validates and finds fronts (SPEC 1.1). In: hostile bytes. Out: views whose every count and value
 * is in its range, so that no sum of stages/front.c overflows. Never reads past the size that the counts give. */
#include "base/exact.h"
#include "front.h"

/* ---- records ---- */

/* A body is at most 4096·(12 + 4096) or 8·4096 + 4096·(12 + 2·4096) bytes when the counts are in their ranges; when they
 * are not, its size and pointers are never used. */
bool pml_front_record(const uint8_t *record, uint32_t outputs, const uint8_t *body, pml_front *front)
{
    const uint32_t kind = load_le16(record), root = load_le16(record + 2);
    const bool signs = kind == PML_FRONT_SIGNS, kernels = kind == PML_FRONT_KERNELS;
    memset(front, 0, sizeof *front);
    front->kind = (pml_front_kind)kind;
    front->root = root != 0;
    front->inputs = load_le32(record + 4);
    front->outputs = outputs;
    front->centres = load_le32(record + 8);
    front->seed = record + 32;
    if (kind - 1 >= 4 || root > 1 || front->inputs - 1 >= (signs ? PML_FRONT_INPUTS_MAX : PML_FEATURES_MAX) ||
        (kind == PML_FRONT_NONE && front->inputs != outputs) ||
        (kernels ? front->centres - 1 >= PML_FRONT_CENTRES_MAX : front->centres != 0) || load_le32(record + 12) != 0 ||
        !(signs || pml_all_zero(front->seed, 32)))
        return false;
    if (front_keeps_row(front)) {
        const size_t head = front_stride(front) * outputs + (size_t)12 * front->centres;
        front->body_size =
            head + (kernels ? (size_t)front->centres * (front->inputs + outputs) : (size_t)outputs * front->inputs);
        front->body = body;
        front->values = body ? (const int8_t *)body + head : NULL;
    }
    return true;
}

static bool name_sound(const uint8_t *name)
{
    size_t length = 0;
    for (; length < PML_MODALITY_NAME_MAX && name[length] != 0; length++) {
        const uint8_t c = name[length];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '-')
            return false;
    }
    return length > 0 && pml_all_zero(name + length, PML_FRONT_NAME_SIZE - length);
}

pml_status pml_fronts_measure(pml_pack *pack, uint64_t *bodies_size)
{
    const uint8_t *record = pack->section[PML_SECTION_FRONTS], *end = record + PML_FRONTS_SIZE;
    *bodies_size = 0;
    for (; record < end && load_le16(record) != 0; record += PML_FRONT_RECORD) {
        pml_front front;
        uint32_t twin;
        if (!pml_front_record(record, pack->features, NULL, &front) || !name_sound(record + PML_FRONT_NAME_AT) ||
            pml_pack_find_modality(pack, (const char *)record + PML_FRONT_NAME_AT, &twin) == PML_OK)
            return PML_ERROR_PACK;
        if (front_keeps_row(&front) && front.inputs > pack->inputs)
            pack->inputs = front.inputs;
        *bodies_size += front.body_size;
        pack->modalities++;
    }
    return pack->modalities > 0 && pml_all_zero(record, (size_t)(end - record)) ? PML_OK : PML_ERROR_PACK;
}

/* ---- bodies ---- */

/* Offsets, and the gains of a matrix. */
static bool outputs_sound(const pml_front *front)
{
    const bool matrix = front->kind == PML_FRONT_MATRIX;
    const uint64_t most = (uint64_t)1 << (matrix ? 50 : 53);
    for (size_t i = 0; i < front->outputs; i++) {
        const uint64_t offset = (uint64_t)front_offset(front, i) + most; /* from 0 to 2·most */
        if (offset > 2 * most || (matrix && front_gain(front, i) - 1 >= 32))
            return false;
    }
    return true;
}

static bool centres_sound(const pml_front *front)
{
    for (size_t c = 0; c < front->centres; c++) {
        const struct front_centre centre = front_centre(front, c);
        if (centre.lambda == 0 || centre.amplitude - 1 >= 255 || centre.inverse == 0 ||
            centre.inverse != pml_inverse_norm(front->values + c * front->inputs, front->inputs))
            return false;
    }
    return true;
}

bool pml_front_sound(const pml_front *front)
{
    if (!front_keeps_row(front))
        return true;
    const uint8_t *values = (const uint8_t *)front->values;
    if (!pml_values_sound(values, (size_t)(front->body + front->body_size - values)))
        return false;
    return outputs_sound(front) && centres_sound(front);
}

/* ---- modalities ---- */

/* A pack without fronts has one modality, whose features are the pack's own. */
pml_status pml_pack_front(const pml_pack *pack, size_t modality, pml_front *front)
{
    if (!front)
        return PML_ERROR_ARGUMENT;
    memset(front, 0, sizeof *front);
    if (!pack || !pack->bytes)
        return PML_ERROR_ARGUMENT;
    if (modality >= pack->modalities && (modality | pack->modalities) != 0)
        return PML_ERROR_MODALITY;
    front->kind = PML_FRONT_NONE;
    front->inputs = front->outputs = pack->features;
    const uint8_t *record = pack->section[PML_SECTION_FRONTS], *body = pack->section[PML_SECTION_FRONT_BODIES];
    for (size_t i = 0; i <= modality && record; i++, record += PML_FRONT_RECORD) {
        if (body) /* not yet while the records are measured */
            body += front->body_size;
        (void)pml_front_record(record, pack->features, body, front);
    }
    return PML_OK;
}

bool pml_fronts_sound(const pml_pack *pack)
{
    bool sound = true;
    for (size_t i = 0; i < pack->modalities; i++) {
        pml_front front;
        sound = pml_pack_front(pack, i, &front) == PML_OK && pml_front_sound(&front) && sound;
    }
    return sound;
}

pml_status pml_pack_modality(const pml_pack *pack, size_t index, pml_modality *modality)
{
    pml_front front;
    if (!modality)
        return PML_ERROR_ARGUMENT;
    memset(modality, 0, sizeof *modality);
    pml_status status = pml_pack_front(pack, index, &front);
    if (status != PML_OK)
        return status;
    modality->name = pack->modalities == 0 ? ""
                                           : (const char *)pack->section[PML_SECTION_FRONTS] +
                                                 index * PML_FRONT_RECORD + PML_FRONT_NAME_AT;
    modality->features = front.inputs;
    modality->kind = front.kind;
    modality->root = front.root;
    return PML_OK;
}

pml_status pml_pack_find_modality(const pml_pack *pack, const char *name, uint32_t *index)
{
    if (!pack || !pack->bytes || !name || !index)
        return PML_ERROR_ARGUMENT;
    pml_modality modality;
    for (*index = 0; pml_pack_modality(pack, *index, &modality) == PML_OK; ++*index)
        if (pml_same_text(modality.name, name))
            return PML_OK;
    *index = 0;
    return PML_ERROR_MODALITY;
}
