/* SPDX-License-Identifier: Apache-2.0
 * In: items, in any order. Out: fragments of answers, as every other store gives them.
 * Never checks what it was told: who writes it reads it. */
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

static int list_item(struct memory_store *memory, const struct pml_store_item *item)
{
    if (memory->listed_count + item->cell_count > memory->listed_room) {
        const size_t room = 2 * memory->listed_room + item->cell_count;
        struct listed *more = realloc(memory->listed, room * sizeof *more);
        if (!more)
            return -1;
        memory->listed = more;
        memory->listed_room = room;
    }
    for (uint32_t i = 0; i < item->cell_count; i++)
        memory->listed[memory->listed_count++] = (struct listed){item->slot, item->cells[i], item->candidate.item};
    return 0;
}

static int add(struct pml_store_writer *writer, const struct pml_store_item *item, struct pml_message *message)
{
    struct memory_store *memory = of_writer(writer);
    const size_t start = memory->candidates.size, number = memory->entry_count, width = writer->info.dimensions;
    if (number == writer->info.items)
        return pml_say(message, "there are more than %llu items: make a larger store.",
                       (unsigned long long)writer->info.items);
    if (pml_candidate_write(&memory->candidates, &item->candidate) != 0 || list_item(memory, item) != 0)
        return pml_say_memory(message);
    for (size_t i = 0; i < width; i++)
        memory->values[number * width + i] = item->place[i];
    memory->entries[memory->entry_count++] =
        (struct entry){item->candidate.item, item->slot, start, memory->candidates.size - start, number * width};
    return 0;
}

static int checkpoint(struct pml_store_writer *writer, struct pml_message *message)
{
    (void)writer, (void)message;
    return 0;
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

static int finish(struct pml_store_writer *writer, struct pml_message *message)
{
    struct memory_store *memory = of_writer(writer);
    const unsigned dimensions = writer->info.dimensions;
    qsort(memory->entries, memory->entry_count, sizeof *memory->entries, by_item);
    if (memory->listed_count > 0)
        qsort(memory->listed, memory->listed_count, sizeof *memory->listed, by_cell);
    if (dimensions == 0)
        return 0;
    if (pml_places_allocate(&memory->places, memory->entry_count, dimensions) != 0)
        return pml_say_memory(message);
    for (size_t i = 0; i < memory->entry_count; i++) {
        const struct entry *entry = &memory->entries[i];
        pml_places_put(&memory->places, entry->item, entry->slot, memory->values + entry->place);
    }
    return pml_places_group(&memory->places) == 0 ? 0 : pml_say_memory(message);
}

static void abandon(struct pml_store_writer *writer)
{
    (void)writer;
}

/* ---- reading ---- */

static int append(const struct memory_store *memory, uint64_t item, struct pml_fragment *fragment)
{
    const struct entry key = {.item = item};
    const struct entry *entry = bsearch(&key, memory->entries, memory->entry_count, sizeof key, by_item);
    if (!entry)
        return PML_STORE_FAILED;
    fragment->count++;
    return pml_bytes_append(&fragment->bytes, memory->candidates.bytes + entry->start, entry->size) == 0
               ? PML_STORE_OK
               : PML_STORE_NO_MEMORY;
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

static int read_cell_size(struct pml_store *store, uint32_t slot, uint32_t cell, uint64_t *size)
{
    const struct memory_store *memory = (struct memory_store *)store;
    *size = find_cell(memory, slot, cell + 1) - find_cell(memory, slot, cell);
    return PML_STORE_OK;
}

static int read_cell(struct pml_store *store, uint32_t slot, uint32_t cell, struct pml_fragment *fragment)
{
    const struct memory_store *memory = (struct memory_store *)store;
    const size_t end = find_cell(memory, slot, cell + 1);
    int status = PML_STORE_OK;
    for (size_t i = find_cell(memory, slot, cell); i < end && status == PML_STORE_OK; i++)
        status = append(memory, memory->listed[i].item, fragment);
    return status;
}

static int read_nearest(struct pml_store *store, uint32_t slot, const double *place, uint32_t count,
                        struct pml_fragment *fragment)
{
    const struct memory_store *memory = (struct memory_store *)store;
    struct pml_near *near;
    size_t found;
    if (store->info.dimensions == 0)
        return PML_STORE_FAILED;
    if (pml_places_nearest(&memory->places, slot, place, count, &near, &found) != 0)
        return PML_STORE_NO_MEMORY;
    int status = PML_STORE_OK;
    for (size_t i = 0; i < found && status == PML_STORE_OK; i++)
        status = append(memory, near[i].item, fragment);
    free(near);
    return status;
}

static int ping(struct pml_store *store)
{
    (void)store;
    return PML_STORE_OK;
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

/* Without open and begin: no URI leads here. */
static const struct pml_store_kind memory_kind = {
    .close = close_store,
    .cell = read_cell,
    .cell_size = read_cell_size,
    .nearest = read_nearest,
    .ping = ping,
    .add = add,
    .checkpoint = checkpoint,
    .finish = finish,
    .abandon = abandon,
};

int pml_store_memory_make(struct pml_store **store, struct pml_store_writer **writer, const struct pml_store_info *info,
                          struct pml_message *message)
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
    return 0;
}
