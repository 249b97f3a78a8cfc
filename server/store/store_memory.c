/* SPDX-License-Identifier: Apache-2.0
 * A store in memory. It checks nothing that it is given, because whoever writes it also reads it. */
#include "store_memory.h"
#include "common/message.h"
#include "places.h"
#include "store_kind.h"

#include <stdlib.h>

struct entry {
    uint64_t item;
    uint32_t slot;
    size_t start, size; /* of its candidate */
    size_t place;       /* of its place, in numbers */
};

struct listed {
    uint32_t slot, cell;
    uint64_t item;
};

struct memory_store {
    struct pml_store store; /* first: the store is this */
    struct pml_store_writer writer;
    struct entry *entries; /* ascending by item once finished */
    size_t entry_count;
    struct listed *listed; /* ascending by slot, cell and item once finished */
    size_t listed_count, listed_room;
    float *values; /* places */
    struct pml_bytes candidates;
    struct pml_places places;
};

static struct memory_store *of_writer(struct pml_store_writer *writer)
{
    return (struct memory_store *)((char *)writer - offsetof(struct memory_store, writer));
}

/* ---- writing ---- */

static pml_outcome list_item(struct memory_store *memory, const struct pml_store_item *item)
{
    if (memory->listed_count + item->cell_count > memory->listed_room) {
        const size_t room = 2 * memory->listed_room + item->cell_count;
        struct listed *more = realloc(memory->listed, room * sizeof *more);
        if (!more)
            return PML_NO_MEMORY;
        memory->listed = more;
        memory->listed_room = room;
    }
    for (uint32_t i = 0; i < item->cell_count; i++)
        memory->listed[memory->listed_count++] = (struct listed){item->slot, item->cells[i], item->candidate.item};
    return PML_DONE;
}

static pml_outcome add(struct pml_store_writer *writer, const struct pml_store_item *item, struct pml_message *message)
{
    struct memory_store *memory = of_writer(writer);
    const size_t start = memory->candidates.size, number = memory->entry_count, width = writer->info.dimensions;
    if (number == writer->info.items)
        return pml_say(message, "there are more than %llu items: make a larger store.",
                       (unsigned long long)writer->info.items);
    if (pml_candidate_write(&memory->candidates, &item->candidate) != PML_DONE || list_item(memory, item) != PML_DONE)
        return pml_say_memory(message);
    for (size_t i = 0; i < width; i++)
        memory->values[number * width + i] = item->place[i];
    memory->entries[memory->entry_count++] =
        (struct entry){item->candidate.item, item->slot, start, memory->candidates.size - start, number * width};
    return PML_DONE;
}

static pml_outcome checkpoint(struct pml_store_writer *writer, struct pml_message *message)
{
    (void)writer, (void)message;
    return PML_DONE;
}

static int by_item(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return a->item < b->item ? -1 : a->item > b->item;
}

static int by_cell(const void *left, const void *right)
{
    const struct listed *a = left, *b = right;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    if (a->cell != b->cell)
        return a->cell < b->cell ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

static pml_outcome finish(struct pml_store_writer *writer, struct pml_message *message)
{
    struct memory_store *memory = of_writer(writer);
    const unsigned dimensions = writer->info.dimensions;
    qsort(memory->entries, memory->entry_count, sizeof *memory->entries, by_item);
    if (memory->listed_count > 0)
        qsort(memory->listed, memory->listed_count, sizeof *memory->listed, by_cell);
    if (dimensions == 0)
        return PML_DONE;
    if (pml_places_allocate(&memory->places, memory->entry_count, dimensions) != 0)
        return pml_say_memory(message);
    for (size_t i = 0; i < memory->entry_count; i++) {
        const struct entry *entry = &memory->entries[i];
        pml_places_put(&memory->places, entry->item, entry->slot, memory->values + entry->place);
    }
    return pml_places_group(&memory->places) == PML_DONE ? PML_DONE : pml_say_memory(message);
}

static void abandon(struct pml_store_writer *writer)
{
    (void)writer;
}

/* ---- reading ---- */

static pml_outcome append(const struct memory_store *memory, uint64_t item, struct pml_fragment *fragment)
{
    const struct entry key = {.item = item};
    const struct entry *entry = bsearch(&key, memory->entries, memory->entry_count, sizeof key, by_item);
    if (!entry)
        return PML_DAMAGED;
    fragment->count++;
    return pml_bytes_append(&fragment->bytes, memory->candidates.bytes + entry->start, entry->size);
}

/* The first listed item that is not before (slot, cell). */
static size_t find_cell(const struct memory_store *memory, uint32_t slot, uint32_t cell)
{
    size_t low = 0, high = memory->listed_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct listed *at = &memory->listed[middle];
        if (at->slot < slot || (at->slot == slot && at->cell < cell))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static pml_outcome read_cell_size(struct pml_store *store, struct pml_cell cell, uint64_t *size)
{
    const struct memory_store *memory = (struct memory_store *)store;
    *size = find_cell(memory, cell.slot, cell.cell + 1) - find_cell(memory, cell.slot, cell.cell);
    return PML_DONE;
}

static pml_outcome append_cell(const struct memory_store *memory, struct pml_cell cell, struct pml_fragment *fragment)
{
    const size_t end = find_cell(memory, cell.slot, cell.cell + 1);
    pml_outcome outcome = PML_DONE;
    for (size_t i = find_cell(memory, cell.slot, cell.cell); i < end && outcome == PML_DONE; i++)
        outcome = append(memory, memory->listed[i].item, fragment);
    return outcome;
}

static pml_outcome append_nearest(const struct memory_store *memory, const struct pml_point *point, uint32_t nearest,
                                  struct pml_fragment *fragment)
{
    struct pml_near *near;
    size_t found;
    pml_outcome outcome = pml_places_nearest(&memory->places, point->slot, point->place, nearest, &near, &found);
    for (size_t i = 0; i < found && outcome == PML_DONE; i++)
        outcome = append(memory, near[i].item, fragment);
    free(near);
    return outcome;
}

static pml_outcome read_wanted(struct pml_store *store, const struct pml_wanted *wanted, pml_take_fn take,
                               void *context)
{
    const struct memory_store *memory = (struct memory_store *)store;
    struct pml_fragment fragment = {0};
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < wanted->count && outcome == PML_DONE; i++) {
        fragment.count = 0, fragment.bytes.size = 0;
        outcome = wanted->cells ? append_cell(memory, wanted->cells[i], &fragment)
                                : append_nearest(memory, &wanted->points[i], wanted->nearest, &fragment);
        if (outcome == PML_DONE)
            outcome = take(context, i, &fragment);
    }
    pml_bytes_free(&fragment.bytes);
    return outcome;
}

static pml_outcome read_items(struct pml_store *store, pml_take_fn take, void *context)
{
    const struct memory_store *memory = (struct memory_store *)store;
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < memory->entry_count && outcome == PML_DONE; i++) {
        const struct entry *entry = &memory->entries[i];
        const struct pml_fragment fragment = {1, {memory->candidates.bytes + entry->start, entry->size, entry->size}};
        outcome = take(context, i, &fragment);
    }
    return outcome;
}

