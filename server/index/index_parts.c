/* SPDX-License-Identifier: Apache-2.0
 * Encodes lists and pages in groups, so that payloads may be larger than memory. */
#include "index_parts.h"
#include "name_set.h"
#include "server/gallery/answer_list.h"
#include "server/gallery/places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A list to be: that of a cell, or a page. */
struct unit {
    const uint32_t *rows; /* ascending */
    size_t count;
    uint32_t slot;
    uint64_t bytes; /* at most so many */
    struct pml_bytes list;
    struct pml_entry entry;
};

struct making {
    const struct pml_parts_source *source;
    pml_pack_info pack;
    struct pml_store *store;
    struct pml_name_set there; /* what the store has */
    uint32_t *members;         /* rows of every cell, one cell after the other */
    uint32_t *ordered;         /* all rows, by slot */
    size_t *starts;            /* of every cell, and one more, or of every slot */
    size_t *slot_starts;
    struct unit *units; /* of cells, then of pages */
    size_t cell_units, unit_count;
    struct pml_bytes payloads; /* of a group */
    size_t *offsets;           /* of each row's payload in them; NOT_HERE: of a row that the group does not list */
    struct pml_parts_report *report;
    struct pml_message *message;
};

#define NOT_HERE SIZE_MAX
#define BESIDE 40u /* bytes of a candidate beside its sketch and its payload, at most; and of a list without them */

/* ---- which rows ---- */

/* From the cells of each row to the rows of each cell. */
static pml_outcome turn(struct making *making)
{
    const struct pml_cell_lists *lists = making->source->lists;
    const size_t cells = making->cell_units, rows = making->source->count;
    making->starts = calloc(cells + 2, sizeof *making->starts);
    making->members = malloc(((lists ? lists->starts[rows] : 0) + 1) * sizeof *making->members);
    if (!making->starts || !making->members)
        return PML_NO_MEMORY;
    for (int filling = 0; filling < 2 && lists; filling++) {
        for (size_t i = 0; i < rows; i++)
            for (size_t at = lists->starts[i]; at < lists->starts[i + 1]; at++) {
                const size_t cell = (size_t)making->source->slots[i] * making->pack.cells + lists->cells[at];
                if (filling) /* starts[cell + 1] moves from the cell's start to its end */
                    making->members[making->starts[cell + 1]++] = (uint32_t)i;
                else
                    making->starts[cell + 2]++;
            }
        for (size_t cell = 0; cell < cells && !filling; cell++)
            making->starts[cell + 1] += making->starts[cell];
    }
    return PML_DONE;
}

static pml_outcome order_by_slot(struct making *making)
{
    const struct pml_parts_source *source = making->source;
    making->slot_starts = calloc((size_t)making->pack.slots + 2, sizeof *making->slot_starts);
    making->ordered = malloc((source->count + 1) * sizeof *making->ordered);
    if (!making->slot_starts || !making->ordered)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < source->count; i++)
        making->slot_starts[source->slots[i] + 2]++;
    for (uint32_t s = 0; s < making->pack.slots; s++)
        making->slot_starts[s + 1] += making->slot_starts[s];
    for (size_t i = 0; i < source->count; i++)
        making->ordered[making->slot_starts[source->slots[i] + 1]++] = (uint32_t)i;
    return PML_DONE;
}

static uint64_t bytes_of(const struct making *making, const struct unit *unit)
{
    uint64_t bytes = BESIDE + unit->count * (uint64_t)(BESIDE + making->pack.sketch);
    for (size_t i = 0; i < unit->count && making->source->payload_sizes; i++)
        bytes += making->source->payload_sizes[unit->rows[i]];
    return bytes;
}

static void add_unit(struct making *making, uint32_t slot, const uint32_t *rows, size_t count)
{
    struct unit *unit = &making->units[making->unit_count++];
    *unit = (struct unit){.rows = rows, .count = count, .slot = slot};
    unit->bytes = bytes_of(making, unit);
}

