/* SPDX-License-Identifier: Apache-2.0
 * Validates and finds the head of a pack (SPEC 1, sections 15 and 16). In: hostile bytes. Out: a view whose every count
 * and value is in its range, so that no score of stages/head.c overflows. */
#include "front.h"

bool pml_head_measure(pml_pack *pack, uint64_t *size)
{
    const uint8_t *section = pack->section[PML_SECTION_HEAD_SIZE];
    pack->labels = load_le32(section);
    *size = (uint64_t)pack->labels * (16 + pack->features);
    return pack->labels - 1 < PML_LABELS_MAX && pml_all_zero(section + 4, PML_HEAD_SIZE_SIZE - 4);
}

pml_status pml_pack_head(const pml_pack *pack, pml_front *head)
{
    if (!head)
        return PML_ERROR_ARGUMENT;
    memset(head, 0, sizeof *head);
    if (!pack || !pack->bytes)
        return PML_ERROR_ARGUMENT;
    if (pack->labels == 0)
        return PML_ERROR_SECTION;
    head->kind = PML_FRONT_MATRIX;
    head->inputs = pack->features;
    head->outputs = pack->labels;
    head->body = pack->section[PML_SECTION_HEAD];
    head->body_size = (size_t)pack->labels * (12 + pack->features);
    head->values = (const int8_t *)head->body + (size_t)12 * pack->labels;
    head->labels = head->body + head->body_size;
    return PML_OK;
}

bool pml_head_labels_sound(const pml_front *head)
{
    for (size_t i = 1; i < head->outputs; i++)
        if (head_label(head, i - 1) >= head_label(head, i))
            return false;
    return true;
}

bool pml_head_sound(const pml_pack *pack)
{
    pml_front head;
    return pml_pack_head(pack, &head) != PML_OK || (pml_front_sound(&head) && pml_head_labels_sound(&head));
}
