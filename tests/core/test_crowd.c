/* SPDX-License-Identifier: Apache-2.0
 * A client of a crowd: what the order of calls allows, and that bad input changes nothing. The bytes of bundles are in
 * test_golden.c, what they cost and hide in test_bundle.c. */
#include "support/support.h"

#include <stdlib.h>

#if PML_WITH_CROWD
#include "support/crowd_support.h"

void setUp(void)
{
    prepare_crowd(PACK_CLASS, 8.0);
}

void tearDown(void)
{
    teardown_fixture(&f);
}

/* ---- states ---- */

static void test_the_order_of_calls(void)
{
    refuses_in_every_other_state(CLIENT_IDLE);
    TEST_ASSERT_EQUAL(PML_OK, arm(PML_BUNDLE_QUERY));
    refuses_in_every_other_state(CLIENT_ARMED);
    TEST_ASSERT_EQUAL(PML_OK, pml_crowd_begin(f.client, &asked));
    refuses_in_every_other_state(CLIENT_WRITING);
    read_all(&first);
    TEST_ASSERT_TRUE(first.count >= policy.own);
    refuses_in_every_other_state(CLIENT_IDLE);
    TEST_ASSERT_TRUE(is_zero(&f.client->crowd->bundle, sizeof f.client->crowd->bundle));
    TEST_ASSERT_TRUE(is_zero(&f.client->random, sizeof f.client->random) && f.client->shift == 0);
}

static void test_wipe_ends_a_bundle_and_gives_nothing_back(void)
{
    TEST_ASSERT_EQUAL(PML_OK, arm(PML_BUNDLE_QUERY));
    const pml_budget paid = f.budget;
    TEST_ASSERT_EQUAL(PML_OK, pml_crowd_begin(f.client, &asked));
    pml_client_wipe(f.client);
    refuses_in_every_other_state(CLIENT_IDLE);
    TEST_ASSERT_EQUAL_MEMORY(&paid, &f.budget, sizeof paid);
    TEST_ASSERT_TRUE(is_zero(&f.client->crowd->bundle, sizeof f.client->crowd->bundle));
}

static void test_other_clients_are_refused(void)
{
    uint8_t out[512];
    unsigned own;
    struct fixture plain;
    setup_fixture(&plain, PACK_CLASS, PML_RESPONSE, 1.0);
    setup_client(&plain);
    TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_crowd_arm(plain.client, &plain.budget, PML_BUNDLE_QUERY));
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(plain.client, &plain.budget));
    TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_crowd_begin(plain.client, &asked));
    TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_crowd_next(plain.client, out, sizeof out, &own));
    TEST_ASSERT_EQUAL(0, pml_crowd_left(plain.client));
    TEST_ASSERT_EQUAL(PML_OK, pml_client_release(plain.client, &query, out, sizeof out));
    teardown_fixture(&plain);
}

/* ---- bad input ---- */

static void test_bad_input_uses_nothing_up(void)
{
    uint8_t out[MESSAGE], other[MESSAGE];
    unsigned own;
    float bad[64];
    memcpy(bad, features, sizeof bad);
    bad[3] /= 0.0f * (float)f.store.calls;
    const pml_query unsound = {.features = bad, .count = query.count, .label = query.label};
    const pml_query foreign = {.features = features, .count = query.count, .label = INT32_MAX};
    const pml_query short_one = {.features = features, .count = query.count - 1, .label = query.label};
    const pml_query null = {.count = query.count, .label = query.label};
    const struct {
        pml_crowd_content content;
        int status;
    } table[] = {
        {{.query = &unsound}, PML_ERROR_FEATURES},       {{.query = &foreign}, PML_ERROR_LABEL},
        {{.query = &short_one}, PML_ERROR_DIMENSION},    {{.query = &null}, PML_ERROR_ARGUMENT},
        {{.query = NULL}, PML_ERROR_ARGUMENT},           {{&query, kept, sizeof kept}, PML_ERROR_ARGUMENT},
        {{NULL, kept, sizeof kept}, PML_ERROR_ARGUMENT},
    };
    write_bundle(PML_BUNDLE_QUERY, &asked, &first);
    f.script.calls = 0; /* the same entropy again */
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_arm(NULL, &f.budget, PML_BUNDLE_QUERY));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_arm(f.client, NULL, PML_BUNDLE_QUERY));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, arm((pml_bundle)0));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, arm((pml_bundle)4));
    TEST_ASSERT_EQUAL(PML_OK, arm(PML_BUNDLE_QUERY));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_begin(NULL, &asked));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_begin(f.client, NULL));
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        TEST_ASSERT_EQUAL(table[i].status, pml_crowd_begin(f.client, &table[i].content));
        TEST_ASSERT_TRUE(is_zero(f.client->row, f.pack.features));
    }
    TEST_ASSERT_EQUAL(PML_OK, pml_crowd_begin(f.client, &asked));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_next(NULL, out, sizeof out, &own));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_next(f.client, NULL, 0, &own));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_next(f.client, out, sizeof out, NULL));
    memset(other, 0xA5, sizeof other);
    TEST_ASSERT_EQUAL(PML_ERROR_BUFFER, pml_crowd_next(f.client, other, pml_client_release_size(f.client) - 1, &own));
    TEST_ASSERT_TRUE(own == 0 && is_zero(other, pml_client_release_size(f.client) - 1));
    read_all(&second);
    TEST_ASSERT_EQUAL_MEMORY(&first, &second, sizeof first);
}

