/* SPDX-License-Identifier: Apache-2.0
 * Finds the items nearest to a point by the slot's k-d tree or, where a tree would not pay, by sorting all of them.
 * Nothing is approximated, because answers must be the same as those of any other implementation. */
#include "places.h"
#include "common/rows/kdtree.h"

#include <stdlib.h>
#include <string.h>

enum {
    TREE_LEAST = 64, /* items of a slot with a tree */
    TREE_MOST = 1024 /* items that are asked of it at once; it inserts one by one */
};

pml_outcome pml_places_allocate(struct pml_places *places, size_t count, unsigned dimensions)
{
    *places = (struct pml_places){.count = count, .dimensions = dimensions};
    places->items = calloc(count, sizeof *places->items);
    places->values = calloc(count, dimensions * sizeof *places->values);
    places->slots = calloc(count, sizeof *places->slots);
    places->trees = calloc(PML_SLOTS_MAX, sizeof(struct pml_kdtree *));
    if (places->items && places->values && places->slots && places->trees)
        return PML_DONE;
    pml_places_free(places);
    return PML_NO_MEMORY;
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

static pml_outcome plant_tree(struct pml_places *places, size_t slot)
{
    const size_t first = places->starts[slot], count = places->starts[slot + 1] - first, width = places->dimensions;
    if (count < TREE_LEAST)
        return PML_DONE;
    double *points = malloc(count * width * sizeof *points);
    if (!points)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < count * width; i++)
        points[i] = (double)places->values[first * width + i];
    const bool built = pml_kdtree_build(&places->trees[slot], points, count, places->dimensions) == 0;
    free(points);
    return built ? PML_DONE : PML_NO_MEMORY;
}

pml_outcome pml_places_group(struct pml_places *places)
{
    const unsigned dimensions = places->dimensions;
    size_t next[PML_SLOTS_MAX];
    uint64_t *items = calloc(places->count, sizeof *items);
    float *values = calloc(places->count, dimensions * sizeof *values);
    if (!items || !values) {
        free(items);
        free(values);
        return PML_NO_MEMORY;
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
    pml_outcome outcome = PML_DONE;
    for (size_t slot = 0; slot < PML_SLOTS_MAX && outcome == PML_DONE; slot++)
        outcome = plant_tree(places, slot);
    return outcome;
}

int pml_near_order(const void *left, const void *right)
{
    const struct pml_near *a = left, *b = right;
    if (a->distance < b->distance || a->distance > b->distance)
        return a->distance < b->distance ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
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
        near[i] = (struct pml_near){squares[i], places->items[places->starts[slot] + indices[i]], 0};
}

static void sort_all(const struct pml_places *places, size_t first, size_t count, const double *place,
                     struct pml_near *near)
{
    for (size_t i = 0; i < count; i++) {
        const float *value = places->values + (first + i) * places->dimensions;
        near[i] = (struct pml_near){pml_places_distance(value, place, places->dimensions), places->items[first + i], 0};
    }
    qsort(near, count, sizeof *near, pml_near_order);
}

pml_outcome pml_places_nearest(const struct pml_places *places, uint32_t slot, const double *place, size_t wanted,
                               struct pml_near **near, size_t *count)
{
    const size_t first = slot < PML_SLOTS_MAX ? places->starts[slot] : 0;
    const size_t there = slot < PML_SLOTS_MAX ? places->starts[slot + 1] - first : 0;
    *count = wanted < there ? wanted : there;
    const bool by_tree = there > 0 && *count <= TREE_MOST && places->trees[slot];
    *near = malloc(((by_tree ? *count : there) + 1) * sizeof **near);
    if (!*near) {
        *count = 0;
        return PML_NO_MEMORY;
    }
    if (by_tree)
        ask_tree(places, slot, place, *count, *near);
    else if (there > 0)
        sort_all(places, first, there, place, *near);
    return PML_DONE;
}