static void add_pages(struct making *making, uint32_t slot)
{
    const uint32_t *rows = making->ordered + making->slot_starts[slot];
    const size_t count = making->slot_starts[slot + 1] - making->slot_starts[slot];
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && !pml_page_begins(making->source->items[rows[end]], end - first); end++)
            ;
        add_unit(making, slot, rows + first, end - first);
    }
}

static pml_outcome plan(struct making *making)
{
    const struct pml_parts_source *source = making->source;
    making->cell_units = source->lists ? (size_t)making->pack.slots * making->pack.cells : 0;
    making->units = calloc(making->cell_units + (source->places ? source->count : 0) + 1, sizeof *making->units);
    making->offsets = malloc((source->count + 1) * sizeof *making->offsets);
    if (!making->units || !making->offsets || turn(making) != PML_DONE || order_by_slot(making) != PML_DONE)
        return PML_NO_MEMORY;
    for (size_t cell = 0; cell < making->cell_units; cell++)
        add_unit(making, (uint32_t)(cell / making->pack.cells), making->members + making->starts[cell],
                 making->starts[cell + 1] - making->starts[cell]);
    for (uint32_t slot = 0; slot < making->pack.slots && source->places; slot++)
        add_pages(making, slot);
    return PML_DONE;
}

/* ---- one group ---- */

static pml_outcome load_payloads(struct making *making, size_t first, size_t end)
{
    const struct pml_parts_source *source = making->source;
    pml_outcome outcome = PML_DONE;
    if (!source->payload_sizes)
        return PML_DONE;
    making->payloads.size = 0;
    for (size_t i = 0; i < source->count; i++)
        making->offsets[i] = NOT_HERE;
    for (size_t u = first; u < end; u++)
        for (size_t i = 0; i < making->units[u].count; i++)
            making->offsets[making->units[u].rows[i]] = 0;
    for (size_t i = 0; i < source->count && outcome == PML_DONE; i++) {
        const uint8_t *bytes;
        if (making->offsets[i] == NOT_HERE || source->payload_sizes[i] == 0)
            continue;
        making->offsets[i] = making->payloads.size;
        outcome = source->payload(source->payload_context, i, &bytes, making->message);
        if (outcome == PML_DONE && pml_bytes_append(&making->payloads, bytes, source->payload_sizes[i]) != PML_DONE)
            outcome = pml_say_memory(making->message);
    }
    return outcome;
}

static struct pml_candidate candidate_of(const struct making *making, size_t row)
{
    const struct pml_parts_source *source = making->source;
    const size_t size = source->payload_sizes ? source->payload_sizes[row] : 0;
    return (struct pml_candidate){.item = source->items[row],
                                  .label = source->labels ? source->labels[row] : 0,
                                  .sketch = source->sketches + row * making->pack.sketch,
                                  .sketch_size = making->pack.sketch,
                                  .payload = size > 0 ? making->payloads.bytes + making->offsets[row] : NULL,
                                  .payload_size = size};
}

struct group {
    struct making *making;
    size_t first;
};

static pml_outcome encode(void *context, size_t index)
{
    const struct group *group = context;
    struct unit *unit = &group->making->units[group->first + index];
    struct pml_candidate *candidates = malloc((unit->count + 1) * sizeof *candidates);
    if (!candidates)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < unit->count; i++)
        candidates[i] = candidate_of(group->making, unit->rows[i]);
    const pml_outcome outcome =
        pml_answer_write_list(&unit->list, &group->making->pack, unit->slot, candidates, unit->count);
    free(candidates);
    if (outcome == PML_DONE)
        unit->entry = (struct pml_entry){pml_name_of(unit->list.bytes, unit->list.size), (uint32_t)unit->list.size};
    return outcome;
}

/* Puts a part unless it is there. */
static pml_outcome put(struct making *making, const struct pml_name *name, const void *bytes, size_t size)
{
    struct pml_name given;
    if (pml_name_set_has(&making->there, name))
        return PML_DONE;
    pml_outcome outcome = pml_store_put(making->store, PML_PARTS, bytes, size, &given, making->message);
    if (outcome == PML_DONE && pml_name_set_add(&making->there, name) != PML_DONE)
        outcome = pml_say_memory(making->message);
    making->report->added++;
    making->report->added_bytes += size;
    return outcome;
}

