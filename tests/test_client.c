/* SPDX-License-Identifier: Apache-2.0
 * The order of calls: what each state allows, what is paid when, and that one noise serves one release. */
#include "client.h"
#include "support.h"

#include <stdlib.h>

static int mechanism; /* every test runs for each */
static struct fixture f;
static float features[64];
static uint8_t out[512];
static size_t written;

void setUp(void)
{
    setup_fixture(&f, PACK_CLASS, mechanism, 1.0);
    setup_client(&f);
    make_features(&f.pack, 1, features);
    memset(out, 0, sizeof out);
    written = 0;
}

void tearDown(void)
{
    teardown_fixture(&f);
}

static int arm(void)
{
    return pml_client_arm(f.client, &f.budget);
}

static int load(void)
{
    return pml_client_load(f.client, features, pack_view(&f.pack)->d, some_label(&f.pack));
}

static int release(void)
{
    memset(out, 0xEE, sizeof out);
    return pml_client_release(f.client, out, sizeof out, &written);
}

static int disarm(void)
{
    return pml_client_disarm(f.client, &f.budget);
}

/* What is spent, in the mechanism's own unit. */
static double spent(const pml_budget *budget)
{
    pml_budget_left left;
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_remaining(budget, &left));
    return f.config.mechanism == PML_GAUSSIAN ? left.mu2_spent : left.epsilon_spent;
}

static void assert_stored(void)
{
    TEST_ASSERT_EQUAL_MEMORY(f.budget.bytes, f.store.bytes, PML_BUDGET_SIZE);
}

/* No noise and no query in the client: everything secret is zero. */
static void assert_wiped(void)
{
    const pml_client *c = f.client;
    const struct pack_view *v = pack_view(&f.pack);
    TEST_ASSERT_TRUE(is_zero(&c->random, sizeof c->random));
    TEST_ASSERT_TRUE(is_zero(&c->shift, sizeof c->shift));
    TEST_ASSERT_TRUE(is_zero(&c->slot, sizeof c->slot));
    TEST_ASSERT_TRUE(is_zero(&c->cell, sizeof c->cell));
    TEST_ASSERT_TRUE(is_zero(c->update, sizeof c->update));
    TEST_ASSERT_TRUE(is_zero(c->row, v->d));
    TEST_ASSERT_TRUE(!c->others || is_zero(c->others, sizeof *c->others * v->G));
    TEST_ASSERT_TRUE(!c->noise || is_zero(c->noise, sizeof *c->noise * v->G * v->k));
    TEST_ASSERT_TRUE(!c->scratch || is_zero(c->scratch, sizeof *c->scratch * 2 * v->K));
}

static void test_the_whole_order_works_many_times(void)
{
    uint8_t first[512];
    for (int i = 0; i < 5; i++) {
        TEST_ASSERT_EQUAL(PML_OK, arm());
        TEST_ASSERT_EQUAL(PML_OK, load());
        TEST_ASSERT_EQUAL(PML_OK, release());
        TEST_ASSERT_EQUAL(pml_client_release_size(f.client), written);
        assert_wiped();
        TEST_ASSERT_TRUE(i == 0 || memcmp(first, out, written) != 0); /* fresh noise */
        memcpy(first, out, written);
    }
    TEST_ASSERT_EQUAL(5, f.script.calls);
    TEST_ASSERT_EQUAL(5, f.store.calls);
}

