/* SPDX-License-Identifier: Apache-2.0
 * In: places of items. Out: those nearest to a point, by a scan of its slot with a heap that keeps the best so far.
 * Never approximates: lists must be the same as those of any other implementation. */
#include "places.h"

#include <stdlib.h>
#include <string.h>

int pml_places_allocate(struct pml_places *places, size_t count, unsigned dimensions)
{
    *places = (struct pml_places){.count = count, .dimensions = dimensions};
    places->items = calloc(count, sizeof *places->items);
    places->values = calloc(count, dimensions * sizeof *places->values);
    places->slots = calloc(count, sizeof *places->slots);
    if (places->items && places->values && places->slots)
        return 0;
    pml_places_free(places);
    return -1;
}

void pml_places_free(struct pml_places *places)
{
    free(places->items);
    free(places->values);
    free(places->slots);
    *places = (struct pml_places){0};
}

void pml_places_put(struct pml_places *places, uint64_t item, uint32_t slot, const float *place)
{
    places->items[places->put] = item;
    places->slots[places->put] = (uint16_t)slot;
    memcpy(places->values + places->put * places->dimensions, place, places->dimensions * sizeof *place);
    places->starts[slot + 1]++;
    places->put++;
}

int pml_places_group(struct pml_places *places)
{
    const unsigned dimensions = places->dimensions;
    size_t next[PML_SLOTS_MAX];
    uint64_t *items = calloc(places->count, sizeof *items);
    float *values = calloc(places->count, dimensions * sizeof *values);
    if (!items || !values) {
        free(items);
        free(values);
        return -1;
    }
    for (size_t slot = 0; slot < PML_SLOTS_MAX; slot++) {
        next[slot] = places->starts[slot];
        places->starts[slot + 1] += places->starts[slot];
    }
    for (size_t i = 0; i < places->put; i++) {
        size_t to = next[places->slots[i]]++;
        items[to] = places->items[i];
        memcpy(values + to * dimensions, places->values + i * dimensions, dimensions * sizeof *values);
    }
    free(places->items);
    free(places->values);
    free(places->slots);
    places->items = items;
    places->values = values;
    places->slots = NULL;
    return 0;
}

static bool farther(const struct pml_near *left, const struct pml_near *right)
{
    return left->distance > right->distance || (left->distance == right->distance && left->item > right->item);
}

/* Puts `entry` where the heap's first place is; the first place always holds the farthest. */
static void sink(struct pml_near *heap, size_t count, struct pml_near entry)
{
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && farther(&heap[child + 1], &heap[child]))
            child++;
        if (!farther(&heap[child], &entry))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = entry;
}

static void rise(struct pml_near *heap, size_t at, struct pml_near entry)
{
    for (; at > 0 && farther(&entry, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = entry;
}

static double squared_distance(const float *left, const double *right, unsigned dimensions)
{
    double sum = 0.0;
    for (unsigned i = 0; i < dimensions; i++)
        sum += ((double)left[i] - right[i]) * ((double)left[i] - right[i]);
    return sum;
}

int pml_places_nearest(const struct pml_places *places, uint32_t slot, const double *place, size_t wanted,
                       struct pml_near **near, size_t *count)
{
    const size_t first = slot < PML_SLOTS_MAX ? places->starts[slot] : 0;
    const size_t end = slot < PML_SLOTS_MAX ? places->starts[slot + 1] : 0;
    const size_t kept = wanted < end - first ? wanted : end - first;
    *count = 0;
    *near = malloc((kept > 0 ? kept : 1) * sizeof **near);
    if (!*near)
        return -1;
    struct pml_near *heap = *near;
    for (size_t i = first; i < end && kept > 0; i++) {
        const float *value = places->values + i * places->dimensions;
        struct pml_near entry = {squared_distance(value, place, places->dimensions), places->items[i]};
        if (*count < kept)
            rise(heap, (*count)++, entry);
        else if (farther(&heap[0], &entry))
            sink(heap, kept, entry);
    }
    for (size_t left = kept; left > 1; left--) { /* the farthest goes to the end, again and again */
        struct pml_near last = heap[left - 1];
        heap[left - 1] = heap[0];
        sink(heap, left - 1, last);
    }
    return 0;
}