static void test_a_kept_message_must_be_one_of_this_pack(void)
{
    uint8_t bytes[MESSAGE];
    write_bundle(PML_BUNDLE_QUERY, &asked, &first);
    const size_t length = kept_content.kept_size;
    TEST_ASSERT_EQUAL(PML_OK, arm(PML_BUNDLE_KEPT));
    for (size_t at = 0; at < length; at++)
        for (int bit = 0; bit < 8; bit++) {
            pml_release_view view;
            memcpy(bytes, kept, length);
            bytes[at] ^= (uint8_t)(1 << bit);
            if (pml_release_parse(&f.pack, bytes, length, &view) == PML_OK)
                continue; /* another symbol: nobody can tell */
            const pml_crowd_content content = {.kept = bytes, .kept_size = length};
            TEST_ASSERT_EQUAL(at >= 5 && at < 21 ? PML_ERROR_PACK_ID : PML_ERROR_RELEASE,
                              pml_crowd_begin(f.client, &content));
        }
    pml_crowd_content cut = kept_content;
    for (cut.kept_size = 0; cut.kept_size < length; cut.kept_size++)
        TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, pml_crowd_begin(f.client, &cut));
    struct fixture plain; /* a response release has a cell per slot: which one would it be? */
    uint8_t release[256];
    setup_fixture(&plain, PACK_CLASS, PML_RESPONSE, 1.0);
    setup_client(&plain);
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(plain.client, &plain.budget));
    TEST_ASSERT_EQUAL(PML_OK, pml_client_release(plain.client, &query, release, sizeof release));
    const pml_crowd_content whole = {.kept = release, .kept_size = pml_client_release_size(plain.client)};
    TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, pml_crowd_begin(f.client, &whole));
    teardown_fixture(&plain);
    TEST_ASSERT_EQUAL(PML_OK, pml_crowd_begin(f.client, &kept_content));
    read_all(&second);
    for (size_t i = 0; i < second.count; i++) /* the drawn cell is the same, and so is its list */
        for (size_t j = 0; j < first.count; j++)
            if (second.own[i] > 0 && second.own[i] == first.own[j])
                TEST_ASSERT_EQUAL_UINT32(first.symbol[j], second.symbol[i]);
}

/* ---- the policy ---- */

#define NOT_A_NUMBER (0.0 * (double)INFINITE)
#define INFINITE (1e308 * 1e10 * (double)(f.memory != NULL))

static void test_policies_out_of_range(void)
{
    const pml_crowd good = policy;
    const pml_crowd bad[] = {
        {.clients = ((uint64_t)1 << 32) + 1, .clusters = 1, .copies = 1, .own = 1},
        {.clients = 0, .clusters = 0.5, .copies = 1, .own = 1},
        {.clients = 9, .clusters = -1e-9, .copies = 1, .own = 1},
        {.clients = 9, .clusters = 4.0001, .copies = 1, .own = 1},
        {.clients = 9, .clusters = NOT_A_NUMBER, .copies = 1, .own = 1},
        {.clients = 9, .clusters = INFINITE, .copies = 1, .own = 1},
        {.clients = 9, .clusters = 1, .copies = 0, .own = 1},
        {.clients = 9, .clusters = 1, .copies = 65, .own = 1},
        {.clients = 9, .clusters = 1, .copies = UINT32_MAX, .own = 1},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 0},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 9},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 7}, /* the pack has 6 cells */
        {.clients = 9, .clusters = 1, .copies = 1, .own = 1, .relay_clusters = -1},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 1, .relay_clusters = 0x1p24 + 1},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 1, .relay_clusters = NOT_A_NUMBER},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 1, .mu = 0.1},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 1, .delta0 = 1e-12},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 1, .mu = 0x1p-21, .delta0 = 1e-12},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 1, .mu = 16.1, .delta0 = 1e-12},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 1, .mu = NOT_A_NUMBER, .delta0 = 1e-12},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 1, .mu = -0.1, .delta0 = 1e-12},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 1, .mu = 0.1, .delta0 = 0x1p-61},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 1, .mu = 0.1, .delta0 = 0x1p-9},
        {.clients = 9, .clusters = 1, .copies = 1, .own = 1, .mu = 0.1, .delta0 = NOT_A_NUMBER},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        policy = bad[i];
        TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_client_init(&f.client, f.memory, f.memory_size, &f.pack, &f.config));
        TEST_ASSERT_NULL(f.client);
        TEST_ASSERT_TRUE(is_zero(f.memory, f.memory_size));
    }
    policy = good;
    const pml_config config = f.config;
    f.config.epsilon = 0x1p-17;
    TEST_ASSERT_EQUAL(PML_ERROR_EPSILON, pml_client_init(&f.client, f.memory, f.memory_size, &f.pack, &f.config));
    f.config = config;
    f.config.delta = 1e-6;
    TEST_ASSERT_EQUAL(PML_ERROR_DELTA, pml_client_init(&f.client, f.memory, f.memory_size, &f.pack, &f.config));
    f.config = config;
    f.config.mechanism = PML_GAUSSIAN;
    TEST_ASSERT_EQUAL(PML_ERROR_MECHANISM, pml_client_init(&f.client, f.memory, f.memory_size, &f.pack, &f.config));
    f.config.mechanism = PML_CROWD;
    TEST_ASSERT_EQUAL(PML_ERROR_MECHANISM, pml_client_init(&f.client, f.memory, f.memory_size, &f.pack, &f.config));
    f.config.crowd = NULL;
    TEST_ASSERT_EQUAL(PML_ERROR_MECHANISM, pml_client_init(&f.client, f.memory, f.memory_size, &f.pack, &f.config));
    TEST_ASSERT_EQUAL(0, pml_client_size(&f.pack, &f.config));
}

