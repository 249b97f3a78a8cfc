/* SPDX-License-Identifier: Apache-2.0
 * Feature vectors an auditor tries, made from a pack's public rows. */
#ifndef CLI_AUDIT_CANDIDATES_H
#define CLI_AUDIT_CANDIDATES_H

#include "audit_trials.h"

#include "common/generator.h"

/* Vectors of as many floats as the front takes; none is ever removed. */
struct audit_pool {
    const struct pack_file *file;
    float *values;
    const char **kinds;
    size_t count, capacity;
    int32_t *labels; /* one class per slot */
    struct pml_generator generator;
};

/* Close the pool after a failure too. */
pml_status audit_pool_open(struct audit_pool *pool, const struct pack_file *file, size_t capacity);
void audit_pool_close(struct audit_pool *pool);

/* A new vector of zeros; NULL when the pool is full. */
float *audit_pool_add(struct audit_pool *pool, const char *kind);

/* Any anchor or prototype of the slot or row of the front, its negation, or noise, whatever the pack has. False when the pool is full. */
bool audit_pool_draw(struct audit_pool *pool, uint32_t slot);

const float *audit_pool_vector(const struct audit_pool *pool, size_t index);
struct audit_record audit_pool_record(const struct audit_pool *pool, size_t index, uint32_t slot);

/* target += factor · source/‖source‖ */
void audit_add_unit(float *target, const float *source, size_t count, double factor);
void audit_add_row(float *target, const int8_t *row, size_t count, double factor);

/* Between −1 and 1. */
double audit_pool_uniform(struct audit_pool *pool);

#endif