/* The listed items are in the order of their cells. */
static pml_outcome cell_sizes(const struct memory_store *memory, pml_size_fn take, void *context)
{
    struct pml_fragment fragment = {0};
    pml_outcome outcome = PML_DONE;
    for (size_t at = 0; at < memory->listed_count && outcome == PML_DONE; at += fragment.count) {
        const struct pml_cell cell = {memory->listed[at].slot, memory->listed[at].cell};
        fragment.count = 0, fragment.bytes.size = 0;
        outcome = append_cell(memory, cell, &fragment);
        if (outcome == PML_DONE)
            outcome = take(context, cell, fragment.count, fragment.bytes.size);
    }
    pml_bytes_free(&fragment.bytes);
    return outcome;
}

static pml_outcome read_sizes(struct pml_store *store, enum pml_sized sized, pml_size_fn take, void *context)
{
    const struct memory_store *memory = (struct memory_store *)store;
    pml_outcome outcome = PML_DONE;
    if (sized == PML_SIZED_CELLS)
        return cell_sizes(memory, take, context);
    for (size_t i = 0; i < memory->entry_count && outcome == PML_DONE; i++)
        outcome = take(context, (struct pml_cell){memory->entries[i].slot, 0}, 1, memory->entries[i].size);
    return outcome;
}

static pml_outcome ping(struct pml_store *store)
{
    (void)store;
    return PML_DONE;
}

/* ---- both ---- */

static void close_store(struct pml_store *store)
{
    struct memory_store *memory = (struct memory_store *)store;
    free(memory->entries);
    free(memory->listed);
    free(memory->values);
    pml_bytes_free(&memory->candidates);
    pml_places_free(&memory->places);
    free(memory);
}

/* There is no open and no begin, because no URI leads here. */
static const struct pml_store_kind memory_kind = {
    .close = close_store,
    .read = read_wanted,
    .items = read_items,
    .cell_size = read_cell_size,
    .sizes = read_sizes,
    .ping = ping,
    .add = add,
    .checkpoint = checkpoint,
    .finish = finish,
    .abandon = abandon,
};

pml_outcome pml_store_memory_make(struct pml_store **store, struct pml_store_writer **writer,
                                  const struct pml_store_info *info, struct pml_message *message)
{
    struct memory_store *made = calloc(1, sizeof *made);
    *store = NULL;
    *writer = NULL;
    if (!made)
        return pml_say_memory(message);
    const size_t items = (size_t)info->items;
    made->entries = calloc(items, sizeof *made->entries);
    made->values = calloc(items * info->dimensions + 1, sizeof *made->values);
    made->store = (struct pml_store){&memory_kind, *info};
    made->writer = (struct pml_store_writer){&memory_kind, *info};
    if (!made->entries || !made->values) {
        close_store(&made->store);
        return pml_say_memory(message);
    }
    *store = &made->store;
    *writer = &made->writer;
    return PML_DONE;
}
