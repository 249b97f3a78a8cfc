/* SPDX-License-Identifier: Apache-2.0
 * In: points. Out: those nearest to a query.
 * Never approximates: a box's distance is added up like a point's, term by term not larger, and rounding is monotone;
 * so no point in a box is, as computed, nearer than the box. */
#include "kdtree.h"
#include "nearest.h"

#include <stdlib.h>
#include <string.h>

#define LEAF 32u /* points that are looked at one by one */

/* Node i has the children 2i+1 and 2i+2, which halve its points. */
struct pml_kdtree {
    size_t count;
    unsigned dimensions;
    double *points;    /* in the tree's order */
    uint32_t *indices; /* what they were called */
    double *boxes;     /* of each node: the least coordinates, then the greatest */
};

/* ---- build ---- */

static double *box_of(const struct pml_kdtree *tree, size_t node)
{
    return tree->boxes + node * 2 * tree->dimensions;
}

/* Fills the box and returns its widest axis. */
static unsigned enclose(struct pml_kdtree *tree, const double *points, size_t node, size_t first, size_t end)
{
    const unsigned k = tree->dimensions;
    double *least = box_of(tree, node), *greatest = least + k;
    memcpy(least, points + (size_t)tree->indices[first] * k, k * sizeof *least);
    memcpy(greatest, least, k * sizeof *least);
    for (size_t i = first + 1; i < end; i++)
        for (unsigned axis = 0; axis < k; axis++) {
            double value = points[(size_t)tree->indices[i] * k + axis];
            if (value < least[axis])
                least[axis] = value;
            if (value > greatest[axis])
                greatest[axis] = value;
        }
    unsigned widest = 0;
    for (unsigned axis = 1; axis < k; axis++)
        if (greatest[axis] - least[axis] > greatest[widest] - least[widest])
            widest = axis;
    return widest;
}

/* Hoare's selection: puts the middle-th in its place, none before it larger, none behind it smaller. `values` has one
 * number per point, `stride` apart. */
static void select_middle(uint32_t *indices, size_t count, const double *values, size_t stride, size_t middle)
{
    ptrdiff_t low = 0, high = (ptrdiff_t)count - 1;
    while (low < high) {
        double pivot = values[indices[low + (high - low) / 2] * stride];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (values[indices[i] * stride] < pivot)
                i++;
            while (values[indices[j] * stride] > pivot)
                j--;
            if (i <= j) {
                uint32_t held = indices[i];
                indices[i++] = indices[j];
                indices[j--] = held;
            }
        }
        if ((ptrdiff_t)middle <= j)
            high = j;
        else if ((ptrdiff_t)middle >= i)
            low = i;
        else
            return;
    }
}

static void divide(struct pml_kdtree *tree, const double *points, size_t node, size_t first, size_t end)
{
    unsigned axis = enclose(tree, points, node, first, end);
    if (end - first <= LEAF)
        return;
    size_t middle = first + (end - first) / 2;
    select_middle(tree->indices + first, end - first, points + axis, tree->dimensions, middle - first);
    divide(tree, points, 2 * node + 1, first, middle);
    divide(tree, points, 2 * node + 2, middle, end);
}

pml_outcome pml_kdtree_build(struct pml_kdtree **made, const double *points, size_t count, unsigned dimensions)
{
    size_t nodes = 1;
    for (size_t most = count; most > LEAF; most -= most / 2)
        nodes = 2 * nodes + 1;
    struct pml_kdtree *tree = malloc(sizeof *tree);
    if (!(*made = tree))
        return PML_NO_MEMORY;
    *tree = (struct pml_kdtree){
        .count = count,
        .dimensions = dimensions,
        .points = malloc(count * dimensions * sizeof *tree->points),
        .indices = malloc(count * sizeof *tree->indices),
        .boxes = malloc(nodes * 2 * dimensions * sizeof *tree->boxes),
    };
    if (!tree->points || !tree->indices || !tree->boxes) {
        pml_kdtree_free(tree);
        *made = NULL;
        return PML_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        tree->indices[i] = (uint32_t)i;
    divide(tree, points, 0, 0, count);
    for (size_t i = 0; i < count; i++)
        memcpy(tree->points + i * dimensions, points + (size_t)tree->indices[i] * dimensions,
               dimensions * sizeof *points);
    return PML_DONE;
}

void pml_kdtree_free(struct pml_kdtree *tree)
{
    if (!tree)
        return;
    free(tree->points);
    free(tree->indices);
    free(tree->boxes);
    free(tree);
}

/* ---- search ---- */

struct hunt {
    const struct pml_kdtree *tree;
    const double *query;
    uint32_t except;
    struct pml_best best; /* scored by the negative of the squared distance */
};

static double distance_to_box(const struct hunt *hunt, size_t node)
{
    const unsigned k = hunt->tree->dimensions;
    const double *least = box_of(hunt->tree, node), *greatest = least + k;
    double sum = 0.0;
    for (unsigned axis = 0; axis < k; axis++) {
        double value = hunt->query[axis];
        double gap = value < least[axis] ? least[axis] - value : value > greatest[axis] ? value - greatest[axis] : 0.0;
        sum += gap * gap;
    }
    return sum;
}

static void look_at_leaf(struct hunt *hunt, size_t first, size_t end)
{
    const unsigned k = hunt->tree->dimensions;
    for (size_t i = first; i < end; i++) {
        double sum = 0.0;
        for (unsigned axis = 0; axis < k; axis++) {
            double gap = hunt->query[axis] - hunt->tree->points[i * k + axis];
            sum += gap * gap;
        }
        if (hunt->tree->indices[i] != hunt->except)
            pml_best_offer(&hunt->best, -sum, hunt->tree->indices[i]);
    }
}

static void search(struct hunt *hunt, size_t node, double distance, size_t first, size_t end)
{
    /* At an equal distance there may be a smaller index. */
    if (hunt->best.held == hunt->best.length && -distance < hunt->best.scores[hunt->best.held - 1])
        return;
    if (end - first <= LEAF) {
        look_at_leaf(hunt, first, end);
        return;
    }
    size_t middle = first + (end - first) / 2;
    double left = distance_to_box(hunt, 2 * node + 1), right = distance_to_box(hunt, 2 * node + 2);
    if (left <= right)
        search(hunt, 2 * node + 1, left, first, middle);
    search(hunt, 2 * node + 2, right, middle, end);
    if (left > right)
        search(hunt, 2 * node + 1, left, first, middle);
}

void pml_kdtree_nearest(const struct pml_kdtree *tree, const double *query, unsigned wanted, uint32_t except,
                        uint32_t *indices, double *squares)
{
    struct hunt hunt = {tree, query, except, {squares, indices, wanted, 0}};
    if (wanted > 0)
        search(&hunt, 0, distance_to_box(&hunt, 0), 0, tree->count);
    for (unsigned i = 0; i < wanted; i++)
        squares[i] = -squares[i];
}
