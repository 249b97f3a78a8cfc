/* SPDX-License-Identifier: Apache-2.0
 * Places as bytes, and the nearest of them: by a k-d tree or, where a tree would not pay, by sorting all of them. Nothing is
 * approximated, because answers must be the same as those of any other implementation. In: what anybody may have written.
 * Out: places whose counts fit their length, whose items and pages ascend, and whose coordinates are finite. */
#include "places.h"
#include "blob_kind.h"
#include "common/digest.h"
#include "common/rows/kdtree.h"
#include "little_endian.h"
#include "server/embedding/embedding.h"

#include <math.h>
#include <privatemail_public.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD = 32,
    PAGE = 8 + PML_NAME_SIZE,
    PAGE_MOST = 64, /* items of a page */
    PAGE_MEAN = 16,
    TREE_LEAST = 64, /* items of a slot with a tree */
    TREE_MOST = 1024 /* items that are asked of it at once; it inserts one by one */
};

static const struct pml_blob_kind kind = {{'P', 'M', 'G', 'P'}, 1, "a list of places of the gallery"};

pml_outcome pml_places_allocate(struct pml_places *places)
{
    const size_t count = (size_t)places->count + 1; /* so that nothing is empty */
    places->items = calloc(count, sizeof *places->items);
    places->values = calloc(count, places->dimensions * sizeof *places->values);
    places->payloads = calloc(count, sizeof *places->payloads);
    places->pages = calloc((size_t)places->page_count + 1, sizeof *places->pages);
    if (places->items && places->values && places->payloads && places->pages)
        return PML_DONE;
    pml_places_free(places);
    return PML_NO_MEMORY;
}

void pml_places_free(struct pml_places *places)
{
    free(places->items);
    free(places->values);
    free(places->payloads);
    free(places->pages);
    pml_kdtree_free(places->tree);
    *places = (struct pml_places){0};
}

bool pml_page_begins(uint64_t item, size_t items)
{
    return items == 0 || items >= PAGE_MOST || pml_digest_number(0, item) % PAGE_MEAN == 0;
}

/* ---- bytes ---- */

static uint64_t size_of(const struct pml_places *places)
{
    return HEAD + (uint64_t)places->count * (8 + 4 * (uint64_t)places->dimensions + 2) +
           (uint64_t)places->page_count * PAGE;
}

pml_outcome pml_places_write(const struct pml_places *places, struct pml_bytes *bytes)
{
    const uint64_t size = size_of(places);
    if (size > SIZE_MAX || pml_bytes_reserve(bytes, (size_t)size) != PML_DONE)
        return PML_NO_MEMORY;
    uint8_t *at = bytes->bytes + bytes->size;
    pml_blob_begin(&kind, at);
    const uint32_t head[] = {places->slot,  places->dimensions, places->iterations,
                             places->count, places->page_count, 0};
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
        pml_put32(at + 8 + 4 * i, head[i]);
    at += HEAD;
    for (size_t i = 0; i < places->count; i++, at += 8)
        pml_put64(at, places->items[i]);
    for (size_t i = 0; i < (size_t)places->count * places->dimensions; i++, at += 4) {
        uint32_t bits;
        memcpy(&bits, &places->values[i], sizeof bits);
        pml_put32(at, bits);
    }
    for (size_t i = 0; i < places->count; i++, at += 2)
        pml_put16(at, places->payloads[i]);
    for (size_t i = 0; i < places->page_count; i++, at += PAGE) {
        pml_put64(at, places->pages[i].first);
        memcpy(at + 8, places->pages[i].name.bytes, PML_NAME_SIZE);
    }
    bytes->size += (size_t)size;
    return PML_DONE;
}

static bool read_head(const uint8_t *bytes, size_t size, struct pml_places *places)
{
    if (size < HEAD || pml_get32(bytes + 28) != 0)
        return false;
    places->slot = pml_get32(bytes + 8);
    places->dimensions = pml_get32(bytes + 12);
    places->iterations = pml_get32(bytes + 16);
    places->count = pml_get32(bytes + 20);
    places->page_count = pml_get32(bytes + 24);
    return places->slot < PML_SLOTS_MAX && places->dimensions > 0 && places->dimensions <= PML_DIMENSIONS_MAX &&
           places->iterations <= PML_ITERATIONS_MAX && places->page_count <= places->count &&
           (places->page_count > 0) == (places->count > 0) && size_of(places) == size;
}

