/* SPDX-License-Identifier: Apache-2.0
 * Lays several maps side by side, on shelves. */
#include "map_shelves.h"

#include <math.h>
#include <stdlib.h>

#define GAP 0.15 /* between two boxes, of the side of the mean box */

struct box {
    size_t first, count;
    double left, low, wide, high; /* as the part is */
    double scale, side_x, side_y; /* as it will be */
};

static int by_size(const void *left, const void *right)
{
    const struct box *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->first < b->first ? -1 : 1;
}

static struct box box_of(const double *places, size_t first, size_t count)
{
    struct box box = {.first = first, .count = count, .left = INFINITY, .low = INFINITY};
    double right = -INFINITY, top = -INFINITY;
    for (size_t i = first; i < first + count; i++) {
        box.left = fmin(box.left, places[2 * i]);
        right = fmax(right, places[2 * i]);
        box.low = fmin(box.low, places[2 * i + 1]);
        top = fmax(top, places[2 * i + 1]);
    }
    box.wide = right - box.left;
    box.high = top - box.low;
    const double longer = fmax(box.wide, box.high);
    box.scale = longer > 0.0 ? sqrt((double)count) / longer : 0.0;
    box.side_x = box.wide * box.scale;
    box.side_y = box.high * box.scale;
    return box;
}

static void put(double *places, const struct box *box, double x, double y)
{
    for (size_t i = box->first; i < box->first + box->count; i++) {
        places[2 * i] = x + (places[2 * i] - box->left) * box->scale;
        places[2 * i + 1] = y + (places[2 * i + 1] - box->low) * box->scale;
    }
}

pml_outcome pml_map_shelves(double *places, const size_t *starts, size_t parts)
{
    struct box *boxes = malloc((parts + 1) * sizeof *boxes);
    double area = 0.0, x = 0.0, y = 0.0, shelf = 0.0;
    if (!boxes)
        return PML_NO_MEMORY;
    for (size_t c = 0; c < parts; c++)
        boxes[c] = box_of(places, starts[c], starts[c + 1] - starts[c]);
    qsort(boxes, parts, sizeof *boxes, by_size);
    const double gap = GAP * sqrt((double)starts[parts] / (double)parts);
    for (size_t c = 0; c < parts; c++)
        area += (boxes[c].side_x + gap) * (boxes[c].side_y + gap);
    const double wide = fmax(sqrt(area) * 1.1, boxes[0].side_x);
    for (size_t c = 0; c < parts; c++) {
        if (x > 0.0 && x + boxes[c].side_x > wide) {
            y += shelf + gap;
            x = shelf = 0.0;
        }
        put(places, &boxes[c], x, y);
        x += boxes[c].side_x + gap;
        shelf = fmax(shelf, boxes[c].side_y);
    }
    free(boxes);
    return PML_DONE;
}
