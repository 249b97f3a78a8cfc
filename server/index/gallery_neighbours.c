/* SPDX-License-Identifier: Apache-2.0
 * Finds neighbours slot by slot: from those before the change where these help, else from nothing. */
#include "gallery_neighbours.h"
#include "common/rows/knn.h"
#include "common/rows/knn_change.h"
#include "server/lists/index_lists_parts.h"
#include "server/gallery/little_endian.h"

#include <stdlib.h>
#include <string.h>

#define BLOB_NUMBERS ((size_t)1 << 24) /* 64 MiB */

static const char what_neighbours[] = "the neighbours of items";

static unsigned reach_of(size_t count)
{
    return count > PML_LISTS_NEIGHBOURS ? PML_LISTS_NEIGHBOURS : count > 0 ? (unsigned)count - 1 : 0;
}

/* ---- by slot ---- */

/* Items by slot, ascending in each. */
struct by_slot {
    size_t *starts;    /* of each slot, and one more */
    uint32_t *indices; /* of items */
    uint32_t *places;  /* of each item in its slot */
};

static void free_by_slot(struct by_slot *order)
{
    free(order->starts);
    free(order->indices);
    free(order->places);
}

static pml_outcome order_by_slot(const struct pml_items *items, uint32_t slots, struct by_slot *order)
{
    *order = (struct by_slot){calloc((size_t)slots + 2, sizeof *order->starts),
                              malloc((items->count + 1) * sizeof *order->indices),
                              malloc((items->count + 1) * sizeof *order->places)};
    if (!order->starts || !order->indices || !order->places)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < items->count; i++) {
        if (items->slots[i] >= slots)
            return PML_DAMAGED;
        order->starts[items->slots[i] + 2]++;
    }
    for (uint32_t s = 0; s < slots; s++)
        order->starts[s + 1] += order->starts[s];
    for (size_t i = 0; i < items->count; i++) {
        size_t *at = &order->starts[items->slots[i] + 1]; /* moves from the slot's start to its end */
        order->indices[*at] = (uint32_t)i;
        order->places[i] = (uint32_t)*at; /* among all: less the slot's start below */
        ++*at;
    }
    for (size_t i = 0; i < items->count; i++)
        order->places[i] -= (uint32_t)order->starts[items->slots[i]];
    return PML_DONE;
}

/* ---- finding ---- */

struct slot_change {
    const struct pml_neighbours_change *change;
    struct pml_rows rows; /* of the slot */
    const uint32_t *indices;
    const struct by_slot *before; /* NULL: nothing is known */
    uint32_t slot;
    const uint32_t *known; /* lists before */
    unsigned reach;
};

static pml_outcome find_anew(const struct slot_change *slot, bool exact, size_t looked_at, uint32_t *lists)
{
    const struct pml_neighbours_change *change = slot->change;
    const struct pml_rows nobody = {.columns = slot->rows.columns};
    const struct pml_knn_side items = {&slot->rows, slot->reach, lists}, guests = {&nobody, 0, NULL};
    if (exact)
        return pml_knn(&slot->rows, slot->reach, change->threads, change->progress, lists);
    return pml_knn_near(&items, &guests, looked_at, change->threads, change->progress);
}

static pml_outcome find_changed(const struct slot_change *slot, size_t before_count, size_t looked_at, uint32_t *lists)
{
    const struct pml_neighbours_change *change = slot->change;
    uint32_t *was = malloc((slot->rows.count + 1) * sizeof *was);
    if (!was)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < slot->rows.count; i++) {
        const uint32_t index = change->was[slot->indices[i]];
        was[i] = index == PML_NOBODY ? PML_KNN_NEW : slot->before->places[index];
    }
    const struct pml_knn_change knn = {.rows = &slot->rows,
                                       .was = was,
                                       .before_count = before_count,
                                       .before = slot->known,
                                       .reach = slot->reach,
                                       .looked_at = looked_at,
                                       .threads = change->threads,
                                       .progress = change->progress};
    const pml_outcome outcome = pml_knn_change(&knn, lists);
    free(was);
    return outcome;
}