static bool ascend(const struct pml_places *places)
{
    for (size_t i = 1; i < places->count; i++)
        if (places->items[i - 1] >= places->items[i])
            return false;
    for (size_t i = 1; i < places->page_count; i++)
        if (places->pages[i - 1].first >= places->pages[i].first)
            return false;
    return places->count == 0 || places->pages[0].first == places->items[0];
}

static bool read_body(const uint8_t *at, struct pml_places *places)
{
    bool finite = true;
    for (size_t i = 0; i < places->count; i++, at += 8)
        places->items[i] = pml_get64(at);
    for (size_t i = 0; i < (size_t)places->count * places->dimensions; i++, at += 4) {
        const uint32_t bits = pml_get32(at);
        memcpy(&places->values[i], &bits, sizeof bits);
        finite = finite && isfinite(places->values[i]);
    }
    for (size_t i = 0; i < places->count; i++, at += 2)
        places->payloads[i] = pml_get16(at);
    for (size_t i = 0; i < places->page_count; i++, at += PAGE) {
        places->pages[i].first = pml_get64(at);
        memcpy(places->pages[i].name.bytes, at + 8, PML_NAME_SIZE);
    }
    return finite && ascend(places);
}

static pml_outcome plant_tree(struct pml_places *places)
{
    const size_t numbers = (size_t)places->count * places->dimensions;
    if (places->count < TREE_LEAST)
        return PML_DONE;
    double *points = malloc(numbers * sizeof *points);
    if (!points)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < numbers; i++)
        points[i] = (double)places->values[i];
    pml_outcome outcome = pml_kdtree_build(&places->tree, points, places->count, places->dimensions);
    free(points);
    return outcome;
}

pml_outcome pml_places_begin(const uint8_t *bytes, size_t size, struct pml_message *message)
{
    return pml_blob_begins(&kind, bytes, size, message);
}

pml_outcome pml_places_read(const uint8_t *bytes, size_t size, struct pml_places *places, struct pml_message *message)
{
    *places = (struct pml_places){0};
    const pml_outcome begun = pml_places_begin(bytes, size, message);
    if (begun != PML_DONE)
        return begun;
    if (!read_head(bytes, size, places))
        return PML_DAMAGED;
    if (pml_places_allocate(places) != PML_DONE)
        return PML_NO_MEMORY;
    return read_body(bytes + HEAD, places) ? plant_tree(places) : PML_DAMAGED;
}

/* ---- searching ---- */

int pml_near_order(const void *left, const void *right)
{
    const struct pml_near *a = left, *b = right;
    if (a->distance < b->distance || a->distance > b->distance)
        return a->distance < b->distance ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

/* Items ascend, so that the tree's ties by index are ties by item. */
static void ask_tree(const struct pml_places *places, const double *place, size_t kept, struct pml_near *near)
{
    uint32_t indices[TREE_MOST];
    double squares[TREE_MOST];
    pml_kdtree_nearest(places->tree, place, (unsigned)kept, PML_KDTREE_ALL, indices, squares);
    for (size_t i = 0; i < kept; i++)
        near[i] = (struct pml_near){squares[i], places->items[indices[i]], 0};
}

static void sort_all(const struct pml_places *places, const double *place, struct pml_near *near)
{
    for (size_t i = 0; i < places->count; i++) {
        const float *value = places->values + i * places->dimensions;
        double sum = 0.0;
        for (unsigned j = 0; j < places->dimensions; j++)
            sum += ((double)value[j] - place[j]) * ((double)value[j] - place[j]);
        near[i] = (struct pml_near){sum, places->items[i], 0};
    }
    qsort(near, places->count, sizeof *near, pml_near_order);
}

pml_outcome pml_places_nearest(const struct pml_places *places, const double *place, size_t wanted,
                               struct pml_near **near, size_t *count)
{
    const size_t kept = wanted < places->count ? wanted : places->count;
    const bool by_tree = places->tree && kept <= TREE_MOST;
    *count = 0;
    *near = malloc(((by_tree ? kept : places->count) + 1) * sizeof **near);
    if (!*near)
        return PML_NO_MEMORY;
    *count = kept;
    if (by_tree)
        ask_tree(places, place, kept, *near);
    else
        sort_all(places, place, *near);
    return PML_DONE;
}

const struct pml_page *pml_places_page(const struct pml_places *places, uint64_t item)
{
    size_t low = 0, high = places->page_count; /* the page is one of low … high − 1 */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        *(places->pages[middle].first <= item ? &low : &high) = middle;
    }
    return &places->pages[low];
}