/* Every call in every state, by the table of privatemail.h. */
static void test_every_call_in_every_state(void)
{
    enum { ARM, LOAD, RELEASE, DISARM, CALLS };
    static const struct {
        enum client_state from;
        int call, status;
        enum client_state to;
    } table[] = {
        {CLIENT_IDLE, ARM, PML_OK, CLIENT_ARMED},
        {CLIENT_IDLE, LOAD, PML_ERROR_STATE, CLIENT_IDLE},
        {CLIENT_IDLE, RELEASE, PML_ERROR_STATE, CLIENT_IDLE},
        {CLIENT_IDLE, DISARM, PML_ERROR_STATE, CLIENT_IDLE},
        {CLIENT_ARMED, ARM, PML_ERROR_STATE, CLIENT_ARMED},
        {CLIENT_ARMED, LOAD, PML_OK, CLIENT_LOADED},
        {CLIENT_ARMED, RELEASE, PML_ERROR_STATE, CLIENT_FAILED},
        {CLIENT_ARMED, DISARM, PML_OK, CLIENT_IDLE},
        {CLIENT_LOADED, ARM, PML_ERROR_STATE, CLIENT_LOADED},
        {CLIENT_LOADED, LOAD, PML_OK, CLIENT_LOADED},
        {CLIENT_LOADED, RELEASE, PML_OK, CLIENT_SPENT},
        {CLIENT_LOADED, DISARM, PML_OK, CLIENT_IDLE},
        {CLIENT_SPENT, ARM, PML_OK, CLIENT_ARMED},
        {CLIENT_SPENT, LOAD, PML_ERROR_STATE, CLIENT_SPENT},
        {CLIENT_SPENT, RELEASE, PML_ERROR_STATE, CLIENT_SPENT},
        {CLIENT_SPENT, DISARM, PML_ERROR_STATE, CLIENT_SPENT},
        {CLIENT_FAILED, ARM, PML_OK, CLIENT_ARMED},
        {CLIENT_FAILED, LOAD, PML_ERROR_STATE, CLIENT_FAILED},
        {CLIENT_FAILED, RELEASE, PML_ERROR_STATE, CLIENT_FAILED},
        {CLIENT_FAILED, DISARM, PML_OK, CLIENT_IDLE},
    };
    int (*const calls[CALLS])(void) = {arm, load, release, disarm};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        pml_client_wipe(f.client);
        if (table[i].from != CLIENT_IDLE)
            TEST_ASSERT_EQUAL(PML_OK, arm());
        if (table[i].from == CLIENT_FAILED)
            TEST_ASSERT_EQUAL(PML_ERROR_STATE, release());
        if (table[i].from == CLIENT_LOADED || table[i].from == CLIENT_SPENT)
            TEST_ASSERT_EQUAL(PML_OK, load());
        if (table[i].from == CLIENT_SPENT)
            TEST_ASSERT_EQUAL(PML_OK, release());
        TEST_ASSERT_EQUAL(table[i].from, f.client->state);
        TEST_ASSERT_EQUAL(table[i].status, calls[table[i].call]());
        TEST_ASSERT_EQUAL(table[i].to, f.client->state);
        if (table[i].call == RELEASE && table[i].status != PML_OK) {
            TEST_ASSERT_TRUE(is_zero(out, sizeof out));
            TEST_ASSERT_EQUAL(0, written);
        }
        if (f.client->state != CLIENT_ARMED && f.client->state != CLIENT_LOADED)
            assert_wiped();
    }
}

static void test_arm_pays_before_and_disarm_refunds(void)
{
    TEST_ASSERT_EQUAL(PML_OK, arm());
    double price = spent(&f.budget);
    TEST_ASSERT_TRUE(price > 0);
    assert_stored();
    TEST_ASSERT_EQUAL(PML_OK, disarm());
    TEST_ASSERT_EQUAL_DOUBLE(0.0, spent(&f.budget));
    assert_stored();
    TEST_ASSERT_EQUAL(PML_OK, arm());
    TEST_ASSERT_EQUAL(PML_OK, load());
    TEST_ASSERT_EQUAL(PML_OK, release());
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, disarm());
    TEST_ASSERT_EQUAL_DOUBLE(price, spent(&f.budget));
}

static void test_a_failed_release_wipes_the_noise_and_can_be_refunded(void)
{
    const size_t size = pml_client_release_size(f.client);
    TEST_ASSERT_EQUAL(PML_OK, arm());
    TEST_ASSERT_EQUAL(PML_OK, load());
    memset(out, 0xEE, sizeof out);
    TEST_ASSERT_EQUAL(PML_ERROR_BUFFER, pml_client_release(f.client, out, size - 1, &written));
    TEST_ASSERT_TRUE(is_zero(out, size - 1));
    TEST_ASSERT_EQUAL(0, written);
    assert_wiped();
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, release()); /* the same noise cannot be had again */
    TEST_ASSERT_EQUAL(PML_OK, disarm());
    TEST_ASSERT_EQUAL_DOUBLE(0.0, spent(&f.budget));
}

static void test_release_without_a_place_to_write_fails_the_same_way(void)
{
    TEST_ASSERT_EQUAL(PML_OK, arm());
    TEST_ASSERT_EQUAL(PML_OK, load());
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_release(f.client, NULL, 0, &written));
    assert_wiped();
    TEST_ASSERT_EQUAL(PML_OK, disarm());
    TEST_ASSERT_EQUAL(PML_OK, arm());
    TEST_ASSERT_EQUAL(PML_OK, load());
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_release(f.client, out, sizeof out, NULL));
    TEST_ASSERT_TRUE(is_zero(out, sizeof out));
    assert_wiped();
}

