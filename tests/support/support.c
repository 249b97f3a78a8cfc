/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"
#include "base/sha256.h"
#include "golden/vectors.h"
#include "pipeline.h"
#include "query.h"

#include <stdlib.h>

const uint8_t test_owner[16] = "owner of budget";

const uint8_t *golden_bytes(unsigned index, size_t *size)
{
    *size = golden_packs[index].size;
    return golden_packs[index].bytes;
}

pml_pack open_golden(unsigned index)
{
    pml_pack pack;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&pack, golden_packs[index].bytes, golden_packs[index].size,
                                            golden_packs[index].id, NULL));
    return pack;
}

uint8_t *copy_golden(unsigned index, size_t *size)
{
    const uint8_t *bytes = golden_bytes(index, size);
    uint8_t *copy = malloc(*size);
    TEST_ASSERT_NOT_NULL(copy);
    memcpy(copy, bytes, *size);
    return copy;
}

void seal_pack(uint8_t *bytes, size_t size)
{
    pml_pack_seal(bytes, size);
}

int script_entropy(void *context, uint8_t *out, size_t size)
{
    struct script *script = context;
    script->calls++;
    if (script->seed) {
        memcpy(out, script->seed, size);
    } else {
        uint8_t counter[4];
        store_le32(counter, script->calls);
        pml_sha256(counter, sizeof counter, out);
    }
    if (script->stuck)
        memset(out, 0x5A, size);
    if (script->calls == script->fail_at)
        return script->failure != 0 ? script->failure : -1;
    return 0;
}

int store_persist(void *context, const uint8_t *bytes, size_t size)
{
    struct store *store = context;
    store->calls++;
    if (store->calls == store->fail_at)
        return -1;
    TEST_ASSERT_EQUAL(PML_BUDGET_SIZE, size);
    memcpy(store->bytes, bytes, size);
    return 0;
}

void setup_fixture(struct fixture *f, unsigned pack, int mechanism, double epsilon)
{
    memset(f, 0, sizeof *f);
    f->pack = open_golden(pack);
    f->config.mechanism = (pml_mechanism)mechanism;
    f->config.epsilon = epsilon;
    f->config.delta = mechanism == PML_GAUSSIAN ? 1e-5 : 0.0;
    f->config.entropy = script_entropy;
    f->config.entropy_context = &f->script;
    f->config.persist = store_persist;
    f->config.persist_context = &f->store;
    f->config.kernels = pml_kernels_among(PML_KERNEL_COUNT);
    double gaussian = PML_WITH_GAUSSIAN ? 100.0 : 0.0;
    const pml_budget_caps caps = {.epsilon_response = 1000.0,
                                  .epsilon_gaussian = gaussian,
                                  .delta = gaussian > 0 ? 1e-5 : 0.0,
                                  .epsilon_floor = 1000.0,
                                  .epsilon_crowd = PML_WITH_CROWD ? 16.0 : 0.0,
                                  .delta_crowd = PML_WITH_CROWD ? 1e-5 : 0.0};
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_create(&f->budget, test_owner, &caps));
}

pml_crowd golden_policy(const struct golden_bundle *golden)
{
    return (pml_crowd){.clients = 1000,
                       .clusters = golden->clusters,
                       .copies = golden->copies,
                       .own = golden->own_messages,
                       .cover = golden->cover != 0,
                       .delta0 = 1e-12,
                       .mu = 0.03};
}

void setup_client(struct fixture *f)
{
    f->memory_size = pml_client_size(&f->pack, &f->config);
    f->memory = malloc(f->memory_size);
    TEST_ASSERT_NOT_NULL(f->memory);
    TEST_ASSERT_EQUAL(PML_OK, pml_client_init(&f->client, f->memory, f->memory_size, &f->pack, &f->config));
}

void teardown_fixture(struct fixture *f)
{
    free(f->memory);
    f->memory = NULL;
}

#if PML_WITH_GAUSSIAN
void true_row(pml_client *client, const pml_query *query, int32_t *row)
{
    uint32_t slot;
    uint64_t valid;
    TEST_ASSERT_EQUAL(PML_OK,
                      pml_query_read(query, client->pack, client->config.kernels, false, client->row, &slot, &valid));
    pml_place_gaussian(client, slot, row);
    memset(client->row, 0, pml_query_memory(client->pack));
}
#endif

pml_status make_budget(pml_budget *budget, const uint8_t owner[16], double response, double gaussian, double delta)
{
    const pml_budget_caps caps = {.epsilon_response = response, .epsilon_gaussian = gaussian, .delta = delta};
    return pml_budget_create(budget, owner, &caps);
}

pml_status release_query(pml_client *client, const float *features, size_t count, int32_t label, uint8_t *out,
                         size_t capacity)
{
    const pml_query query = {.features = features, .count = count, .label = label};
    return pml_client_release(client, &query, out, capacity);
}

pml_status begin_ranking(struct fixture *f, const float *features, size_t count, int32_t label, pml_scope scope,
                         pml_match *matches, size_t capacity)
{
    const pml_query query = {.features = features, .count = count, .label = label, .modality = f->modality};
    const pml_ranking_config config = {.matches = matches,
                                       .capacity = capacity,
                                       .scope = scope,
                                       .substitute = f->config.substitute,
                                       .crowd = f->config.crowd != NULL,
                                       .kernels = f->config.kernels};
    return pml_ranking_begin(&f->ranking, f->ranking_memory, sizeof f->ranking_memory, &f->pack, &query, &config);
}

void make_features(const pml_pack *pack, uint32_t salt, float *out)
{
    pml_pack_info info;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(pack, &info));
    uint32_t state = salt * 2654435761u + 12345u;
    for (uint32_t i = 0; i < info.features; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = (float)(int32_t)state / 1e6f;
    }
}

int32_t some_label(const pml_pack *pack)
{
    int32_t label = 0;
    uint32_t slot;
    return pml_pack_class(pack, 0, &label, &slot) == PML_OK ? label : 0;
}
