/* SPDX-License-Identifier: Apache-2.0
 * What is computed for an item depends on that item and the pack only, so items that stay keep what they have. */
#include "gallery_items.h"
#include "server/lists/index_sketches.h"
#include "server/embedding/embedding.h"

#include <stdlib.h>
#include <string.h>

pml_outcome pml_items_allocate(struct pml_items *items, size_t count, size_t columns, uint32_t sketch,
                               uint32_t dimensions)
{
    *items = (struct pml_items){.count = count,
                                .numbers = calloc(count + 1, sizeof *items->numbers),
                                .labels = calloc(count + 1, sizeof *items->labels),
                                .slots = calloc(count + 1, sizeof *items->slots),
                                .payload_sizes = calloc(count + 1, sizeof *items->payload_sizes),
                                .sketches = calloc(count + 1, sketch + 1),
                                .places = calloc(count + 1, (dimensions + 1) * sizeof *items->places),
                                .sketch = sketch,
                                .dimensions = dimensions};
    if (!items->numbers || !items->labels || !items->slots || !items->payload_sizes || !items->sketches ||
        !items->places)
        return PML_NO_MEMORY;
    return pml_rows_allocate(&items->rows, count, columns);
}

void pml_items_free(struct pml_items *items)
{
    free(items->numbers);
    free(items->labels);
    free(items->slots);
    free(items->payload_sizes);
    free(items->sketches);
    free(items->places);
    pml_rows_free(&items->rows);
    *items = (struct pml_items){0};
}

/* ---- who is who ---- */

struct numbered {
    uint64_t item;
    uint32_t row;
};

static int by_number(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    return a->item < b->item ? -1 : a->item > b->item;
}

/* Sorted by number, to be freed; NULL when out of memory. */
static struct numbered *sort_numbers(const uint64_t *items, size_t count)
{
    struct numbered *sorted = malloc((count + 1) * sizeof *sorted);
    for (size_t i = 0; sorted && i < count; i++)
        sorted[i] = (struct numbered){items[i], (uint32_t)i};
    if (sorted && count > 0)
        qsort(sorted, count, sizeof *sorted, by_number);
    return sorted;
}

static pml_outcome check_removed(const struct pml_items *before, const struct numbered *removed, size_t count,
                                 struct pml_message *message)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const unsigned long long item = removed[i].item;
        if (i > 0 && removed[i].item == removed[i - 1].item)
            return pml_say(message, "item %llu is to be removed twice. Name every item once.", item);
        while (at < before->count && before->numbers[at] < removed[i].item)
            at++;
        if (at == before->count || before->numbers[at] != removed[i].item)
            return pml_say(message, "item %llu is to be removed, but is not in the gallery. Leave its number out.",
                           item);
    }
    return PML_DONE;
}

/* Walks along both in ascending order. */
static void merge(struct pml_succession *succession, const struct pml_items *before, const struct numbered *came,
                  size_t came_count, const struct numbered *removed, size_t removed_count)
{
    size_t old = 0, new = 0, gone = 0;
    while (old < before->count || new < came_count) {
        const bool takes_new = new < came_count && (old == before->count || came[new].item <= before->numbers[old]),
                   same = takes_new &&old < before->count &&came[new].item == before->numbers[old],
                   goes = (!takes_new || same) && gone < removed_count &&removed[gone].item == before->numbers[old];
        succession->removed += goes && !same;
        succession->replaced += same;
        succession->added += takes_new && !same;
        if (takes_new || !goes) {
            succession->was[succession->count] = takes_new ? PML_NOBODY : (uint32_t)old;
            succession->from[succession->count++] = takes_new ? came[new].row : PML_NOBODY;
        }
        gone += goes;
        old += !takes_new || same;
        new += takes_new;
    }
}

pml_outcome pml_succession_make(struct pml_succession *succession, const struct pml_items *before,
                                const struct pml_newcomers *newcomers, const uint64_t *removed, size_t removed_count,
                                struct pml_message *message)
{
    const size_t came_count = newcomers->rows ? newcomers->rows->count : 0, most = before->count + came_count;
    struct numbered *came = sort_numbers(newcomers->items, came_count), *gone = sort_numbers(removed, removed_count);
    *succession = (struct pml_succession){.was = malloc((most + 1) * sizeof *succession->was),
                                          .from = malloc((most + 1) * sizeof *succession->from)};
    pml_outcome outcome = PML_DONE;
    if (!came || !gone || !succession->was || !succession->from)
        outcome = pml_say_memory(message);
    else if (most >= UINT32_MAX)
        outcome = pml_say(message, "a gallery has fewer than 4294967295 items. Divide it.");
    if (outcome == PML_DONE)
        outcome = check_removed(before, gone, removed_count, message);
    if (outcome == PML_DONE)
        merge(succession, before, came, came_count, gone, removed_count);
    if (outcome == PML_DONE && succession->count == 0)
        outcome = pml_say(message, "no item would be left, and a gallery has one at least. Leave one in it.");
    free(came);
    free(gone);
    return outcome;
}

void pml_succession_free(struct pml_succession *succession)
{
    free(succession->was);
    free(succession->from);
    *succession = (struct pml_succession){0};
}

