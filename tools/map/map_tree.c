/* SPDX-License-Identifier: Apache-2.0
 * A quadtree over points that are sorted along Hilbert's curve, so that every square of it is a stretch of them. Groups of
 * points that follow one another look at it together: the tree is walked once per group, and what it says is computed
 * for several points at a time. */
#include "map_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAF 8u    /* points that are looked at one by one */
#define LEVELS 16u /* of the curve: 2 bits of a key each */
#define LIST 1024u /* bodies that are computed at a time */

struct pml_map_node {
    float x, y, mass;       /* its centre, and how many points it has */
    float reach;            /* nearer than the root of this it must be looked into; negative: it never is */
    uint32_t skip;          /* the node behind its children */
    uint32_t first, points; /* in the order of the curve */
};

pml_outcome pml_map_tree_allocate(struct pml_map_tree *tree, size_t count, float theta)
{
    const size_t padded = count + PML_MAP_GROUP;
    *tree = (struct pml_map_tree){.count = count,
                                  .theta = theta,
                                  .order = malloc(count * sizeof *tree->order),
                                  .keys = malloc(count * sizeof *tree->keys),
                                  .scratch = malloc(2 * count * sizeof *tree->scratch),
                                  .x = malloc(padded * sizeof *tree->x),
                                  .y = malloc(padded * sizeof *tree->y),
                                  .list = malloc(2 * count * sizeof *tree->list)};
    return tree->order && tree->keys && tree->scratch && tree->x && tree->y && tree->list ? PML_DONE : PML_NO_MEMORY;
}

void pml_map_tree_free(struct pml_map_tree *tree)
{
    free(tree->order);
    free(tree->keys);
    free(tree->scratch);
    free(tree->x);
    free(tree->y);
    free(tree->list);
    *tree = (struct pml_map_tree){0};
}

/* ---- order ---- */

/* How far along Hilbert's curve a square of a grid of 2^LEVELS per side is. In each level the curve visits four quarters,
 * the first and the last of them turned over. */
static uint32_t curve_key(uint32_t x, uint32_t y)
{
    uint32_t key = 0;
    for (uint32_t side = 1u << (LEVELS - 1); side > 0; side >>= 1) {
        const uint32_t right = (x & side) != 0, upper = (y & side) != 0;
        key = key << 2 | ((3u * right) ^ upper);
        if (!upper) {
            const uint32_t flip = right ? UINT32_MAX : 0, held = x ^ flip;
            x = y ^ flip;
            y = held;
        }
    }
    return key;
}

static void find_keys(struct pml_map_tree *tree, const float *places)
{
    float least[2] = {places[0], places[1]}, most[2] = {places[0], places[1]};
    for (size_t i = 0; i < tree->count; i++)
        for (int axis = 0; axis < 2; axis++) {
            const float value = places[2 * i + (size_t)axis];
            least[axis] = value < least[axis] ? value : least[axis];
            most[axis] = value > most[axis] ? value : most[axis];
        }
    const float wide = most[0] - least[0], high = most[1] - least[1], side = wide > high ? wide : high;
    const float scale = side > 0.0f ? 65535.0f / side : 0.0f;
    for (size_t i = 0; i < tree->count; i++) {
        const uint32_t x = (uint32_t)((places[2 * i] - least[0]) * scale);
        const uint32_t y = (uint32_t)((places[2 * i + 1] - least[1]) * scale);
        tree->keys[i] = curve_key(x < 65535u ? x : 65535u, y < 65535u ? y : 65535u);
    }
}

/* Sorts by 11 bits at a time, the lowest first. Equal keys keep the order of their points. */
static void sort_keys(struct pml_map_tree *tree)
{
    uint32_t *keys = tree->keys, *order = tree->order, *keys_to = tree->scratch, *order_to = keys_to + tree->count;
    for (size_t i = 0; i < tree->count; i++)
        order[i] = (uint32_t)i;
    for (unsigned shift = 0; shift < 33; shift += 11) {
        uint32_t starts[2049] = {0};
        for (size_t i = 0; i < tree->count; i++)
            starts[(keys[i] >> shift & 2047u) + 1]++;
        for (size_t d = 0; d < 2048; d++)
            starts[d + 1] += starts[d];
        for (size_t i = 0; i < tree->count; i++) {
            const uint32_t to = starts[keys[i] >> shift & 2047u]++;
            keys_to[to] = keys[i];
            order_to[to] = order[i];
        }
        uint32_t *held = keys;
        keys = keys_to;
        keys_to = held;
        held = order;
        order = order_to;
        order_to = held;
    }
    /* Three passes end in the scratch. */
    memcpy(tree->order, order, tree->count * sizeof *order);
    memcpy(tree->keys, keys, tree->count * sizeof *keys);
}

