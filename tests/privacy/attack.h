/* SPDX-License-Identifier: Apache-2.0
 * Rows that an attacker of the sensitivity may choose: any K anchors with any weights in [B, 65536], which is more than
 * any image can reach, and a search for rows that lie far apart. */
#ifndef TEST_ATTACK_H
#define TEST_ATTACK_H

#include "draws.h"
#include "stages/stages.h"
#include "support/support.h"

/* ---- what is attacked ---- */

struct target {
    const char *name;
    const pml_pack *pack;
    uint32_t floor;
    int64_t *label_rows, *centres; /* centres over 16384 */
    wide delta;                    /* Δ in 1/256 */
    int64_t row_bound;
    uint64_t state;
    long double closest_same, closest_other; /* largest distance found, as a share of Δ */
};

static inline void aim(struct target *t, const char *name, const pml_pack *pack)
{
    pml_certificate certificate;
    int64_t scratch[2 * PML_NEIGHBOURS_MAX];
    *t = (struct target){.name = name, .pack = pack, .state = 1};
    size_t rows = (size_t)t->pack->slots * t->pack->dimensions;
    t->floor = pml_weights_floor(t->pack->lambda);
    t->label_rows = malloc(rows * sizeof *t->label_rows);
    t->centres = malloc(rows * sizeof *t->centres);
    TEST_ASSERT_TRUE(t->label_rows && t->centres);
    pml_label_rows(t->pack, pml_weights_label, t->label_rows);
    TEST_ASSERT_EQUAL(PML_OK, pml_certificate_of(t->pack, t->floor, t->label_rows, t->centres, scratch, &certificate));
    t->delta = (wide)(certificate.sensitivity * 256.0);
    t->row_bound = (int64_t)certificate.row_bound;
}

static inline void release_target(struct target *t)
{
    free(t->label_rows);
    free(t->centres);
}

static inline int64_t anchor_code(const struct target *t, uint32_t anchor, size_t i)
{
    return pack_code(t->pack->section[PML_SECTION_ANCHOR_CODES], (size_t)anchor * t->pack->dimensions + i);
}

static inline int64_t slot_code(const struct target *t, uint32_t slot, size_t i)
{
    return pack_code(t->pack->section[PML_SECTION_SLOT_CODES], (size_t)slot * t->pack->dimensions + i);
}

/* ---- a row: ½·slotcode + moved/(512·degree) ---- */

struct place {
    uint32_t slot, indices[PML_NEIGHBOURS_MAX], weights[PML_NEIGHBOURS_MAX];
    wide moved[PML_DIMENSIONS_MAX], degree;
};

static inline void settle(const struct target *t, struct place *p)
{
    p->degree = 0;
    for (size_t j = 0; j < t->pack->neighbours; j++)
        p->degree += p->weights[j];
    for (size_t i = 0; i < t->pack->dimensions; i++) {
        p->moved[i] = (wide)t->pack->alpha * t->label_rows[(size_t)p->slot * t->pack->dimensions + i];
        for (size_t j = 0; j < t->pack->neighbours; j++)
            p->moved[i] += (wide)256 * p->weights[j] * anchor_code(t, p->indices[j], i);
    }
}

static inline bool uses(const struct target *t, const struct place *p, uint32_t anchor)
{
    for (size_t j = 0; j < t->pack->neighbours; j++)
        if (p->indices[j] == anchor)
            return true;
    return false;
}

static inline uint32_t draw_weight(struct target *t)
{
    switch (draw_below(&t->state, 4)) {
    case 0:
        return t->floor;
    case 1:
        return 65536;
    case 2:
        return (uint32_t)draw_between(&t->state, t->floor, 65536);
    default: {
        uint32_t small = 65536u >> draw_below(&t->state, 17);
        return small > t->floor ? small : t->floor;
    }
    }
}

