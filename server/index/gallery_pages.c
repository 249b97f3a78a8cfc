/* SPDX-License-Identifier: Apache-2.0
 * Pages as bytes. Where a page begins depends on numbers of items alone, so an item that comes or goes changes a page or two. */
#include "gallery_pages.h"
#include "common/digest.h"
#include "server/gallery/blob_kind.h"
#include "server/gallery/little_endian.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEAD = 24,
    ENTRY = 18,      /* bytes of an item before the rows */
    PAGE_MOST = 512, /* items */
    PAGE_MEAN = 128,
    AT_ONCE = 256 /* pages that are asked for in one call */
};

static const char what_page[] = "a page of items";
static const struct pml_blob_kind kind = {{'P', 'M', 'G', 'I'}, 1, what_page};

static bool page_begins(uint64_t item, size_t items)
{
    return items == 0 || items >= PAGE_MOST || pml_digest_number(0, item) % PAGE_MEAN == 0;
}

/* ---- bytes ---- */

static uint64_t page_size(const struct pml_items *items, size_t count)
{
    return HEAD + (uint64_t)count * (ENTRY + items->rows.columns + items->sketch + 4 * (uint64_t)items->dimensions);
}

static pml_outcome encode(const struct pml_items *items, size_t first, size_t count, struct pml_bytes *bytes)
{
    bytes->size = 0;
    if (pml_bytes_reserve(bytes, (size_t)page_size(items, count)) != PML_DONE)
        return PML_NO_MEMORY;
    uint8_t *at = bytes->bytes;
    pml_blob_begin(&kind, at);
    const uint32_t head[] = {(uint32_t)count, (uint32_t)items->rows.columns, items->sketch, items->dimensions};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        pml_put32(at + 8 + 4 * i, head[i]);
    at += HEAD;
    for (size_t i = first; i < first + count; i++, at += ENTRY) {
        pml_put64(at, items->numbers[i]);
        pml_put32(at + 8, (uint32_t)items->labels[i]);
        pml_put32(at + 12, items->slots[i]);
        pml_put16(at + 16, items->payload_sizes[i]);
    }
    memcpy(at, items->rows.values + first * items->rows.columns, count * items->rows.columns);
    at += count * items->rows.columns;
    memcpy(at, items->sketches + first * items->sketch, count * items->sketch);
    at += count * items->sketch;
    for (size_t i = first * items->dimensions; i < (first + count) * items->dimensions; i++, at += 4) {
        uint32_t bits;
        memcpy(&bits, &items->places[i], sizeof bits);
        pml_put32(at, bits);
    }
    bytes->size = (size_t)(at - bytes->bytes);
    return PML_DONE;
}

/* Whether this is the page of so many items of such a shape. */
static pml_outcome check_page(const uint8_t *bytes, size_t size, const struct pml_items *items, size_t count,
                              struct pml_message *message)
{
    const pml_outcome begun = pml_blob_begins(&kind, bytes, size, message);
    if (begun != PML_DONE)
        return begun;
    const bool fits = size == page_size(items, count) && pml_get32(bytes + 8) == count &&
                      pml_get32(bytes + 12) == items->rows.columns && pml_get32(bytes + 16) == items->sketch &&
                      pml_get32(bytes + 20) == items->dimensions;
    return fits ? PML_DONE : PML_DAMAGED;
}

static void decode(const uint8_t *at, struct pml_items *items, size_t first, size_t count)
{
    at += HEAD;
    for (size_t i = first; i < first + count; i++, at += ENTRY) {
        items->numbers[i] = pml_get64(at);
        items->labels[i] = (int32_t)pml_get32(at + 8);
        items->slots[i] = pml_get32(at + 12);
        items->payload_sizes[i] = pml_get16(at + 16);
    }
    memcpy(items->rows.values + first * items->rows.columns, at, count * items->rows.columns);
    at += count * items->rows.columns;
    memcpy(items->sketches + first * items->sketch, at, count * items->sketch);
    at += count * items->sketch;
    for (size_t i = first * items->dimensions; i < (first + count) * items->dimensions; i++, at += 4) {
        const uint32_t bits = pml_get32(at);
        memcpy(&items->places[i], &bits, sizeof bits);
    }
    for (size_t i = first; i < first + count; i++)
        pml_rows_measure(&items->rows, i);
}

/* ---- loading ---- */

struct loading {
    const struct pml_state_page *pages;
    const size_t *starts; /* of each page */
    struct pml_items *items;
    struct pml_message *message;
};

static pml_outcome take_page(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    const struct loading *loading = context;
    const size_t first = loading->starts[index], count = loading->pages[index].items;
    const pml_outcome outcome = check_page(bytes, size, loading->items, count, loading->message);
    if (outcome != PML_DONE)
        return outcome;
    decode(bytes, loading->items, first, count);
    return loading->items->numbers[first] == loading->pages[index].first ? PML_DONE : PML_DAMAGED;
}