/* ---- the items after it ---- */

static void copy_item(struct pml_items *after, size_t i, const struct pml_items *before, size_t was)
{
    const size_t columns = before->rows.columns;
    after->numbers[i] = before->numbers[was];
    after->labels[i] = before->labels[was];
    after->slots[i] = before->slots[was];
    after->payload_sizes[i] = before->payload_sizes[was];
    memcpy(after->rows.values + i * columns, before->rows.values + was * columns, columns);
    after->rows.inverse[i] = before->rows.inverse[was];
    after->rows.squared[i] = before->rows.squared[was];
    memcpy(after->sketches + i * after->sketch, before->sketches + was * after->sketch, after->sketch);
    memcpy(after->places + i * after->dimensions, before->places + was * after->dimensions,
           after->dimensions * sizeof *after->places);
}

static void take_newcomer(struct pml_items *after, size_t i, const struct pml_newcomers *newcomers, size_t row)
{
    const size_t columns = after->rows.columns;
    after->numbers[i] = newcomers->items[row];
    after->labels[i] = newcomers->labels ? newcomers->labels[row] : 0;
    after->slots[i] = newcomers->slots[row];
    memcpy(after->rows.values + i * columns, newcomers->rows->values + row * columns, columns);
    after->rows.inverse[i] = newcomers->rows->inverse[row];
    after->rows.squared[i] = newcomers->rows->squared[row];
}

static pml_outcome place(struct pml_items *items, const uint32_t *which, size_t count,
                         const struct pml_embedding *embedding, unsigned threads)
{
    struct pml_rows rows = {0};
    uint32_t *slots = malloc((count + 1) * sizeof *slots);
    float *places = malloc((count + 1) * items->dimensions * sizeof *places);
    pml_outcome outcome = slots && places ? pml_rows_gather(&items->rows, which, count, &rows) : PML_NO_MEMORY;
    for (size_t at = 0; at < count && outcome == PML_DONE; at++)
        slots[at] = items->slots[which[at]];
    if (outcome == PML_DONE)
        outcome = pml_embedding_items(embedding, &rows, slots, threads, places);
    for (size_t at = 0; at < count && outcome == PML_DONE; at++)
        memcpy(items->places + (size_t)which[at] * items->dimensions, places + at * items->dimensions,
               items->dimensions * sizeof *places);
    pml_rows_free(&rows);
    free(slots);
    free(places);
    return outcome;
}

/* The sketches of these items. */
static pml_outcome sketch(struct pml_items *items, const uint32_t *which, size_t count, const pml_pack *pack,
                          unsigned threads)
{
    struct pml_sketches *maker = NULL;
    struct pml_rows rows = {0};
    int8_t *sketches = malloc(count * items->sketch + 1);
    pml_outcome outcome = sketches ? pml_sketches_open(&maker, pack) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_rows_gather(&items->rows, which, count, &rows);
    if (outcome == PML_DONE)
        outcome = pml_sketches_make(maker, &rows, threads, NULL, sketches);
    for (size_t at = 0; at < count && outcome == PML_DONE; at++)
        memcpy(items->sketches + which[at] * items->sketch, sketches + at * items->sketch, items->sketch);
    pml_sketches_close(maker);
    pml_rows_free(&rows);
    free(sketches);
    return outcome;
}

/* What is computed for the items that came. */
static pml_outcome describe(struct pml_items *items, const struct pml_succession *succession, const pml_pack *pack,
                            const struct pml_embedding *embedding, unsigned threads)
{
    uint32_t *which = malloc((items->count + 1) * sizeof *which);
    size_t count = 0;
    if (!which)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < items->count; i++)
        if (succession->from[i] != PML_NOBODY)
            which[count++] = (uint32_t)i;
    pml_outcome outcome = count > 0 ? sketch(items, which, count, pack, threads) : PML_DONE;
    if (outcome == PML_DONE && embedding && count > 0)
        outcome = place(items, which, count, embedding, threads);
    free(which);
    return outcome;
}

pml_outcome pml_items_follow(struct pml_items *after, const struct pml_items *before,
                             const struct pml_succession *succession, const struct pml_newcomers *newcomers,
                             const pml_pack *pack, const struct pml_embedding *embedding, unsigned threads,
                             struct pml_message *message)
{
    pml_pack_info info;
    *after = (struct pml_items){0};
    if (pml_pack_describe(pack, &info) != PML_OK || info.sketch == 0)
        return pml_say(message, "the pack has no sketches: build it again with privatemail pack.");
    pml_outcome outcome = pml_items_allocate(after, succession->count, info.features, info.sketch,
                                             info.anchors > 0 ? info.dimensions : 0);
    for (size_t i = 0; i < succession->count && outcome == PML_DONE; i++) {
        if (succession->from[i] == PML_NOBODY)
            copy_item(after, i, before, succession->was[i]);
        else
            take_newcomer(after, i, newcomers, succession->from[i]);
    }
    if (outcome == PML_DONE)
        outcome = describe(after, succession, pack, embedding, pml_parallel_threads(threads));
    return outcome == PML_DONE ? PML_DONE : pml_say_memory(message);
}
