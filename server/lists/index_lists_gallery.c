/* SPDX-License-Identifier: Apache-2.0
 * Orders the rows of a gallery by slot and item number, and finds their neighbours and those of the guests. The result does
 * not depend on the order of the rows, nor on a pack. */
#include "common/rows/knn.h"
#include "index_lists_parts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct origin {
    uint32_t slot, row;
    uint64_t item;
};

static int by_slot_and_item(const void *left, const void *right)
{
    const struct origin *a = left, *b = right;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

/* Fills origins in the order of slots and items, the number of rows of every slot, and the rows. */
static pml_outcome order(struct pml_lists_gallery *gallery, const struct pml_lists_source *source)
{
    const size_t rows = source->rows->count;
    struct origin *origins = malloc(rows * sizeof *origins);
    if (!origins)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < rows; i++) {
        origins[i] = (struct origin){source->slots[i], (uint32_t)i, source->items[i]};
        gallery->slots[source->slots[i]].rows.count++;
    }
    qsort(origins, rows, sizeof *origins, by_slot_and_item);
    for (size_t i = 0; i < rows; i++)
        gallery->origins[i] = origins[i].row;
    free(origins);
    return pml_rows_gather(source->rows, gallery->origins, rows, &gallery->rows);
}

/* The guests of every slot: those of its class, or all. */
static pml_outcome seat_guests(struct pml_lists_gallery *gallery, const struct pml_lists_source *source)
{
    const struct pml_rows *voters = source->voters;
    if (!voters)
        return PML_DONE;
    uint32_t *seated = malloc((voters->count + 1) * sizeof *seated);
    size_t count = 0;
    if (!seated)
        return PML_NO_MEMORY;
    for (uint32_t s = 0; s < (source->voter_slots ? gallery->slot_count : 1); s++)
        for (size_t i = 0; i < voters->count; i++)
            if (!source->voter_slots || source->voter_slots[i] == s)
                seated[count++] = (uint32_t)i;
    pml_outcome outcome = pml_rows_gather(voters, seated, count, &gallery->guests);
    free(seated);
    size_t first = 0, all = 0;
    for (uint32_t s = 0; s < gallery->slot_count && outcome == PML_DONE; s++) {
        struct pml_lists_slot *slot = &gallery->slots[s];
        size_t own = source->voter_slots ? 0 : count;
        for (size_t i = 0; source->voter_slots && i < voters->count; i++)
            own += source->voter_slots[i] == s;
        slot->guests = pml_rows_slice(&gallery->guests, first, own);
        slot->guest_reach = slot->rows.count > PML_LISTS_NEIGHBOURS ? PML_LISTS_NEIGHBOURS : (unsigned)slot->rows.count;
        first += source->voter_slots ? own : 0;
        all += own * slot->guest_reach;
    }
    gallery->guest_neighbours = malloc((all + 1) * sizeof *gallery->guest_neighbours);
    return gallery->guest_neighbours ? outcome : PML_NO_MEMORY;
}

/* The neighbours of one slot's items and guests: exactly, where it is not too large for that. */
static pml_outcome find_in_slot(const struct pml_lists_slot *slot, bool known, const struct pml_lists_source *source,
                                const struct pml_progress *progress)
{
    const size_t exact = source->exact > 0 ? source->exact : PML_LISTS_EXACT,
                 looked_at = source->looked_at > 0 ? source->looked_at : PML_LISTS_LOOKED_AT;
    const bool large = slot->reach > 0 && slot->rows.count > exact;
    struct pml_lists_slot guests_only = *slot;
    pml_outcome outcome = PML_DONE;
    guests_only.reach = 0;
    if (large && !known)
        return pml_lists_near(slot, looked_at, source->threads, progress);
    if (slot->reach > 0 && !known)
        outcome = pml_knn(&slot->rows, slot->reach, source->threads, progress, slot->neighbours);
    if (outcome == PML_DONE && slot->rows.count > 0 && slot->guests.count > 0)
        outcome = pml_lists_near(&guests_only, large ? looked_at : 0, source->threads, NULL);
    return outcome;
}

/* The neighbours of all slots, unless those of the items are known. */
static pml_outcome find_neighbours(struct pml_lists_gallery *gallery, const struct pml_lists_source *source)
{
    uint32_t *guests_at = gallery->guest_neighbours;
    size_t first = 0;
    pml_outcome outcome = PML_DONE;
    for (size_t s = 0; s < gallery->slot_count && outcome == PML_DONE; s++) {
        struct pml_lists_slot *slot = &gallery->slots[s];
        const size_t count = slot->rows.count;
        slot->rows = pml_rows_slice(&gallery->rows, first, count);
        slot->reach = count > PML_LISTS_NEIGHBOURS ? PML_LISTS_NEIGHBOURS : count > 0 ? (unsigned)count - 1 : 0;
        slot->neighbours = gallery->neighbours + gallery->neighbour_count;
        slot->guest_neighbours = guests_at;
        if (source->known)
            memcpy(slot->neighbours, source->known + gallery->neighbour_count,
                   count * slot->reach * sizeof *slot->neighbours);
        outcome = find_in_slot(slot, source->known, source, gallery->slot_count == 1 ? source->progress : NULL);
        gallery->neighbour_count += count * slot->reach;
        if (guests_at)
            guests_at += slot->guests.count * slot->guest_reach;
        first += count;
        pml_progress_tell(source->progress, (double)first / (double)source->rows->count);
    }
    return outcome;
}

const uint32_t *pml_lists_gallery_neighbours(const struct pml_lists_gallery *gallery, size_t *count)
{
    *count = gallery->neighbour_count;
    return gallery->neighbours;
}

pml_outcome pml_lists_gallery_make(struct pml_lists_gallery **gallery, const struct pml_lists_source *source)
{
    const size_t rows = source->rows->count;
    struct pml_lists_gallery *made = calloc(1, sizeof *made);
    *gallery = NULL;
    if (!made)
        return PML_NO_MEMORY;
    made->slot_count = source->slot_count;
    made->slots = calloc(source->slot_count, sizeof *made->slots);
    made->origins = malloc(rows * sizeof *made->origins);
    made->neighbours = malloc(rows * PML_LISTS_NEIGHBOURS * sizeof *made->neighbours);
    pml_outcome outcome = made->slots && made->origins && made->neighbours ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = order(made, source);
    if (outcome == PML_DONE)
        outcome = seat_guests(made, source);
    if (outcome == PML_DONE)
        outcome = find_neighbours(made, source);
    if (outcome == PML_DONE)
        *gallery = made;
    else
        pml_lists_gallery_free(made);
    return outcome;
}

void pml_lists_gallery_free(struct pml_lists_gallery *gallery)
{
    if (!gallery)
        return;
    pml_rows_free(&gallery->rows);
    pml_rows_free(&gallery->guests);
    free(gallery->guest_neighbours);
    free(gallery->origins);
    free(gallery->neighbours);
    free(gallery->slots);
    free(gallery);
}
