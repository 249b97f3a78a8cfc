/* SPDX-License-Identifier: Apache-2.0
 * What every kind of store checks: items on their way in, rows on their way out, and the digest of all. */
#include "store_content.h"
#include "common/digest.h"
#include "common/message.h"

#include <math.h>
#include <string.h>

const char *pml_store_lists_name(const struct pml_store_info *info)
{
    static const char *const names[] = {
        [PML_LISTS_NONE] = "none", [PML_LISTS_OWN] = "own", [PML_LISTS_SHARE] = "share"};
    return names[pml_store_cell_lists(info)];
}

bool pml_store_same_info(const struct pml_store_info *left, const struct pml_store_info *right)
{
    return memcmp(left->pack, right->pack, PML_ID_SIZE) == 0 && left->items == right->items &&
           left->sketch == right->sketch && left->dimensions == right->dimensions &&
           left->cells_per_item == right->cells_per_item && left->share == right->share &&
           left->iterations == right->iterations;
}

pml_outcome pml_store_check_item(const struct pml_store_info *info, const struct pml_store_item *item,
                                 struct pml_message *message)
{
    const struct pml_candidate *candidate = &item->candidate;
    bool sound = candidate->item <= INT64_MAX && item->slot < PML_SLOTS_MAX && candidate->sketch_size == info->sketch &&
                 candidate->payload_size <= PML_PAYLOAD_MAX && (info->dimensions == 0 || item->place) &&
                 (info->share > 0 || item->cell_count == info->cells_per_item) &&
                 (item->cell_count == 0 || item->cells);
    for (uint32_t i = 0; sound && i < info->dimensions; i++)
        sound = isfinite(item->place[i]);
    if (sound)
        return PML_DONE;
    return pml_say(message, "item %llu does not fit the store: check its number, sketch, place and payload.",
                   (unsigned long long)candidate->item);
}

size_t pml_store_place_bytes(const float *place, uint32_t dimensions, uint8_t *bytes)
{
    for (uint32_t i = 0; i < dimensions; i++) {
        uint32_t bits;
        memcpy(&bits, &place[i], sizeof bits);
        for (unsigned j = 0; j < 4; j++)
            bytes[4 * i + j] = (uint8_t)(bits >> 8 * j);
    }
    return 4 * (size_t)dimensions;
}

pml_outcome pml_store_take_candidate(uint64_t digest, const uint8_t *bytes, size_t size, struct pml_fragment *fragment)
{
    if (!bytes || pml_digest_string(0, bytes, size) != digest || fragment->count == PML_CANDIDATES_MAX)
        return PML_DAMAGED;
    fragment->count++;
    return pml_bytes_append(&fragment->bytes, bytes, size);
}

bool pml_store_is_candidate(const struct pml_store_info *info, uint64_t item, const uint8_t *bytes, size_t size,
                            size_t *offset)
{
    struct pml_candidate candidate;
    return pml_candidate_read(bytes, size, offset, &candidate) && candidate.item == item &&
           candidate.sketch_size == info->sketch;
}

/* ---- digest ---- */

void pml_store_digest_begin(struct pml_store_digest *digest, const struct pml_store_info *info)
{
    uint64_t value = pml_digest_string(0, info->pack, PML_ID_SIZE);
    value = pml_digest_number(value, info->items);
    value = pml_digest_number(value, info->sketch);
    value = pml_digest_number(value, info->dimensions);
    value = pml_digest_number(value, info->cells_per_item);
    value = pml_digest_number(value, info->share);
    value = pml_digest_number(value, info->iterations);
    *digest = (struct pml_store_digest){.info = info, .value = value};
}

void pml_store_digest_item(struct pml_store_digest *digest, uint64_t item, uint64_t slot, const uint8_t *place,
                           uint64_t own)
{
    const size_t dimensions = digest->info->dimensions;
    digest->items++;
    digest->value = pml_digest_number(digest->value, item);
    digest->value = pml_digest_number(digest->value, slot);
    if (dimensions > 0)
        digest->value = pml_digest_string(digest->value, place, 4 * dimensions);
    digest->value = pml_digest_number(digest->value, own);
}

enum pml_cell_row pml_store_digest_cell(struct pml_store_digest *digest, uint64_t slot, uint64_t cell, uint64_t item)
{
    const bool first = digest->listed == 0, same = !first && slot == digest->slot && cell == digest->cell;
    /* a tree whose branches meet again would be read almost for ever */
    if (!first &&
        !(slot > digest->slot || (slot == digest->slot && cell > digest->cell) || (same && item > digest->item)))
        return PML_CELL_UNORDERED;
    digest->run = same ? digest->run + 1 : 1;
    digest->slot = slot;
    digest->cell = cell;
    digest->item = item;
    digest->listed++;
    digest->value = pml_digest_number(digest->value, slot);
    digest->value = pml_digest_number(digest->value, cell);
    digest->value = pml_digest_number(digest->value, item);
    return digest->run > PML_CANDIDATES_MAX ? PML_CELL_FULL : PML_CELL_OK;
}

bool pml_store_digest_complete(const struct pml_store_digest *digest)
{
    const struct pml_store_info *info = digest->info;
    return digest->items == info->items && (info->share > 0 || digest->listed == info->items * info->cells_per_item);
}

/* ---- messages ---- */

pml_outcome pml_store_say_full(const char *name, struct pml_message *message)
{
    return pml_say(message,
                   "%.200s: a cell has more than the %u items that an answer can carry: use a pack with more cells.",
                   name, PML_CANDIDATES_MAX);
}

pml_outcome pml_store_say_twice(uint64_t item, struct pml_message *message)
{
    return pml_say(message, "item %llu appears twice: use every number once.", (unsigned long long)item);
}