static void test_a_second_load_replaces_the_first(void)
{
    static const uint8_t seed[] = "the same seed for both of them!!";
    uint8_t alone[512];
    size_t length;
    f.script.seed = seed;
    TEST_ASSERT_EQUAL(PML_OK, arm());
    TEST_ASSERT_EQUAL(PML_OK, load());
    TEST_ASSERT_EQUAL(PML_OK, release());
    memcpy(alone, out, length = written);
    TEST_ASSERT_EQUAL(PML_OK, arm());
    make_features(&f.pack, 99, features);
    TEST_ASSERT_EQUAL(PML_OK, load());
    make_features(&f.pack, 1, features);
    TEST_ASSERT_EQUAL(PML_OK, load());
    TEST_ASSERT_EQUAL(PML_OK, release());
    TEST_ASSERT_EQUAL(length, written);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(alone, out, length);
}

static void test_entropy_that_fails_is_short_or_stuck_arms_nothing(void)
{
    for (unsigned at = 1; at <= 4; at++)
        for (size_t short_by = 0; short_by <= 32; short_by++) {
            pml_client_wipe(f.client);
            pml_budget before = f.budget;
            unsigned stored = f.store.calls;
            f.script.calls = 0;
            f.script.fail_at = at;
            f.script.short_by = short_by;
            for (unsigned call = 1; call <= at; call++) {
                TEST_ASSERT_EQUAL(call == at ? PML_ERROR_ENTROPY : PML_OK, arm());
                if (call < at)
                    TEST_ASSERT_EQUAL(PML_OK, disarm());
            }
            TEST_ASSERT_EQUAL_MEMORY(&before, &f.budget, sizeof before);
            TEST_ASSERT_EQUAL(stored + 2 * (at - 1), f.store.calls);
            TEST_ASSERT_EQUAL(PML_ERROR_STATE, load());
            assert_wiped();
        }
    f.script.fail_at = 0;
    f.script.stuck = true;
    TEST_ASSERT_EQUAL(PML_ERROR_ENTROPY, arm());
    f.script.stuck = false;
    TEST_ASSERT_EQUAL(PML_OK, arm());
}

static void test_a_store_that_fails_charges_nothing(void)
{
    pml_budget before = f.budget;
    f.store.fail_at = 1;
    TEST_ASSERT_EQUAL(PML_ERROR_PERSIST, arm());
    TEST_ASSERT_EQUAL_MEMORY(&before, &f.budget, sizeof before);
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, load());
    assert_wiped();
    TEST_ASSERT_EQUAL(PML_OK, arm());
    pml_budget charged = f.budget;
    f.store.fail_at = f.store.calls + 1;
    TEST_ASSERT_EQUAL(PML_ERROR_PERSIST, disarm()); /* wiped, still charged; a second refund could be one too many */
    TEST_ASSERT_EQUAL_MEMORY(&charged, &f.budget, sizeof charged);
    assert_wiped();
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, load());
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, disarm());
}

static void test_a_spent_damaged_or_foreign_budget_arms_nothing(void)
{
    pml_budget other, poor;
    uint8_t somebody[16] = "somebody else";
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_create(&poor, test_owner, 0.5, 0, 0));
    TEST_ASSERT_EQUAL(PML_ERROR_SPENT, pml_client_arm(f.client, &poor));
    poor.bytes[30] ^= 1;
    TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_client_arm(f.client, &poor));
    TEST_ASSERT_EQUAL(0, f.script.calls);
    TEST_ASSERT_EQUAL(0, f.store.calls);
    TEST_ASSERT_EQUAL(PML_OK, arm());
    other = f.budget;
    memcpy(other.bytes + 8, somebody, sizeof somebody);
    TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_client_disarm(f.client, &other)); /* its seal is broken */
    pml_budget rich;
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_create(&rich, somebody, 1000, 0, 0));
    TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_client_disarm(f.client, &rich));
    TEST_ASSERT_EQUAL(PML_OK, disarm());
}

static void test_only_the_budget_that_paid_is_refunded(void)
{
    pml_budget richer;
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_create(&richer, test_owner, 2000, PML_WITH_GAUSSIAN ? 100 : 0,
                                                PML_WITH_GAUSSIAN ? 1e-5 : 0));
    TEST_ASSERT_EQUAL(PML_OK, arm());
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_charge(&richer, mechanism, f.client->price, &richer));
    TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_client_disarm(f.client, &richer));
    TEST_ASSERT_EQUAL(PML_OK, disarm());
}

