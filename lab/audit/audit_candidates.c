/* SPDX-License-Identifier: Apache-2.0
 * Makes feature vectors to try as queries from a pack's public rows, the same for every audit of a pack. */
#include "audit_candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

pml_status audit_pool_open(struct audit_pool *pool, const struct pack_file *file, size_t capacity)
{
    memset(pool, 0, sizeof *pool);
    pool->file = file;
    pool->capacity = capacity;
    pool->generator = pml_generator_start(1, 0);
    pool->values = calloc(capacity * file->front.inputs, sizeof *pool->values);
    pool->kinds = calloc(capacity, sizeof *pool->kinds);
    pool->labels = calloc(file->info.slots, sizeof *pool->labels);
    if (!pool->values || !pool->kinds || !pool->labels)
        return PML_ERROR_MEMORY;
    for (size_t i = 0; i < file->info.classes; i++) {
        int32_t label;
        uint32_t slot;
        if (pml_pack_class(&file->pack, i, &label, &slot) == PML_OK && slot < file->info.slots)
            pool->labels[slot] = label;
    }
    return PML_OK;
}

void audit_pool_close(struct audit_pool *pool)
{
    free(pool->values);
    free(pool->kinds);
    free(pool->labels);
    memset(pool, 0, sizeof *pool);
}

float *audit_pool_add(struct audit_pool *pool, const char *kind)
{
    if (pool->count == pool->capacity)
        return NULL;
    pool->kinds[pool->count] = kind;
    return pool->values + pool->file->front.inputs * pool->count++;
}

const float *audit_pool_vector(const struct audit_pool *pool, size_t index)
{
    return pool->values + pool->file->front.inputs * index;
}

struct audit_record audit_pool_record(const struct audit_pool *pool, size_t index, uint32_t slot)
{
    return (struct audit_record){.features = audit_pool_vector(pool, index),
                                 .label = pool->labels[slot],
                                 .slot = slot,
                                 .kind = pool->kinds[index]};
}

void audit_add_row(float *target, const int8_t *row, size_t count, double factor)
{
    double square = 0.0;
    for (size_t i = 0; i < count; i++)
        square += (double)row[i] * row[i];
    for (size_t i = 0; i < count && square > 0.0; i++)
        target[i] += (float)(factor * row[i] / sqrt(square));
}

void audit_add_unit(float *target, const float *source, size_t count, double factor)
{
    double square = 0.0;
    for (size_t i = 0; i < count; i++)
        square += (double)source[i] * (double)source[i];
    for (size_t i = 0; i < count && square > 0.0; i++)
        target[i] += (float)(factor * (double)source[i] / sqrt(square));
}

double audit_pool_uniform(struct audit_pool *pool)
{
    return (double)(pml_generator_next(&pool->generator) >> 11) * 0x1p-52 - 1.0;
}

/* A row of the front is a query that it was made for: a centre of kernels, or what a row of a matrix looks for. NULL: the
 * front has none. */
static const int8_t *front_row(struct audit_pool *pool)
{
    const pml_front *front = &pool->file->front;
    const int8_t *body = (const int8_t *)front->body;
    if (front->kind == PML_FRONT_MATRIX)
        return body + 12 * (size_t)front->outputs +
               (size_t)pml_generator_below(&pool->generator, front->outputs) * front->inputs;
    if (front->kind == PML_FRONT_KERNELS)
        return body + 8 * (size_t)front->outputs + 12 * (size_t)front->centres +
               (size_t)pml_generator_below(&pool->generator, front->centres) * front->inputs;
    return NULL;
}

/* Behind a front nobody knows a query for a row of the pack: rows of the front stand for them. */
static void draw_for_front(struct audit_pool *pool, float *vector, bool by_row, double sign)
{
    const size_t inputs = pool->file->front.inputs;
    const int8_t *row = by_row ? front_row(pool) : NULL;
    if (row)
        audit_add_row(vector, row, inputs, sign);
    for (size_t i = 0; i < inputs && !row; i++)
        vector[i] = (float)pml_generator_normal(&pool->generator, 1000);
    vector[0] += row ? 0.001f : 0.5f; /* never all zero */
}

bool audit_pool_draw(struct audit_pool *pool, uint32_t slot)
{
    static const char *const names[] = {"anchor", "negated anchor", "prototype", "negated prototype", "random"};
    const pml_pack_info *info = &pool->file->info;
    size_t kind = (size_t)pml_generator_below(&pool->generator, 5);
    if (kind < 4 && (kind < 2 ? info->anchors : info->prototypes) == 0)
        kind ^= 2; /* use the kind that the pack has */
    float *vector = audit_pool_add(pool, names[kind]);
    if (!vector)
        return false;
    double sign = (kind & 1) != 0 ? -1.0 : 1.0;
    if (pool->file->front.kind != PML_FRONT_NONE) {
        pool->kinds[pool->count - 1] = kind < 4 ? sign > 0.0 ? "front" : "negated front" : names[kind];
        draw_for_front(pool, vector, kind < 4, sign);
    } else if (kind < 2) {
        size_t index = (size_t)pml_generator_below(&pool->generator, info->anchors);
        audit_add_row(vector, pml_pack_anchor(&pool->file->pack, index), info->features, sign);
    } else if (kind < 4) {
        size_t index = (size_t)pml_generator_below(&pool->generator, info->prototypes);
        audit_add_row(vector, pml_pack_prototype(&pool->file->pack, slot, index), info->features, sign);
    } else {
        draw_for_front(pool, vector, false, sign);
    }
    return true;
}