/* Units whose lists are held at once. There is one at least. */
static size_t end_of_group(const struct making *making, size_t first)
{
    const uint64_t held = making->source->held > 0 ? making->source->held : PML_PARTS_HELD;
    uint64_t bytes = making->units[first].bytes;
    size_t end = first + 1;
    /* each payload is there in the list, and once more to be copied from */
    while (end < making->unit_count && 2 * (bytes + making->units[end].bytes) <= held)
        bytes += making->units[end++].bytes;
    return end;
}

static pml_outcome make_group(struct making *making, size_t first, size_t end)
{
    struct group group = {making, first};
    pml_outcome outcome = load_payloads(making, first, end);
    if (outcome != PML_DONE)
        return outcome;
    outcome = pml_parallel(pml_parallel_threads(making->source->threads), end - first, encode, &group, NULL);
    if (outcome == PML_NO_MEMORY)
        return pml_say_memory(making->message);
    if (outcome != PML_DONE)
        return pml_say(making->message, "a list of more than %u items cannot be sent. Choose shorter lists.",
                       PML_CANDIDATES_MAX);
    for (size_t u = first; u < end && outcome == PML_DONE; u++) {
        struct unit *unit = &making->units[u];
        outcome = put(making, &unit->entry.name, unit->list.bytes, unit->list.size);
        pml_bytes_free(&unit->list);
    }
    return outcome;
}

static pml_outcome make_units(struct making *making)
{
    pml_outcome outcome = PML_DONE;
    for (size_t u = 0; u < making->unit_count; u++)
        if (making->units[u].bytes > PML_BLOB_MAX)
            return pml_say(making->message,
                           "a list of %zu items would have more than 512 MiB. Choose shorter lists, or smaller "
                           "payloads.",
                           making->units[u].count);
    for (size_t first = 0, end; first < making->unit_count && outcome == PML_DONE; first = end) {
        end = end_of_group(making, first);
        outcome = make_group(making, first, end);
        pml_progress_tell(making->source->progress, (double)end / (double)making->unit_count);
    }
    return outcome;
}

/* ---- places ---- */

/* `unit` is the slot's first page; returns the first one of the next slot. */
static const struct unit *fill_places(const struct making *making, const struct unit *unit, struct pml_places *places)
{
    const struct pml_parts_source *source = making->source;
    const uint32_t *rows = making->ordered + making->slot_starts[places->slot];
    for (size_t i = 0; i < places->count; i++) {
        places->items[i] = source->items[rows[i]];
        places->payloads[i] = source->payload_sizes ? source->payload_sizes[rows[i]] : 0;
        memcpy(places->values + i * places->dimensions, source->places + (size_t)rows[i] * places->dimensions,
               places->dimensions * sizeof *places->values);
    }
    for (size_t i = 0; i < places->page_count; i++, unit++)
        places->pages[i] = (struct pml_page){source->items[unit->rows[0]], unit->entry.name};
    return unit;
}

static pml_outcome make_places(struct making *making, struct pml_manifest *manifest)
{
    const struct unit *unit = making->units + making->cell_units, *end = making->units + making->unit_count;
    pml_outcome outcome = PML_DONE;
    for (uint32_t slot = 0; slot < making->pack.slots && outcome == PML_DONE; slot++) {
        struct pml_places places = {.slot = slot,
                                    .dimensions = making->pack.dimensions,
                                    .iterations = making->source->iterations,
                                    .count = (uint32_t)(making->slot_starts[slot + 1] - making->slot_starts[slot])};
        struct pml_bytes bytes = {0};
        for (const struct unit *page = unit; page < end && page->slot == slot; page++)
            places.page_count++;
        outcome = pml_places_allocate(&places);
        if (outcome == PML_DONE) {
            unit = fill_places(making, unit, &places);
            outcome = pml_places_write(&places, &bytes);
        }
        pml_places_free(&places);
        if (outcome != PML_DONE)
            pml_say_memory(making->message);
        else if (bytes.size > PML_BLOB_MAX)
            outcome = pml_say(making->message, "slot %lu has too many items for places of %lu numbers.",
                              (unsigned long)slot, (unsigned long)making->pack.dimensions);
        if (outcome == PML_DONE) {
            manifest->places[slot] = (struct pml_entry){pml_name_of(bytes.bytes, bytes.size), (uint32_t)bytes.size};
            outcome = put(making, &manifest->places[slot].name, bytes.bytes, bytes.size);
        }
        pml_bytes_free(&bytes);
    }
    return outcome;
}