/* ---- tree ---- */

struct extent {
    double x, y; /* sums */
    float left, right, low, high;
};

static void widen(struct extent *extent, const struct extent *part)
{
    extent->x += part->x;
    extent->y += part->y;
    extent->left = part->left < extent->left ? part->left : extent->left;
    extent->right = part->right > extent->right ? part->right : extent->right;
    extent->low = part->low < extent->low ? part->low : extent->low;
    extent->high = part->high > extent->high ? part->high : extent->high;
}

/* Adds the node of points first … end−1 and all below it. */
static struct extent divide(struct pml_map_tree *tree, uint32_t first, uint32_t end)
{
    const size_t index = tree->nodes++;
    const uint32_t apart = tree->keys[first] ^ tree->keys[end - 1];
    struct extent extent = {0.0, 0.0, INFINITY, -INFINITY, INFINITY, -INFINITY};
    if (end - first > LEAF && apart != 0) {
        unsigned shift = 2 * (LEVELS - 1);
        while (apart >> shift == 0)
            shift -= 2;
        for (uint32_t from = first, to = first; from < end; from = to) {
            while (to < end && tree->keys[to] >> shift == tree->keys[from] >> shift)
                to++;
            const struct extent part = divide(tree, from, to);
            widen(&extent, &part);
        }
    } else {
        for (uint32_t i = first; i < end; i++) {
            const struct extent point = {(double)tree->x[i], (double)tree->y[i], tree->x[i],
                                         tree->x[i],         tree->y[i],         tree->y[i]};
            widen(&extent, &point);
        }
    }
    const float wide = extent.right - extent.left, high = extent.high - extent.low, side = wide > high ? wide : high;
    const float far = side / tree->theta;
    const double mass = end - first;
    tree->list[index] = (struct pml_map_node){.x = (float)(extent.x / mass),
                                              .y = (float)(extent.y / mass),
                                              .mass = (float)mass,
                                              .reach = end - first > LEAF && apart == 0 ? -1.0f : far * far,
                                              .skip = (uint32_t)tree->nodes,
                                              .first = first,
                                              .points = end - first};
    return extent;
}

void pml_map_tree_fill(struct pml_map_tree *tree, const float *places)
{
    const size_t padded = pml_map_tree_groups(tree) * PML_MAP_GROUP;
    find_keys(tree, places);
    sort_keys(tree);
    for (size_t i = 0; i < padded; i++) {
        const size_t from = tree->order[i < tree->count ? i : tree->count - 1];
        tree->x[i] = places[2 * from];
        tree->y[i] = places[2 * from + 1];
    }
    tree->nodes = 0;
    divide(tree, 0, (uint32_t)tree->count);
}

/* ---- push ---- */

typedef float lanes __attribute__((vector_size(16))); /* what every CPU of 64 bits adds at once */
#define LANES 4u
#define HALF (2 * LANES) /* points whose sums fit into registers */

struct bodies {
    size_t count;
    float x[LIST], y[LIST], mass[LIST];
};

struct pushed {
    float x[PML_MAP_GROUP], y[PML_MAP_GROUP], sum[PML_MAP_GROUP];
};