/* Lists that were not exact are no help in a slot that has become small enough for exact ones. */
static pml_outcome find_in_slot(const struct slot_change *slot, size_t before_count, uint32_t *lists)
{
    const size_t limit = slot->change->exact > 0 ? slot->change->exact : PML_LISTS_EXACT,
                 looked_at = slot->change->looked_at > 0 ? slot->change->looked_at : PML_LISTS_LOOKED_AT;
    const bool exact = slot->rows.count <= limit, was_exact = before_count <= limit;
    if (slot->reach == 0)
        return PML_DONE;
    if (slot->before && before_count > 0 && reach_of(before_count) == slot->reach && (was_exact || !exact))
        return find_changed(slot, before_count, exact ? 0 : looked_at, lists);
    return find_anew(slot, exact, looked_at, lists);
}

static pml_outcome find_all(const struct pml_neighbours_change *change, const struct by_slot *before,
                            const struct by_slot *after, struct pml_neighbours *found)
{
    const struct pml_items *items = change->after;
    const uint32_t *known = change->known ? change->known->places : NULL;
    pml_outcome outcome = PML_DONE;
    for (uint32_t s = 0; s < change->slots && outcome == PML_DONE; s++) {
        const size_t first = after->starts[s], count = after->starts[s + 1] - first,
                     before_count = known ? before->starts[s + 1] - before->starts[s] : 0;
        struct slot_change slot = {.change = change,
                                   .indices = after->indices + first,
                                   .before = known ? before : NULL,
                                   .slot = s,
                                   .known = known,
                                   .reach = reach_of(count)};
        struct pml_rows gathered = {0};
        if (change->slots > 1 && count > 0)
            outcome = pml_rows_gather(&items->rows, slot.indices, count, &gathered);
        slot.rows = change->slots > 1 ? gathered : items->rows;
        slot.rows.count = count;
        if (outcome == PML_DONE)
            outcome = find_in_slot(&slot, before_count, found->places + found->count);
        pml_rows_free(&gathered);
        found->count += count * slot.reach;
        known = known ? known + before_count * reach_of(before_count) : NULL;
        pml_progress_tell(change->progress, (double)(s + 1) / change->slots);
    }
    return outcome;
}

pml_outcome pml_neighbours_follow(const struct pml_neighbours_change *change, struct pml_neighbours *found)
{
    struct by_slot before = {0}, after = {0};
    *found = (struct pml_neighbours){
        .places = malloc((change->after->count * PML_LISTS_NEIGHBOURS + 1) * sizeof *found->places)};
    pml_outcome outcome = found->places ? order_by_slot(change->after, change->slots, &after) : PML_NO_MEMORY;
    if (outcome == PML_DONE && change->known)
        outcome = order_by_slot(change->before, change->slots, &before);
    if (outcome == PML_DONE)
        outcome = find_all(change, &before, &after, found);
    free_by_slot(&before);
    free_by_slot(&after);
    return outcome;
}

/* ---- in the store ---- */

/* A blob: numbers of a slot with so many items, from `first` on. */
struct piece {
    uint32_t slot;
    size_t items, first, count;
};
typedef pml_outcome (*piece_fn)(void *context, const struct piece *piece);

/* Calls `take` for each blob of each slot; counts all numbers. */
static pml_outcome each_blob(const struct pml_items *items, uint32_t slots, piece_fn take, void *context, size_t *all)
{
    size_t *counts = calloc((size_t)slots + 1, sizeof *counts), at = 0;
    pml_outcome outcome = counts ? PML_DONE : PML_NO_MEMORY;
    for (size_t i = 0; i < items->count && outcome == PML_DONE; i++) {
        if (items->slots[i] >= slots)
            outcome = PML_DAMAGED;
        else
            counts[items->slots[i]]++;
    }
    for (uint32_t s = 0; s < slots && outcome == PML_DONE; s++)
        for (size_t left = counts[s] * reach_of(counts[s]); left > 0 && outcome == PML_DONE;) {
            const struct piece piece = {s, counts[s], at, left < BLOB_NUMBERS ? left : BLOB_NUMBERS};
            outcome = take ? take(context, &piece) : PML_DONE;
            left -= piece.count;
            at += piece.count;
        }
    *all = at;
    free(counts);
    return outcome;
}

