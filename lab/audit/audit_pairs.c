/* SPDX-License-Identifier: Apache-2.0
 * Makes pairs of neighbouring records that might be far apart. For the Gaussian, half of them are found by public
 * arithmetic: candidates of all kinds, the furthest pairs among them, and the best of these improved. */
#include "audit_pairs.h"

#include "audit_rows.h"
#include "common/parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORK 1e9 /* multiplications for the candidates, and for each pair that is made better */
enum { CANDIDATES_MAX = 256, DIRECTIONS = 32, SLOTS_TRIED = 16, USES = 2, STEPS_MAX = 20000 };

struct search {
    struct audit_pool *pool;
    struct audit_rows rows;
    struct audit_sum sums[CANDIDATES_MAX];
    size_t uses[CANDIDATES_MAX];
    size_t candidates, steps;
};

/* ---- any pairs ---- */

/* Two records of any kinds; in one slot, or now and then in two. */
static pml_status draw_pair(struct audit_pool *pool, struct audit_pair *pair, bool apart)
{
    uint32_t slots = pool->file->info.slots;
    uint32_t first = (uint32_t)pml_generator_below(&pool->generator, slots);
    uint32_t second = apart ? (first + 1 + (uint32_t)pml_generator_below(&pool->generator, slots - 1)) % slots : first;
    size_t at = pool->count;
    if (!audit_pool_draw(pool, first) || !audit_pool_draw(pool, second))
        return PML_ERROR_MEMORY;
    pair->sides[0] = audit_pool_record(pool, at, first);
    pair->sides[1] = audit_pool_record(pool, at + 1, second);
    return PML_OK;
}

static pml_status draw_pairs(struct audit_pool *pool, struct audit_pair *pairs, size_t count)
{
    pml_status status = PML_OK;
    for (size_t i = 0; i < count && status == PML_OK; i++)
        status = draw_pair(pool, &pairs[i], pool->file->info.slots > 1 && i % 2 == 0);
    return status;
}

/* ---- far pairs by public arithmetic ---- */

static void draw_direction(struct audit_pool *pool, size_t number, double *direction)
{
    size_t k = pool->file->info.dimensions;
    const double angle = 6.283185307179586 * (double)number / (double)DIRECTIONS;
    for (size_t i = 0; i < k; i++)
        direction[i] = audit_pool_uniform(pool);
    if (k == 2) {
        direction[0] = cos(angle);
        direction[1] = sin(angle);
    } else if (number < 2 * k) {
        memset(direction, 0, k * sizeof *direction);
        direction[number / 2] = (number & 1) != 0 ? -1.0 : 1.0;
    }
}

static void draw_candidates(struct search *search, size_t count)
{
    const bool front = search->pool->file->front.kind != PML_FRONT_NONE; /* then anchors are no queries */
    double direction[PML_DIMENSIONS_MAX];
    for (size_t i = 0; !front && i < DIRECTIONS && 2 * i + 1 < count; i++) {
        draw_direction(search->pool, i, direction);
        for (size_t all = 0; all < 2; all++) {
            float *vector = audit_pool_add(search->pool, all ? "mean of anchors" : "anchor");
            if (vector)
                audit_rows_extreme(&search->rows, direction, all ? PML_NEIGHBOURS_MAX : 1, vector);
        }
    }
    while (search->pool->count < count &&
           audit_pool_draw(search->pool,
                           (uint32_t)pml_generator_below(&search->pool->generator, search->pool->file->info.slots)))
        ;
    search->candidates = search->pool->count;
}

/* A pml_piece_fn. */
static pml_outcome sum_candidate(void *context, size_t index)
{
    struct search *search = context;
    pml_status status = audit_rows_sum(&search->rows, audit_pool_vector(search->pool, index), &search->sums[index]);
    if (status == PML_ERROR_FEATURES) /* anchors that add up to nothing */
        search->uses[index] = USES;
    return status == PML_OK || status == PML_ERROR_FEATURES ? PML_DONE : PML_REFUSED;
}

/* The furthest pair in a slot of candidates that are not used up yet. Returns its distance. */
static double furthest_pair(const struct search *search, uint32_t slot, size_t *first, size_t *second)
{
    double label_row[PML_DIMENSIONS_MAX], most = -1.0;
    audit_rows_label(&search->rows, slot, label_row);
    for (size_t i = 0; i < search->candidates; i++) {
        for (size_t j = 0; j < i && search->uses[i] < USES; j++) {
            double distance = search->uses[j] < USES
                                  ? audit_rows_distance(&search->rows, &search->sums[i], &search->sums[j], label_row)
                                  : -1.0;
            if (distance > most) {
                most = distance;
                *first = i;
                *second = j;
            }
        }
    }
    return most;
}

/* By public arithmetic; 0 when a record is unusable. */
static double expect(const struct search *search, const struct audit_pair *pair, struct audit_sum sums[2])
{
    for (size_t side = 0; side < 2; side++)
        if (audit_rows_sum(&search->rows, pair->sides[side].features, &sums[side]) != PML_OK)
            return 0.0;
    return audit_rows_apart(&search->rows, pair, sums);
}

/* One step of a vector, of any size: towards or away from a candidate, or in a random direction. */
static void move(struct search *search, const float *vector, float *moved)
{
    struct audit_pool *pool = search->pool;
    size_t d = pool->file->front.inputs;
    double factor = audit_pool_uniform(pool);
    bool small = pml_generator_below(&pool->generator, 2) == 0;
    memset(moved, 0, d * sizeof *moved);
    if (pml_generator_below(&pool->generator, 2) == 0) {
        size_t other = (size_t)pml_generator_below(&pool->generator, search->candidates);
        audit_add_unit(moved, audit_pool_vector(pool, other), d, 1.0);
    } else {
        for (size_t i = 0; i < d; i++)
            moved[i] = (float)(audit_pool_uniform(pool) / sqrt((double)d));
    }
    for (size_t i = 0; i < d; i++)
        moved[i] *= (float)(small ? factor * factor * factor : factor);
    audit_add_unit(moved, vector, d, 1.0);
}