/* ---- all of it ---- */

static int by_size(const void *left, const void *right)
{
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return a < b ? -1 : a > b;
}

static pml_outcome measure(const struct making *making)
{
    struct pml_parts_report *report = making->report;
    const size_t count = report->cells = making->cell_units;
    size_t *sizes = malloc((count + 1) * sizeof *sizes);
    report->smallest = report->median = report->largest = NAN;
    if (!sizes)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        sizes[i] = making->units[i].count;
        report->empty += sizes[i] == 0;
    }
    if (count > 0) {
        qsort(sizes, count, sizeof *sizes, by_size);
        report->smallest = (double)sizes[0];
        report->median = (double)(sizes[(count - 1) / 2] + sizes[count / 2]) / 2.0;
        report->largest = (double)sizes[count - 1];
    }
    free(sizes);
    return PML_DONE;
}

static pml_outcome fill_manifest(struct making *making, struct pml_manifest *manifest)
{
    const struct pml_parts_source *source = making->source;
    uint64_t longest = 0;
    *manifest = (struct pml_manifest){.items = source->count,
                                      .list = source->lists ? source->list : 0,
                                      .slots = making->pack.slots,
                                      .cells = source->lists ? making->pack.cells : 0,
                                      .dimensions = source->places ? making->pack.dimensions : 0};
    memcpy(manifest->pack, making->pack.id, PML_ID_SIZE);
    if (pml_manifest_allocate(manifest) != PML_DONE || measure(making) != PML_DONE)
        return pml_say_memory(making->message);
    for (size_t i = 0; i < making->cell_units; i++) {
        manifest->parts[i] = making->units[i].entry;
        longest = manifest->parts[i].size > longest ? manifest->parts[i].size : longest;
    }
    if (source->lists)
        manifest->longest = pml_manifest_constant(&making->pack, source->count, longest);
    pml_outcome outcome = source->places ? make_places(making, manifest) : PML_DONE;
    making->report->parts = making->unit_count + (source->places ? making->pack.slots : 0);
    return outcome;
}

static void free_making(struct making *making)
{
    for (size_t u = 0; making->units && u < making->unit_count; u++)
        pml_bytes_free(&making->units[u].list);
    free(making->units);
    free(making->members);
    free(making->ordered);
    free(making->starts);
    free(making->slot_starts);
    free(making->offsets);
    pml_bytes_free(&making->payloads);
    pml_name_set_free(&making->there);
}

pml_outcome pml_parts_make(struct pml_store *store, const struct pml_parts_source *source,
                           struct pml_manifest *manifest, struct pml_parts_report *report, struct pml_message *message)
{
    struct making making = {.source = source, .store = store, .report = report, .message = message};
    *report = (struct pml_parts_report){0};
    *manifest = (struct pml_manifest){0};
    pml_outcome outcome = pml_pack_describe(source->pack, &making.pack) == PML_OK ? plan(&making) : PML_NO_MEMORY;
    if (outcome != PML_DONE)
        pml_say_memory(message);
    if (outcome == PML_DONE)
        outcome = pml_name_set_read(&making.there, store, PML_PARTS, message);
    if (outcome == PML_DONE)
        outcome = make_units(&making);
    if (outcome == PML_DONE)
        outcome = fill_manifest(&making, manifest);
    free_making(&making);
    return outcome;
}