struct transfer {
    struct pml_store *store;
    const struct pml_neighbours *neighbours; /* to be saved */
    uint32_t *places;                        /* to be loaded */
    const struct pml_state *state;
    struct pml_state *saved;
    size_t index; /* of the blob */
    struct pml_message *message;
};

static pml_outcome save_piece(void *context, const struct piece *piece)
{
    struct transfer *transfer = context;
    struct pml_state *state = transfer->saved;
    struct pml_state_neighbours *grown =
        realloc(state->neighbours, ((size_t)state->neighbour_count + 1) * sizeof *grown);
    uint8_t *bytes = malloc(4 * piece->count);
    if (grown)
        state->neighbours = grown;
    if (!grown || !bytes) {
        free(bytes);
        return pml_say_memory(transfer->message);
    }
    for (size_t i = 0; i < piece->count; i++)
        pml_put32(bytes + 4 * i, transfer->neighbours->places[piece->first + i]);
    struct pml_state_neighbours *entry = &state->neighbours[state->neighbour_count++];
    entry->slot = piece->slot;
    const pml_outcome outcome =
        pml_store_put(transfer->store, PML_PRIVATE, bytes, 4 * piece->count, &entry->name, transfer->message);
    free(bytes);
    return outcome;
}

pml_outcome pml_neighbours_save(struct pml_store *store, const struct pml_neighbours *neighbours,
                                const struct pml_items *items, uint32_t slots, struct pml_state *state,
                                struct pml_message *message)
{
    struct transfer transfer = {.store = store, .neighbours = neighbours, .saved = state, .message = message};
    size_t all;
    state->neighbour_count = 0;
    return each_blob(items, slots, save_piece, &transfer, &all);
}

static pml_outcome load_piece(void *context, const struct piece *piece)
{
    struct transfer *transfer = context;
    const struct pml_state *state = transfer->state;
    struct pml_bytes bytes = {0};
    if (transfer->index == state->neighbour_count || state->neighbours[transfer->index].slot != piece->slot)
        return pml_blob_say(PML_DAMAGED, what_neighbours, transfer->message);
    pml_outcome outcome = pml_blob_load(transfer->store, PML_PRIVATE, &state->neighbours[transfer->index++].name,
                                        what_neighbours, &bytes, transfer->message);
    if (outcome == PML_DONE && bytes.size != 4 * piece->count)
        outcome = pml_blob_say(PML_DAMAGED, what_neighbours, transfer->message);
    for (size_t i = 0; i < piece->count && outcome == PML_DONE; i++) {
        transfer->places[piece->first + i] = pml_get32(bytes.bytes + 4 * i);
        if (transfer->places[piece->first + i] >= piece->items)
            outcome = pml_blob_say(PML_DAMAGED, what_neighbours, transfer->message);
    }
    pml_bytes_free(&bytes);
    return outcome;
}

pml_outcome pml_neighbours_load(struct pml_store *store, const struct pml_state *state, const struct pml_items *items,
                                uint32_t slots, struct pml_neighbours *neighbours, struct pml_message *message)
{
    struct transfer transfer = {.store = store, .state = state, .message = message};
    *neighbours = (struct pml_neighbours){0};
    pml_outcome outcome = each_blob(items, slots, NULL, NULL, &neighbours->count);
    neighbours->places = transfer.places = malloc((neighbours->count + 1) * sizeof *neighbours->places);
    if (outcome != PML_DONE || !neighbours->places)
        return pml_blob_say(outcome == PML_DAMAGED ? PML_DAMAGED : PML_NO_MEMORY, what_neighbours, message);
    return each_blob(items, slots, load_piece, &transfer, &neighbours->count);
}