static pml_outcome check_order(const struct pml_items *items)
{
    for (size_t i = 1; i < items->count; i++)
        if (items->numbers[i - 1] >= items->numbers[i])
            return PML_DAMAGED;
    return PML_DONE;
}

pml_outcome pml_pages_load(struct pml_store *store, const struct pml_state *state, struct pml_items *items,
                           struct pml_message *message)
{
    struct pml_name names[AT_ONCE];
    size_t *starts = malloc(((size_t)state->page_count + 1) * sizeof *starts);
    pml_outcome outcome =
        pml_items_allocate(items, (size_t)state->items, state->columns, state->sketch, state->dimensions);
    if (outcome != PML_DONE || !starts) {
        free(starts);
        return pml_say_memory(message);
    }
    starts[0] = 0;
    for (size_t i = 0; i < state->page_count; i++)
        starts[i + 1] = starts[i] + state->pages[i].items;
    for (size_t first = 0; first < state->page_count && outcome == PML_DONE; first += AT_ONCE) {
        const size_t count = state->page_count - first < AT_ONCE ? state->page_count - first : AT_ONCE;
        struct loading loading = {state->pages + first, starts + first, items, message};
        for (size_t i = 0; i < count; i++)
            names[i] = state->pages[first + i].rows;
        outcome = pml_store_get(store, PML_PRIVATE, names, count, take_page, &loading);
    }
    free(starts);
    return pml_blob_say(outcome == PML_DONE ? check_order(items) : outcome, what_page, message);
}

pml_outcome pml_pages_last(struct pml_store *store, const struct pml_state *state, uint64_t *last,
                           struct pml_message *message)
{
    const struct pml_state_page *page = &state->pages[state->page_count - 1];
    const struct pml_items shape = {
        .rows = {.columns = state->columns}, .sketch = state->sketch, .dimensions = state->dimensions};
    struct pml_bytes bytes = {0};
    pml_outcome outcome = pml_blob_load(store, PML_PRIVATE, &page->rows, what_page, &bytes, message);
    if (outcome == PML_DONE)
        outcome = pml_blob_say(check_page(bytes.bytes, bytes.size, &shape, page->items, message), what_page, message);
    if (outcome == PML_DONE)
        *last = pml_get64(bytes.bytes + HEAD + ENTRY * ((size_t)page->items - 1));
    pml_bytes_free(&bytes);
    return outcome;
}

/* ---- payloads ---- */

void pml_payloads_begin(struct pml_payloads *payloads, struct pml_store *store, const struct pml_state *state,
                        const struct pml_items *items)
{
    *payloads = (struct pml_payloads){.store = store, .state = state, .items = items, .page = SIZE_MAX};
}

void pml_payloads_end(struct pml_payloads *payloads)
{
    pml_bytes_free(&payloads->bytes);
}

/* Loads the page of an item; those before it are passed over. */
static pml_outcome turn_to(struct pml_payloads *payloads, size_t index, struct pml_message *message)
{
    const struct pml_state *state = payloads->state;
    size_t page = payloads->page, first = payloads->first, all = 0;
    if (page == SIZE_MAX || index < first)
        page = first = 0;
    while (index >= first + state->pages[page].items)
        first += state->pages[page++].items;
    if (page == payloads->page)
        return PML_DONE;
    payloads->page = SIZE_MAX;
    payloads->bytes.size = 0;
    pml_outcome outcome = pml_blob_load(payloads->store, PML_PRIVATE, &state->pages[page].payloads,
                                        "a page of payloads", &payloads->bytes, message);
    if (outcome != PML_DONE)
        return outcome;
    for (size_t i = first; i < first + state->pages[page].items; i++)
        all += payloads->items->payload_sizes[i];
    if (all != payloads->bytes.size)
        return pml_blob_say(PML_DAMAGED, "a page of payloads", message);
    payloads->page = page;
    payloads->first = payloads->at_item = first;
    payloads->at_byte = 0;
    return PML_DONE;
}

pml_outcome pml_payloads_read(void *context, size_t index, const uint8_t **bytes, struct pml_message *message)
{
    struct pml_payloads *payloads = context;
    pml_outcome outcome = turn_to(payloads, index, message);
    if (outcome != PML_DONE)
        return outcome;
    if (index < payloads->at_item) {
        payloads->at_item = payloads->first;
        payloads->at_byte = 0;
    }
    for (; payloads->at_item < index; payloads->at_item++)
        payloads->at_byte += payloads->items->payload_sizes[payloads->at_item];
    *bytes = payloads->bytes.bytes + payloads->at_byte;
    return PML_DONE;
}

/* ---- writing ---- */

