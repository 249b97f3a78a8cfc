/* SPDX-License-Identifier: Apache-2.0
 * The calls of a client in any order, with arbitrary configurations, budgets and queries. */
#ifndef PML_EVA_CLIENT_CALLS_H
#define PML_EVA_CLIENT_CALLS_H

#include "core/base/kernels.h"
#include "view.h"

static pml_budget budget;

static int any_entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    make_any(out, size);
    return Frama_C_interval(-1, 1);
}

static int any_persist(void *context, const uint8_t *bytes, size_t size)
{
    //@ assert \valid_read(bytes + (0 .. size - 1));
    (void)context;
    (void)bytes;
    (void)size;
    return Frama_C_interval(-1, 1);
}

static void any_read(void *context, size_t first, size_t count, float *out)
{
    (void)context;
    (void)first;
    make_any(out, count * sizeof *out);
}

static pml_config any_config(pml_mechanism mechanism, const struct pml_kernels *kernels)
{
    pml_config config = {.mechanism = mechanism,
                         .epsilon = any_double(),
                         .delta = any_double(),
                         .value_bytes = Frama_C_unsigned_int_interval(0, 3),
                         .substitute = any_bool(),
                         .entropy = any_entropy,
                         .persist = any_persist,
                         .kernels = kernels};
    return config;
}

/* A query with exactly `count` features. */
static pml_query any_query(uint32_t count, float *features)
{
    pml_query query = {.count = any_bool() ? count : any_size(SIZE_MAX),
                       .label = (int32_t)any_u32(),
                       .modality = any_u32(),
                       .read = any_bool() ? any_read : NULL};
    make_any(features, count * sizeof *features);
    query.features = MAYBE(features);
    return query;
}

/* Whatever may be missing, in memory of any size up to the one that is needed. */
static void refuse_client(const pml_config *config, void *memory, size_t size)
{
    pml_client *client;
    (void)pml_client_init(MAYBE(&client), MAYBE(memory), any_size(size - 1), MAYBE(&view), MAYBE(config));
    (void)pml_client_size(MAYBE(&view), MAYBE(config));
}

/* The calls in any order; `out` has exactly the bytes of a release. */
static void use_client(pml_client *client, float *features, uint32_t count, uint8_t *out, size_t bytes)
{
    pml_receipt receipt;
    ANY(budget);
    while (any_bool()) {
        pml_query query = any_query(count, features);
        switch (Frama_C_interval(0, 5)) {
        case 0:
            (void)pml_client_arm(MAYBE(client), MAYBE(&budget));
            break;
        case 1:
            (void)pml_client_release(MAYBE(client), MAYBE(&query), MAYBE(out), any_size(bytes));
            break;
        case 2:
            (void)pml_client_disarm(MAYBE(client), MAYBE(&budget));
            break;
        case 3:
            (void)pml_client_receipt(MAYBE(client), MAYBE(&receipt));
            break;
        case 4:
            pml_client_wipe(MAYBE(client));
            break;
        default:
            ANY(budget);
            break;
        }
    }
}

#endif