static inline struct place draw_place(struct target *t, uint32_t slot)
{
    struct place p = {.slot = slot};
    for (size_t j = 0; j < t->pack->neighbours; j++)
        p.indices[j] = UINT32_MAX;
    for (size_t j = 0; j < t->pack->neighbours; j++) {
        uint32_t anchor = (uint32_t)draw_below(&t->state, t->pack->anchors);
        while (uses(t, &p, anchor))
            anchor = (anchor + 1) % t->pack->anchors;
        p.indices[j] = anchor;
        p.weights[j] = draw_weight(t);
    }
    settle(t, &p);
    return p;
}

/* ---- ascent: one weight or one neighbour at a time, as long as the row moves along `direction` ---- */

static inline long double along(const struct target *t, struct place *p, const long double *direction)
{
    long double sum = 0;
    settle(t, p);
    for (size_t i = 0; i < t->pack->dimensions; i++)
        sum += direction[i] * (long double)p->moved[i];
    return sum / (long double)p->degree;
}

static inline bool improve(const struct target *t, struct place *p, const long double *direction, long double *best,
                           size_t j)
{
    bool improved = false;
    for (uint32_t choice = 0; choice < t->pack->anchors + 2; choice++) {
        uint32_t weight = p->weights[j], anchor = p->indices[j];
        if (choice < 2)
            p->weights[j] = choice == 0 ? t->floor : 65536;
        else if (!uses(t, p, choice - 2))
            p->indices[j] = choice - 2;
        long double value = along(t, p, direction);
        if (value > *best) {
            *best = value;
            improved = true;
        } else {
            p->weights[j] = weight;
            p->indices[j] = anchor;
        }
    }
    return improved;
}

static inline struct place ascend(struct target *t, uint32_t slot, const long double *direction)
{
    struct place p = draw_place(t, slot);
    long double best = along(t, &p, direction);
    bool improved = true;
    for (int pass = 0; improved && pass < 50; pass++) {
        improved = false;
        for (size_t j = 0; j < t->pack->neighbours; j++)
            improved = improve(t, &p, direction, &best, j) || improved;
    }
    settle(t, &p);
    return p;
}

/* Two rows of a slot far apart: ascends both ways, then along the line between what it found. */
static inline void find_pair(struct target *t, uint32_t slot, long double *direction, struct place *pair)
{
    for (int turn = 0; turn < 3; turn++) {
        pair[0] = ascend(t, slot, direction);
        for (size_t i = 0; i < t->pack->dimensions; i++)
            direction[i] = -direction[i];
        pair[1] = ascend(t, slot, direction);
        for (size_t i = 0; i < t->pack->dimensions; i++)
            direction[i] = (long double)pair[0].moved[i] / (long double)pair[0].degree -
                           (long double)pair[1].moved[i] / (long double)pair[1].degree;
    }
}

/* ---- rows of all slots ---- */

struct pool {
    struct place *places;
    size_t count;
};

static inline void draw_direction(struct target *t, size_t turn, long double *direction)
{
    for (size_t i = 0; i < t->pack->dimensions; i++)
        direction[i] = turn < t->pack->dimensions ? i == turn : (long double)draw_between(&t->state, -1000, 1000);
}

static inline struct pool gather(struct target *t)
{
    size_t directions = t->pack->dimensions + rounds(60) / t->pack->slots, random = rounds(100) / t->pack->slots + 1;
    struct pool pool = {.places = malloc(t->pack->slots * (2 * directions + random) * sizeof *pool.places)};
    TEST_ASSERT_NOT_NULL(pool.places);
    for (uint32_t slot = 0; slot < t->pack->slots; slot++) {
        for (size_t turn = 0; turn < directions; turn++, pool.count += 2) {
            long double direction[PML_DIMENSIONS_MAX];
            draw_direction(t, turn, direction);
            find_pair(t, slot, direction, pool.places + pool.count);
        }
        for (size_t i = 0; i < random; i++)
            pool.places[pool.count++] = draw_place(t, slot);
    }
    return pool;
}

#endif