/* Every field, before arm and between arm and begin: a named error, and the price comes back. */
static void test_a_policy_that_changes_is_refused_and_costs_nothing(void)
{
    const pml_budget full = f.budget;
    const pml_crowd good = policy;
    for (int field = 0; field < 8; field++) {
        pml_crowd changed = good;
        changed.clients += field == 0;
        changed.clusters += field == 1 ? 0.25 : 0;
        changed.copies += field == 2;
        changed.own -= field == 3;
        changed.relay_clusters = field == 4 ? NOT_A_NUMBER : 0;
        changed.cover = field == 5;
        changed.delta0 *= field == 6 ? 2 : 1;
        changed.mu *= field == 7 ? 0.5 : 1;
        policy = changed;
        TEST_ASSERT_EQUAL(PML_ERROR_CROWD, arm(PML_BUNDLE_QUERY));
        TEST_ASSERT_EQUAL_MEMORY(&full, &f.budget, sizeof full);
        policy = good;
        TEST_ASSERT_EQUAL(PML_OK, arm(PML_BUNDLE_QUERY));
        policy = changed;
        TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_crowd_begin(f.client, &asked));
        TEST_ASSERT_EQUAL(PML_OK, pml_client_disarm(f.client, &f.budget));
        TEST_ASSERT_EQUAL_MEMORY(&full, &f.budget, sizeof full);
        policy = good;
    }
}

static void test_memory_is_exact(void)
{
    TEST_ASSERT_EQUAL(PML_CROWD_MEMORY(f.pack.features), f.memory_size);
    for (size_t offset = 0; offset < 8; offset++) {
        uint8_t *memory = malloc(f.memory_size + offset);
        TEST_ASSERT_EQUAL(PML_ERROR_MEMORY,
                          pml_client_init(&f.client, memory + offset, f.memory_size - 1, &f.pack, &f.config));
        TEST_ASSERT_EQUAL(PML_OK, pml_client_init(&f.client, memory + offset, f.memory_size, &f.pack, &f.config));
        write_bundle(PML_BUNDLE_QUERY, &asked, &first);
        free(memory);
    }
}

#else

void setUp(void)
{
}

void tearDown(void)
{
}

static void test_a_crowd_that_was_left_out_is_refused(void)
{
    static const pml_crowd policy = {.clients = 10, .clusters = 1, .copies = 8, .own = 1};
    struct fixture f;
    uint8_t memory[4096];
    setup_fixture(&f, PACK_ONE, PML_RESPONSE, 8.0);
    f.config.crowd = &policy;
    TEST_ASSERT_EQUAL(0, pml_client_size(&f.pack, &f.config));
    TEST_ASSERT_EQUAL(PML_ERROR_MECHANISM, pml_client_init(&f.client, memory, sizeof memory, &f.pack, &f.config));
    const pml_budget_caps caps = {.epsilon_crowd = 1, .delta_crowd = 1e-6};
    TEST_ASSERT_EQUAL(PML_ERROR_MECHANISM, pml_budget_create(&f.budget, test_owner, &caps));
}
#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_CROWD
    RUN_TEST(test_the_order_of_calls);
    RUN_TEST(test_wipe_ends_a_bundle_and_gives_nothing_back);
    RUN_TEST(test_other_clients_are_refused);
    RUN_TEST(test_bad_input_uses_nothing_up);
    RUN_TEST(test_a_kept_message_must_be_one_of_this_pack);
    RUN_TEST(test_policies_out_of_range);
    RUN_TEST(test_a_policy_that_changes_is_refused_and_costs_nothing);
    RUN_TEST(test_memory_is_exact);
#else
    RUN_TEST(test_a_crowd_that_was_left_out_is_refused);
#endif
    return UNITY_END();
}