static inline lanes load(const float *from)
{
    lanes value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* Adds what the bodies do to HALF points. */
static void push_points(const struct bodies *bodies, const float *x, const float *y, float *push_x, float *push_y,
                        float *sum)
{
    const lanes one = {1.0f, 1.0f, 1.0f, 1.0f};
    const lanes x0 = load(x), x1 = load(x + LANES), y0 = load(y), y1 = load(y + LANES);
    lanes px0 = load(push_x), px1 = load(push_x + LANES), py0 = load(push_y), py1 = load(push_y + LANES);
    lanes sum0 = load(sum), sum1 = load(sum + LANES);
    for (size_t b = 0; b < bodies->count; b++) {
        const float bx = bodies->x[b], by = bodies->y[b], mass = bodies->mass[b];
        const lanes dx0 = x0 - bx, dx1 = x1 - bx, dy0 = y0 - by, dy1 = y1 - by;
        const lanes q0 = one / (one + dx0 * dx0 + dy0 * dy0), q1 = one / (one + dx1 * dx1 + dy1 * dy1);
        const lanes m0 = q0 * mass, m1 = q1 * mass, f0 = m0 * q0, f1 = m1 * q1;
        sum0 += m0, sum1 += m1;
        px0 += f0 * dx0, px1 += f1 * dx1;
        py0 += f0 * dy0, py1 += f1 * dy1;
    }
    memcpy(push_x, &px0, sizeof px0), memcpy(push_x + LANES, &px1, sizeof px1);
    memcpy(push_y, &py0, sizeof py0), memcpy(push_y + LANES, &py1, sizeof py1);
    memcpy(sum, &sum0, sizeof sum0), memcpy(sum + LANES, &sum1, sizeof sum1);
}

static void push_group(struct bodies *bodies, const float *x, const float *y, struct pushed *pushed)
{
    for (size_t i = 0; i < PML_MAP_GROUP; i += HALF)
        push_points(bodies, x + i, y + i, pushed->x + i, pushed->y + i, pushed->sum + i);
    bodies->count = 0;
}

static inline void add_body(struct bodies *bodies, float x, float y, float mass)
{
    bodies->x[bodies->count] = x;
    bodies->y[bodies->count] = y;
    bodies->mass[bodies->count++] = mass;
}

/* The middle of a group and half its sides. */
struct box {
    float x, y, wide, high;
};

static struct box box_of(const float *x, const float *y)
{
    float left = x[0], right = x[0], low = y[0], high = y[0];
    for (size_t i = 1; i < PML_MAP_GROUP; i++) {
        left = x[i] < left ? x[i] : left;
        right = x[i] > right ? x[i] : right;
        low = y[i] < low ? y[i] : low;
        high = y[i] > high ? y[i] : high;
    }
    return (struct box){(left + right) * 0.5f, (low + high) * 0.5f, (right - left) * 0.5f, (high - low) * 0.5f};
}

double pml_map_tree_push(const struct pml_map_tree *tree, size_t group, float *push)
{
    const size_t first = group * PML_MAP_GROUP;
    const float *x = tree->x + first, *y = tree->y + first;
    const struct box box = box_of(x, y);
    struct bodies bodies;
    struct pushed pushed = {0};
    bodies.count = 0;
    for (uint32_t at = 0; at < tree->nodes;) {
        const struct pml_map_node *node = &tree->list[at];
        const float beyond_x = fabsf(node->x - box.x) - box.wide, beyond_y = fabsf(node->y - box.y) - box.high;
        const float dx = beyond_x > 0.0f ? beyond_x : 0.0f, dy = beyond_y > 0.0f ? beyond_y : 0.0f;
        if (bodies.count + LEAF > LIST)
            push_group(&bodies, x, y, &pushed);
        if (dx * dx + dy * dy > node->reach) {
            add_body(&bodies, node->x, node->y, node->mass);
            at = node->skip;
        } else if (node->skip == at + 1) {
            for (uint32_t i = node->first; i < node->first + node->points; i++)
                add_body(&bodies, tree->x[i], tree->y[i], 1.0f);
            at = node->skip;
        } else {
            at++;
        }
    }
    push_group(&bodies, x, y, &pushed);
    double sum = 0.0;
    for (size_t i = 0; i < PML_MAP_GROUP && first + i < tree->count; i++) {
        push[2 * (size_t)tree->order[first + i]] = pushed.x[i];
        push[2 * (size_t)tree->order[first + i] + 1] = pushed.y[i];
        sum += (double)pushed.sum[i];
    }
    return sum;
}