struct writing {
    struct pml_store *store;
    const struct pml_pages_change *change;
    struct pml_items *items;
    struct pml_payloads old; /* payloads of items that stay */
    size_t old_page, old_first;
    struct pml_bytes bytes;
};

/* The page before the change that had exactly these items, none of them replaced; NULL when there is none. */
static const struct pml_state_page *same_page(struct writing *writing, size_t first, size_t count)
{
    const struct pml_state *before = writing->change->before;
    const uint32_t *was = writing->change->succession->was;
    for (size_t i = first; i < first + count; i++)
        if (was[i] == PML_NOBODY || was[i] != was[first] + (i - first))
            return NULL;
    while (writing->old_page < before->page_count && writing->old_first < was[first])
        writing->old_first += before->pages[writing->old_page++].items;
    if (writing->old_page == before->page_count || writing->old_first != was[first] ||
        before->pages[writing->old_page].items != count)
        return NULL;
    return &before->pages[writing->old_page];
}

static pml_outcome add_payload(struct writing *writing, size_t index, struct pml_message *message)
{
    const struct pml_newcomers *newcomers = writing->change->newcomers;
    const struct pml_succession *succession = writing->change->succession;
    const uint8_t *bytes = NULL;
    size_t size = writing->items->payload_sizes[index];
    pml_outcome outcome = PML_DONE;
    if (succession->from[index] == PML_NOBODY) {
        if (size > 0)
            outcome = pml_payloads_read(&writing->old, succession->was[index], &bytes, message);
    } else {
        size = 0;
        if (newcomers->payload)
            outcome = newcomers->payload(newcomers->payload_context, succession->from[index], &bytes, &size, message);
        if (outcome == PML_DONE && size > PML_PAYLOAD_MAX)
            outcome =
                pml_say(message, "the payload of item %llu has %zu bytes; at most %u can be sent. Make it smaller.",
                        (unsigned long long)writing->items->numbers[index], size, PML_PAYLOAD_MAX);
        if (outcome != PML_DONE)
            *writing->change->newcomer_failed = true;
        writing->items->payload_sizes[index] = (uint16_t)size;
    }
    if (outcome == PML_DONE && size > 0 && pml_bytes_append(&writing->bytes, bytes, size) != PML_DONE)
        outcome = pml_say_memory(message);
    return outcome;
}

static pml_outcome write_page(struct writing *writing, size_t first, size_t count, struct pml_state_page *page,
                              struct pml_message *message)
{
    const struct pml_state_page *same = same_page(writing, first, count);
    pml_outcome outcome = PML_DONE;
    *page = (struct pml_state_page){.first = writing->items->numbers[first], .items = (uint32_t)count};
    if (same) {
        *page = *same;
        return PML_DONE;
    }
    writing->bytes.size = 0;
    for (size_t i = first; i < first + count && outcome == PML_DONE; i++)
        outcome = add_payload(writing, i, message);
    if (outcome == PML_DONE && writing->bytes.size > 0)
        outcome = pml_store_put(writing->store, PML_PRIVATE, writing->bytes.bytes, writing->bytes.size, &page->payloads,
                                message);
    if (outcome == PML_DONE && encode(writing->items, first, count, &writing->bytes) != PML_DONE)
        outcome = pml_say_memory(message);
    if (outcome == PML_DONE)
        outcome =
            pml_store_put(writing->store, PML_PRIVATE, writing->bytes.bytes, writing->bytes.size, &page->rows, message);
    return outcome;
}

static size_t end_of_page(const struct pml_items *items, size_t first)
{
    size_t end = first + 1;
    while (end < items->count && !page_begins(items->numbers[end], end - first))
        end++;
    return end;
}

pml_outcome pml_pages_write(struct pml_store *store, const struct pml_pages_change *change, struct pml_items *items,
                            struct pml_state *state, struct pml_message *message)
{
    struct writing writing = {.store = store, .change = change, .items = items};
    pml_outcome outcome = PML_DONE;
    uint32_t pages = 0;
    for (size_t first = 0; first < items->count; first = end_of_page(items, first))
        pages++;
    state->pages = calloc((size_t)pages + 1, sizeof *state->pages);
    state->items = items->count;
    state->columns = (uint32_t)items->rows.columns;
    state->sketch = items->sketch;
    state->dimensions = items->dimensions;
    if (!state->pages)
        return pml_say_memory(message);
    pml_payloads_begin(&writing.old, store, change->before, change->items_before);
    for (size_t first = 0, end; first < items->count && outcome == PML_DONE; first = end) {
        end = end_of_page(items, first);
        outcome = write_page(&writing, first, end - first, &state->pages[state->page_count++], message);
        pml_progress_tell(change->progress, (double)end / (double)items->count);
    }
    pml_payloads_end(&writing.old);
    pml_bytes_free(&writing.bytes);
    return outcome;
}