/* A callback that tries to use its own client gets nowhere. */
static unsigned refusals;

static void use_the_busy_client(void)
{
    refusals += arm() == PML_ERROR_STATE;
    refusals += load() == PML_ERROR_STATE;
    refusals += release() == PML_ERROR_STATE;
    refusals += disarm() == PML_ERROR_STATE;
    pml_client_wipe(f.client);
}

static size_t nested_entropy(void *context, uint8_t *bytes, size_t size)
{
    use_the_busy_client();
    return script_entropy(context, bytes, size);
}

static int nested_persist(void *context, const uint8_t *bytes, size_t size)
{
    use_the_busy_client();
    return store_persist(context, bytes, size);
}

static void test_a_callback_cannot_use_its_own_client(void)
{
    f.client->config.entropy = nested_entropy;
    f.client->config.persist = nested_persist;
    refusals = 0;
    TEST_ASSERT_EQUAL(PML_OK, arm());
    TEST_ASSERT_EQUAL(8, refusals);
    double price = spent(&f.budget);
    TEST_ASSERT_EQUAL(PML_OK, load());
    TEST_ASSERT_EQUAL(PML_OK, release());
    TEST_ASSERT_EQUAL_DOUBLE(price, spent(&f.budget));
    TEST_ASSERT_EQUAL(PML_OK, arm());
    TEST_ASSERT_EQUAL(PML_OK, disarm());
    TEST_ASSERT_EQUAL(20, refusals);
    TEST_ASSERT_EQUAL_DOUBLE(price, spent(&f.budget));
}

static void test_a_load_that_fails_keeps_nothing_of_the_one_before(void)
{
    TEST_ASSERT_EQUAL(PML_OK, arm());
    TEST_ASSERT_EQUAL(PML_OK, load());
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_load(f.client, NULL, pack_view(&f.pack)->d, 0));
    TEST_ASSERT_EQUAL(CLIENT_ARMED, f.client->state);
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, release());
}

static void test_wipe_forgets_without_refund(void)
{
    TEST_ASSERT_EQUAL(PML_OK, arm());
    TEST_ASSERT_EQUAL(PML_OK, load());
    double price = spent(&f.budget);
    pml_client_wipe(f.client);
    assert_wiped();
    TEST_ASSERT_EQUAL_DOUBLE(price, spent(&f.budget));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, disarm());
    pml_client_wipe(NULL);
}

static void test_the_budget_allows_just_so_many(void)
{
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_create(&f.budget, test_owner, 3.0, PML_WITH_GAUSSIAN ? 3.0 : 0,
                                                PML_WITH_GAUSSIAN ? 1e-5 : 0));
    unsigned count = 0;
    while (arm() == PML_OK) {
        TEST_ASSERT_EQUAL(PML_OK, load());
        TEST_ASSERT_EQUAL(PML_OK, release());
        TEST_ASSERT_TRUE(++count < 100);
    }
    TEST_ASSERT_EQUAL(PML_ERROR_SPENT, arm());
    if (f.config.mechanism == PML_RESPONSE)
        TEST_ASSERT_EQUAL(3, count);
}

static void run_all(void)
{
    RUN_TEST(test_the_whole_order_works_many_times);
    RUN_TEST(test_every_call_in_every_state);
    RUN_TEST(test_arm_pays_before_and_disarm_refunds);
    RUN_TEST(test_a_failed_release_wipes_the_noise_and_can_be_refunded);
    RUN_TEST(test_release_without_a_place_to_write_fails_the_same_way);
    RUN_TEST(test_a_second_load_replaces_the_first);
    RUN_TEST(test_entropy_that_fails_is_short_or_stuck_arms_nothing);
    RUN_TEST(test_a_store_that_fails_charges_nothing);
    RUN_TEST(test_a_spent_damaged_or_foreign_budget_arms_nothing);
    RUN_TEST(test_only_the_budget_that_paid_is_refunded);
    RUN_TEST(test_a_callback_cannot_use_its_own_client);
    RUN_TEST(test_a_load_that_fails_keeps_nothing_of_the_one_before);
    RUN_TEST(test_wipe_forgets_without_refund);
    RUN_TEST(test_the_budget_allows_just_so_many);
}

int main(void)
{
    UNITY_BEGIN();
    for (mechanism = PML_RESPONSE; mechanism <= PML_GAUSSIAN; mechanism++)
        if (mechanism == PML_GAUSSIAN ? PML_WITH_GAUSSIAN : PML_WITH_RESPONSE)
            run_all();
    return UNITY_END();
}
