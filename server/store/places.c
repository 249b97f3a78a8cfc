/* SPDX-License-Identifier: Apache-2.0
 * In: places of items. Out: those nearest to a point, by the slot's k-d tree, or, where a tree would not pay, by a scan
 * with a heap that keeps the best so far.
 * Never approximates: lists must be the same as those of any other implementation. */
#include "places.h"
#include "common/rows/kdtree.h"

#include <stdlib.h>
#include <string.h>

enum { TREE_LEAST = 64 /* items of a slot with a tree */, TREE_MOST = 256 /* items that are asked of it at once */ };

int pml_places_allocate(struct pml_places *places, size_t count, unsigned dimensions)
{
    *places = (struct pml_places){.count = count, .dimensions = dimensions};
    places->items = calloc(count, sizeof *places->items);
    places->values = calloc(count, dimensions * sizeof *places->values);
    places->slots = calloc(count, sizeof *places->slots);
    places->trees = calloc(PML_SLOTS_MAX, sizeof(struct pml_kdtree *));
    if (places->items && places->values && places->slots && places->trees)
        return 0;
    pml_places_free(places);
    return -1;
}

void pml_places_free(struct pml_places *places)
{
    free(places->items);
    free(places->values);
    free(places->slots);
    for (size_t slot = 0; places->trees && slot < PML_SLOTS_MAX; slot++)
        pml_kdtree_free(places->trees[slot]);
    free(places->trees);
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

static int plant_tree(struct pml_places *places, size_t slot)
{
    const size_t first = places->starts[slot], count = places->starts[slot + 1] - first, width = places->dimensions;
    if (count < TREE_LEAST)
        return 0;
    double *points = malloc(count * width * sizeof *points);
    if (!points)
        return -1;
    for (size_t i = 0; i < count * width; i++)
        points[i] = (double)places->values[first * width + i];
    int failed = pml_kdtree_build(&places->trees[slot], points, count, places->dimensions);
    free(points);
    return failed;
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
    int failed = 0;
    for (size_t slot = 0; slot < PML_SLOTS_MAX && !failed; slot++)
        failed = plant_tree(places, slot);
    return failed;
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

double pml_places_distance(const float *left, const double *right, unsigned dimensions)
{
    double sum = 0.0;
    for (unsigned i = 0; i < dimensions; i++)
        sum += ((double)left[i] - right[i]) * ((double)left[i] - right[i]);
    return sum;
}

/* Within a slot items ascend, so that the tree's ties by index are ties by item. */
static void ask_tree(const struct pml_places *places, uint32_t slot, const double *place, size_t kept,
                     struct pml_near *near)
{
    uint32_t indices[TREE_MOST];
    double squares[TREE_MOST];
    pml_kdtree_nearest(places->trees[slot], place, (unsigned)kept, PML_KDTREE_ALL, indices, squares);
    for (size_t i = 0; i < kept; i++)
        near[i] = (struct pml_near){squares[i], places->items[places->starts[slot] + indices[i]]};
}

static void scan(const struct pml_places *places, size_t first, size_t end, const double *place, size_t kept,
                 struct pml_near *heap)
{
    size_t count = 0;
    for (size_t i = first; i < end; i++) {
        const float *value = places->values + i * places->dimensions;
        struct pml_near entry = {pml_places_distance(value, place, places->dimensions), places->items[i]};
        if (count < kept)
            rise(heap, count++, entry);
        else if (farther(&heap[0], &entry))
            sink(heap, kept, entry);
    }
    for (size_t left = kept; left > 1; left--) { /* the farthest goes to the end, again and again */
        struct pml_near last = heap[left - 1];
        heap[left - 1] = heap[0];
        sink(heap, left - 1, last);
    }
}

int pml_places_nearest(const struct pml_places *places, uint32_t slot, const double *place, size_t wanted,
                       struct pml_near **near, size_t *count)
{
    const size_t first = slot < PML_SLOTS_MAX ? places->starts[slot] : 0;
    const size_t end = slot < PML_SLOTS_MAX ? places->starts[slot + 1] : 0;
    *count = wanted < end - first ? wanted : end - first;
    *near = malloc((*count > 0 ? *count : 1) * sizeof **near);
    if (!*near) {
        *count = 0;
        return -1;
    }
    if (*count > 0 && *count <= TREE_MOST && places->trees[slot])
        ask_tree(places, slot, place, *count, *near);
    else if (*count > 0)
        scan(places, first, end, place, *count, *near);
    return 0;
}
