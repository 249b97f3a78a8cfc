/* SPDX-License-Identifier: Apache-2.0
 * What the tests share: golden packs, scripted entropy, a store that can fail. */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

#include "base/base.h"
#include "privatemail_public.h"

#include <string.h>
#include <unity.h>

/* ---- golden packs by what they are good for ---- */

enum {
    PACK_ONE,
    PACK_CLASS,
    PACK_GROUP,
    PACK_RESPONSE_ONLY,
    PACK_RESPONSE_CODES,
    PACK_GAUSSIAN_ONLY,
    PACK_WIDE,
    PACK_TIES,
    PACK_NAMED = 11,
    PACK_SPHERE,   /* codes on a sphere */
    PACK_FRONTS,   /* eight modalities: none, signs, matrix, kernels, each without and with roots */
    PACK_EXTREMES, /* of matrix and kernels */
    PACK_TO_ZERO,  /* modality 1 maps everything to zero, 2 equal first features, 3 nearly everything */
    PACK_SIGNS     /* no front has a body */
};

const uint8_t *golden_bytes(unsigned index, size_t *size);
pml_pack open_golden(unsigned index);

/* A writable copy; `seal` makes its hash right again after a change. Free with free(). */
uint8_t *copy_golden(unsigned index, size_t *size);
void seal_pack(uint8_t *bytes, size_t size);

/* ---- entropy: hands out `seed` again and again, or a counter's hash when seed is NULL ---- */

struct script {
    const uint8_t *seed; /* 32 bytes */
    unsigned calls;
    unsigned fail_at; /* this call (from 1) fails; 0: none */
    int failure;      /* what the failing call returns; 0: −1 */
    bool stuck;       /* all bytes equal */
};
int script_entropy(void *context, uint8_t *out, size_t size);

/* ---- store ---- */

struct store {
    uint8_t bytes[PML_BUDGET_SIZE];
    unsigned calls;
    unsigned fail_at;
};
int store_persist(void *context, const uint8_t *bytes, size_t size);

/* ---- a client ready to use ---- */

struct fixture {
    pml_pack pack;
    pml_config config;
    struct script script;
    struct store store;
    pml_budget budget;
    pml_client *client;
    void *memory;
    size_t memory_size;
    uint32_t modality; /* of queries for ranking */
    pml_ranking *ranking;
    uint8_t ranking_memory[PML_RANKING_MEMORY(64, PML_SKETCH_MAX, PML_DIRECTIONS_MAX) + PML_FRONT_MEMORY(64, 64)];
};

extern const uint8_t test_owner[16];

/* Fills everything but the client; `setup_client` makes it and checks that it worked. */
void setup_fixture(struct fixture *f, unsigned pack, int mechanism, double epsilon);
void setup_client(struct fixture *f);
void teardown_fixture(struct fixture *f);

/* Gaussian: the row of the embedding that a release of this query hides, on the grid. */
void true_row(pml_client *client, const pml_query *query, int32_t *row);

/* The policy of a golden bundle, with a promise that the fixture's budget can pay. */
struct golden_bundle;
pml_crowd golden_policy(const struct golden_bundle *golden);

/* Calls with their structures spelled out. */
pml_status make_budget(pml_budget *budget, const uint8_t owner[16], double response, double gaussian, double delta);
pml_status release_query(pml_client *client, const float *features, size_t count, int32_t label, uint8_t *out,
                         size_t capacity);
pml_status begin_ranking(struct fixture *f, const float *features, size_t count, int32_t label, pml_scope scope,
                         pml_match *matches, size_t capacity);

/* Features that every pack takes: a fixed pseudo-random vector of the pack's length, different for each `salt`. */
void make_features(const pml_pack *pack, uint32_t salt, float *out);
int32_t some_label(const pml_pack *pack);

static inline bool is_zero(const void *bytes, size_t size)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < size; i++)
        if (p[i] != 0)
            return false;
    return true;
}

#endif