/* Moves the two records of a pair apart, by steps that are kept when they help. */
static pml_status climb(struct search *search, struct audit_pair *pair)
{
    struct audit_pool *pool = search->pool;
    size_t d = pool->file->front.inputs;
    float *vectors[2] = {audit_pool_add(pool, "refined"), audit_pool_add(pool, "refined")};
    float *moved = audit_pool_add(pool, "refined");
    struct audit_sum sums[2], tried[2];
    if (!vectors[0] || !vectors[1] || !moved)
        return PML_ERROR_MEMORY;
    for (size_t side = 0; side < 2; side++) {
        audit_add_unit(vectors[side], pair->sides[side].features, d, 1.0);
        pair->sides[side].features = vectors[side];
        pair->sides[side].kind = "refined";
    }
    pair->expected = expect(search, pair, sums);
    for (size_t step = 0; step < search->steps && pair->expected > 0.0; step++) {
        size_t side = step & 1;
        move(search, vectors[side], moved);
        memcpy(tried, sums, sizeof sums);
        if (audit_rows_sum(&search->rows, moved, &tried[side]) != PML_OK)
            continue;
        double distance = audit_rows_apart(&search->rows, pair, tried);
        if (distance > pair->expected) {
            pair->expected = distance;
            memcpy(sums, tried, sizeof sums);
            memcpy(vectors[side], moved, d * sizeof *moved);
        }
    }
    return PML_OK;
}

/* The best of some pairs of two slots. */
static pml_status draw_apart(struct search *search, struct audit_pair *pair)
{
    struct audit_pair drawn;
    struct audit_sum sums[2];
    pair->expected = -1.0;
    for (size_t i = 0; i < SLOTS_TRIED; i++) {
        pml_status status = draw_pair(search->pool, &drawn, true);
        if (status != PML_OK)
            return status;
        drawn.expected = expect(search, &drawn, sums);
        if (drawn.expected > pair->expected)
            *pair = drawn;
    }
    return PML_OK;
}

/* The furthest pairs in one slot, then the first of them made better, and one of two slots likewise. */
static pml_status choose_pairs(struct search *search, struct audit_pair *pairs, size_t count)
{
    struct audit_pool *pool = search->pool;
    uint32_t slots = pool->file->info.slots;
    for (size_t number = 1; number < count; number++) {
        size_t tries = number == 1 && pool->file->info.alpha > 0 ? SLOTS_TRIED : 1, used[2] = {0, 0};
        pairs[number].expected = -2.0;
        for (size_t i = 0; i < tries; i++) {
            uint32_t slot = (uint32_t)pml_generator_below(&pool->generator, slots);
            size_t found[2] = {0, 0};
            double distance = furthest_pair(search, slot, &found[0], &found[1]);
            if (distance <= pairs[number].expected)
                continue;
            pairs[number] = (struct audit_pair){
                {audit_pool_record(pool, found[0], slot), audit_pool_record(pool, found[1], slot)}, distance};
            memcpy(used, found, sizeof found);
        }
        search->uses[used[0]]++;
        search->uses[used[1]]++;
    }
    pairs[0] = pairs[1];
    pml_status status = climb(search, &pairs[0]);
    if (status != PML_OK || slots == 1)
        return status;
    status = draw_apart(search, &pairs[count - 1]);
    return status == PML_OK ? climb(search, &pairs[count - 1]) : status;
}

/* The first `far` of them are found by public arithmetic, the others are drawn. */
static pml_status gaussian_pairs(struct audit_pool *pool, struct audit_pair *pairs, size_t far, size_t count)
{
    const pml_pack_info *info = &pool->file->info;
    struct audit_sum sums[2];
    struct search *search = calloc(1, sizeof *search);
    if (!search)
        return PML_ERROR_MEMORY;
    search->pool = pool;
    double affordable = WORK / ((double)info->anchors * info->features);
    search->steps = affordable < (double)STEPS_MAX ? (size_t)affordable : STEPS_MAX;
    pml_status status = audit_rows_open(&search->rows, pool->file);
    if (status == PML_OK) {
        double most = fmax(affordable, (double)count + 4.0);
        draw_candidates(search, most < (double)CANDIDATES_MAX ? (size_t)most : CANDIDATES_MAX);
        if (pml_parallel(AUDIT_THREADS, search->candidates, sum_candidate, search, NULL) != PML_DONE)
            status = PML_ERROR_ARGUMENT;
    }
    if (status == PML_OK)
        status = choose_pairs(search, pairs, far);
    if (status == PML_OK)
        status = draw_pairs(pool, pairs + far, count - far);
    for (size_t i = far; i < count && status == PML_OK; i++)
        pairs[i].expected = expect(search, &pairs[i], sums);
    audit_rows_close(&search->rows);
    free(search);
    return status;
}

pml_status audit_pairs_make(struct audit_pool *pool, const struct pack_file *file, pml_mechanism mechanism,
                            struct audit_pair *pairs, size_t count)
{
    pml_status status = audit_pool_open(pool, file, CANDIDATES_MAX + 2 * AUDIT_PAIRS_MAX + 2 * SLOTS_TRIED + 8);
    if (status != PML_OK)
        return status;
    return mechanism == PML_GAUSSIAN ? gaussian_pairs(pool, pairs, (count + 2) / 2, count)
                                     : draw_pairs(pool, pairs, count);
}
