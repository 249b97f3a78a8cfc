/* SPDX-License-Identifier: Apache-2.0
 * In: the sizes of cells and items. Out: the length that no answer exceeds, so that all can be padded to it. */
#include "longest.h"

#include <stdlib.h>

/* Bytes of the shortest CBOR head of a number, a length or an array. */
static uint64_t head_size(uint64_t value)
{
    return value < 24 ? 1 : value <= UINT8_MAX ? 2 : value <= UINT16_MAX ? 3 : value <= UINT32_MAX ? 5 : 9;
}

/* SPEC 3: [1, id, slots, L, N], and [slot, count]. */
static uint64_t header_size(const pml_pack_info *pack, uint32_t slots, uint64_t items)
{
    return 1 + 1 + head_size(PML_ID_SIZE) + PML_ID_SIZE + head_size(slots) + head_size(pack->sketch) + head_size(items);
}

static uint64_t slot_size(uint32_t slot, uint64_t count)
{
    return 1 + head_size(slot) + head_size(count);
}

/* ---- cells ---- */

/* The longest part of each slot, and the parts that were seen. */
struct parts {
    uint64_t *longest;
    uint32_t slots;
    uint64_t bytes, count;
};

/* A pml_size_fn. */
static pml_outcome take_cell(void *context, struct pml_cell cell, uint64_t count, uint64_t bytes)
{
    struct parts *parts = context;
    const uint64_t size = slot_size(cell.slot, count) + bytes;
    if (cell.slot >= parts->slots)
        return PML_DAMAGED;
    if (size > parts->longest[cell.slot])
        parts->longest[cell.slot] = size;
    parts->bytes += size;
    parts->count++;
    return PML_DONE;
}

static pml_outcome measure_cells(struct pml_store *store, const pml_pack_info *pack, struct pml_longest *longest)
{
    const uint64_t items = pml_store_describe(store)->items;
    struct parts parts = {.longest = calloc(pack->slots, sizeof *parts.longest), .slots = pack->slots};
    uint64_t largest = 0, sum = 0;
    if (!parts.longest)
        return PML_NO_MEMORY;
    for (uint32_t slot = 0; slot < pack->slots; slot++)
        parts.longest[slot] = slot_size(slot, 0); /* cells that list nothing have a part too */
    pml_outcome outcome = pml_store_sizes(store, PML_SIZED_CELLS, take_cell, &parts);
    for (uint32_t slot = 0; slot < pack->slots; slot++) {
        sum += parts.longest[slot];
        largest = parts.longest[slot] > largest ? parts.longest[slot] : largest;
    }
    free(parts.longest);
    /* Cells that list nothing have a head, whose length does not matter here. */
    longest->parts = parts.bytes + ((uint64_t)pack->slots * pack->cells - parts.count) * slot_size(pack->slots, 0);
    longest->message = header_size(pack, 1, items) + largest;
    longest->response = header_size(pack, pack->slots, items) + sum;
    return outcome;
}

/* ---- items ---- */

/* The longest candidates of one slot, as many as an answer has: a heap with the shortest of them on top. */
struct heap {
    uint32_t *sizes;
    uint32_t count, room;
};

struct heaps {
    struct heap *slots;
    uint32_t count, nearest;
};

static void sift_down(struct heap *heap, uint32_t at)
{
    for (uint32_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && heap->sizes[child + 1] < heap->sizes[child])
            child++;
        if (heap->sizes[at] <= heap->sizes[child])
            return;
        const uint32_t moved = heap->sizes[at];
        heap->sizes[at] = heap->sizes[child];
        heap->sizes[child] = moved;
    }
}

static void sift_up(struct heap *heap, uint32_t at)
{
    for (uint32_t parent; at > 0 && heap->sizes[parent = (at - 1) / 2] > heap->sizes[at]; at = parent) {
        const uint32_t moved = heap->sizes[at];
        heap->sizes[at] = heap->sizes[parent];
        heap->sizes[parent] = moved;
    }
}

/* A pml_size_fn. A slot with few items takes little memory, whatever `nearest` is. */
static pml_outcome take_item(void *context, struct pml_cell cell, uint64_t count, uint64_t bytes)
{
    const struct heaps *heaps = context;
    (void)count;
    if (cell.slot >= heaps->count || bytes > UINT32_MAX)
        return PML_DAMAGED;
    struct heap *heap = &heaps->slots[cell.slot];
    if (heap->count == heaps->nearest) {
        if (bytes > heap->sizes[0]) {
            heap->sizes[0] = (uint32_t)bytes;
            sift_down(heap, 0);
        }
        return PML_DONE;
    }
    if (heap->count == heap->room) {
        const uint32_t room = heap->room > 0 ? 2 * heap->room : 16;
        uint32_t *more = realloc(heap->sizes, room * sizeof *more);
        if (!more)
            return PML_NO_MEMORY;
        heap->sizes = more;
        heap->room = room;
    }
    heap->sizes[heap->count++] = (uint32_t)bytes;
    sift_up(heap, heap->count - 1);
    return PML_DONE;
}

static pml_outcome measure_items(struct pml_store *store, const pml_pack_info *pack, uint32_t nearest,
                                 struct pml_longest *longest)
{
    struct heaps heaps = {calloc(pack->slots, sizeof *heaps.slots), pack->slots, nearest};
    if (!heaps.slots)
        return PML_NO_MEMORY;
    pml_outcome outcome = pml_store_sizes(store, PML_SIZED_ITEMS, take_item, &heaps);
    longest->gaussian = header_size(pack, pack->slots, pml_store_describe(store)->items);
    for (uint32_t slot = 0; slot < pack->slots; slot++) {
        const struct heap *heap = &heaps.slots[slot];
        longest->gaussian += slot_size(slot, heap->count);
        for (uint32_t i = 0; i < heap->count; i++)
            longest->gaussian += heap->sizes[i];
        free(heap->sizes);
    }
    free(heaps.slots);
    return outcome;
}

/* ---- all ---- */

pml_outcome pml_longest_measure(struct pml_store *store, const pml_pack_info *pack, uint32_t nearest,
                                struct pml_longest *longest)
{
    const struct pml_store_info *info = pml_store_describe(store);
    pml_outcome outcome = PML_DONE;
    *longest = (struct pml_longest){0};
    if (pack->sketch == 0)
        return PML_DONE; /* answers need sketches */
    if (pml_store_cell_lists(info) != PML_LISTS_NONE)
        outcome = measure_cells(store, pack, longest);
    if (outcome == PML_DONE && info->dimensions > 0)
        outcome = measure_items(store, pack, nearest, longest);
    return outcome;
}

/* SPEC 2: a release with so many bytes of symbols or values. */
static size_t release_size(size_t values, bool step)
{
    const size_t version = 2, id = 1 + 1 + PML_ID_SIZE, mechanism = 2, step_size = step ? 1 + 1 + 4 : 0;
    return 1 + version + id + mechanism + step_size + 1 + (size_t)head_size(values) + values;
}

static uint32_t bits_of(uint64_t symbols)
{
    uint32_t bits = 0;
    while ((uint64_t)1 << bits < symbols)
        bits++;
    return bits;
}

size_t pml_longest_message(const pml_pack_info *pack)
{
    return release_size((bits_of((uint64_t)pack->slots * pack->cells) + 7) / 8, false);
}

uint64_t pml_longest_for(const struct pml_longest *longest, const pml_pack_info *pack, size_t release)
{
    const size_t symbols = ((size_t)pack->slots * bits_of(pack->cells) + 7) / 8;
    const size_t values = (size_t)pack->slots * pack->dimensions;
    uint64_t most = 0;
    if (release == pml_longest_message(pack) && longest->message > most)
        most = longest->message;
    if (release == release_size(symbols, false) && longest->response > most)
        most = longest->response;
    if ((release == release_size(values, true) || release == release_size(2 * values, true)) &&
        longest->gaussian > most)
        most = longest->gaussian;
    return most;
}
