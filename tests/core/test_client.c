/* SPDX-License-Identifier: Apache-2.0
 * The order of calls: what each state allows, what is paid when, and that one noise serves one release. */
#include "client.h"
#include "support/each_mechanism.h"

#include <math.h>
#include <stdlib.h>

void setUp(void)
{
    begin_client(0);
}

void tearDown(void)
{
    teardown_fixture(&f);
}

static pml_status arm(void)
{
    return pml_client_arm(f.client, &f.budget);
}

static pml_status release(void)
{
    memset(out, 0xEE, sizeof out);
    return release_query(f.client, features, f.pack.features, some_label(&f.pack), out, sizeof out);
}

static pml_status disarm(void)
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

static void assert_no_query(void)
{
    const pml_client *c = f.client;
    TEST_ASSERT_TRUE(is_zero(c->row, f.pack.features));
    TEST_ASSERT_TRUE(!c->scratch || is_zero(c->scratch, sizeof *c->scratch * 2 * f.pack.neighbours));
}

/* No noise and no query in the client: everything secret is zero. */
static void assert_wiped(void)
{
    const pml_client *c = f.client;
    const pml_pack *pack = &f.pack;
    assert_no_query();
    TEST_ASSERT_TRUE(is_zero(&c->random, sizeof c->random));
    TEST_ASSERT_TRUE(is_zero(&c->shift, sizeof c->shift));
    TEST_ASSERT_TRUE(!c->others || is_zero(c->others, sizeof *c->others * pack->slots));
    TEST_ASSERT_TRUE(!c->noise || is_zero(c->noise, sizeof *c->noise * pack->slots * pack->dimensions));
}

static void test_the_whole_order_works_many_times(void)
{
    uint8_t first[512];
    for (int i = 0; i < 5; i++) {
        TEST_ASSERT_EQUAL(PML_OK, arm());
        TEST_ASSERT_EQUAL(PML_OK, release());
        assert_wiped();
        const size_t size = pml_client_release_size(f.client);
        TEST_ASSERT_TRUE(is_zero(out + size, sizeof out - size));
        TEST_ASSERT_TRUE(i == 0 || memcmp(first, out, size) != 0); /* fresh noise */
        memcpy(first, out, size);
    }
    TEST_ASSERT_EQUAL(5, f.script.calls);
    TEST_ASSERT_EQUAL(5, f.store.calls);
}

/* Every call in every state, by the table of privatemail.h. */
static void test_every_call_in_every_state(void)
{
    enum { ARM, RELEASE, DISARM, CALLS };
    static const struct {
        enum client_state from;
        int call;
        pml_status status;
        enum client_state to;
    } table[] = {
        {CLIENT_IDLE, ARM, PML_OK, CLIENT_ARMED},
        {CLIENT_IDLE, RELEASE, PML_ERROR_STATE, CLIENT_IDLE},
        {CLIENT_IDLE, DISARM, PML_ERROR_STATE, CLIENT_IDLE},
        {CLIENT_ARMED, ARM, PML_ERROR_STATE, CLIENT_ARMED},
        {CLIENT_ARMED, RELEASE, PML_OK, CLIENT_IDLE},
        {CLIENT_ARMED, DISARM, PML_OK, CLIENT_IDLE},
    };
    pml_status (*const calls[CALLS])(void) = {arm, release, disarm};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        pml_client_wipe(f.client);
        TEST_ASSERT_EQUAL(PML_OK, table[i].from == CLIENT_ARMED ? arm() : PML_OK);
        TEST_ASSERT_EQUAL(table[i].from, f.client->state);
        TEST_ASSERT_EQUAL(table[i].status, calls[table[i].call]());
        TEST_ASSERT_EQUAL(table[i].to, f.client->state);
        TEST_ASSERT_TRUE(table[i].call != RELEASE || table[i].status == PML_OK || is_zero(out, sizeof out));
        if (f.client->state == CLIENT_IDLE)
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
    TEST_ASSERT_EQUAL(PML_OK, release());
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, disarm());
    TEST_ASSERT_EQUAL_DOUBLE(price, spent(&f.budget));
}

/* All that can be wrong with a release, from null pointers to labels. */
enum { NO_OUTPUT, SHORT_BUFFER, NO_QUERY, NO_FEATURES, ONE_MORE, BAD_FEATURE, BAD_LABEL, MISTAKES };
static const pml_status statuses[MISTAKES] = {PML_ERROR_ARGUMENT, PML_ERROR_BUFFER,    PML_ERROR_ARGUMENT,
                                              PML_ERROR_ARGUMENT, PML_ERROR_DIMENSION, PML_ERROR_FEATURES,
                                              PML_ERROR_LABEL};

static pml_status release_wrongly(int mistake)
{
    float bad[64];
    memcpy(bad, features, sizeof bad);
    bad[f.pack.features - 1] = (float)INFINITY;
    const pml_query query = {
        .features = mistake == NO_FEATURES   ? NULL
                    : mistake == BAD_FEATURE ? bad
                                             : features,
        .count = f.pack.features + (mistake == ONE_MORE),
        .label = mistake == BAD_LABEL ? INT32_MAX : some_label(&f.pack),
    };
    const size_t capacity = mistake == SHORT_BUFFER ? pml_client_release_size(f.client) - 1 : sizeof out;
    memset(out, 0xEE, sizeof out);
    pml_status status =
        pml_client_release(f.client, mistake == NO_QUERY ? NULL : &query, mistake == NO_OUTPUT ? NULL : out, capacity);
    TEST_ASSERT_TRUE(mistake == NO_OUTPUT || is_zero(out, capacity));
    return status;
}

/* The noise after a mistake is the noise before it, so that the next release is what it would have been. */
static void test_a_mistake_leaves_the_client_armed_and_nothing_used_up(void)
{
    static const uint8_t seed[] = "the same seed for both of them!!";
    uint8_t right[512];
    f.script.seed = seed;
    TEST_ASSERT_EQUAL(PML_OK, arm());
    TEST_ASSERT_EQUAL(PML_OK, release());
    memcpy(right, out, sizeof right);
    const double price = spent(&f.budget);
    for (int mistake = 0; mistake < MISTAKES; mistake++) {
        TEST_ASSERT_EQUAL(PML_OK, arm());
        const double armed = spent(&f.budget);
        const unsigned drawn = f.script.calls, stored = f.store.calls;
        for (int again = 0; again < 2; again++) {
            TEST_ASSERT_EQUAL(statuses[mistake], release_wrongly(mistake));
            TEST_ASSERT_EQUAL(CLIENT_ARMED, f.client->state);
            assert_no_query();
        }
        TEST_ASSERT_EQUAL(PML_OK, release());
        TEST_ASSERT_EQUAL_HEX8_ARRAY(right, out, sizeof right);
        TEST_ASSERT_EQUAL_DOUBLE(armed, spent(&f.budget));
        TEST_ASSERT_EQUAL(drawn, f.script.calls);
        TEST_ASSERT_EQUAL(stored, f.store.calls);
        TEST_ASSERT_EQUAL(PML_ERROR_STATE, release()); /* and that was the only one */
        TEST_ASSERT_TRUE(is_zero(out, sizeof out));
    }
    TEST_ASSERT_EQUAL(PML_OK, arm());
    TEST_ASSERT_EQUAL(PML_ERROR_BUFFER, release_wrongly(SHORT_BUFFER));
    TEST_ASSERT_EQUAL(PML_OK, disarm());
    assert_wiped();
    TEST_ASSERT_EQUAL_DOUBLE((MISTAKES + 1) * price, spent(&f.budget));
}

static void test_entropy_that_fails_or_is_stuck_arms_nothing(void)
{
    static const int failures[] = {-1, 1, 31, 32, INT_MAX, INT_MIN};
    for (unsigned at = 1; at <= 4; at++)
        for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
            pml_client_wipe(f.client);
            pml_budget before = f.budget;
            unsigned stored = f.store.calls;
            f.script.calls = 0;
            f.script.fail_at = at;
            f.script.failure = failures[i];
            for (unsigned call = 1; call <= at; call++) {
                TEST_ASSERT_EQUAL(call == at ? PML_ERROR_ENTROPY : PML_OK, arm());
                if (call < at)
                    TEST_ASSERT_EQUAL(PML_OK, disarm());
            }
            TEST_ASSERT_EQUAL_MEMORY(&before, &f.budget, sizeof before);
            TEST_ASSERT_EQUAL(stored + 2 * (at - 1), f.store.calls);
            TEST_ASSERT_EQUAL(PML_ERROR_STATE, release());
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
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, release());
    assert_wiped();
    TEST_ASSERT_EQUAL(PML_OK, arm());
    pml_budget charged = f.budget;
    f.store.fail_at = f.store.calls + 1;
    TEST_ASSERT_EQUAL(PML_ERROR_PERSIST, disarm()); /* wiped, still charged; a second refund could be one too many */
    TEST_ASSERT_EQUAL_MEMORY(&charged, &f.budget, sizeof charged);
    assert_wiped();
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, release());
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, disarm());
}

static void test_a_spent_damaged_or_foreign_budget_arms_nothing(void)
{
    pml_budget other, poor;
    uint8_t somebody[16] = "somebody else";
    TEST_ASSERT_EQUAL(PML_OK, make_budget(&poor, test_owner, 0.5, 0, 0));
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
    TEST_ASSERT_EQUAL(PML_OK, make_budget(&rich, somebody, 1000, 0, 0));
    TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_client_disarm(f.client, &rich));
    TEST_ASSERT_EQUAL(PML_OK, disarm());
}

static void test_only_the_budget_that_paid_is_refunded(void)
{
    pml_budget rich, richer;
    TEST_ASSERT_EQUAL(
        PML_OK, make_budget(&rich, test_owner, 2000, PML_WITH_GAUSSIAN ? 100 : 0, PML_WITH_GAUSSIAN ? 1e-5 : 0));
    TEST_ASSERT_EQUAL(PML_OK, arm());
    const struct pml_price price = pml_client_price(f.client);
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_charge(&rich, &price, &richer));
    TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_client_disarm(f.client, &richer));
    TEST_ASSERT_EQUAL(PML_OK, disarm());
}

/* A callback that tries to use its own client gets nowhere. */
static unsigned refusals;

static void use_the_busy_client(void)
{
    refusals += arm() == PML_ERROR_STATE;
    refusals += release() == PML_ERROR_STATE;
    refusals += disarm() == PML_ERROR_STATE;
    pml_client_wipe(f.client);
}

static int nested_entropy(void *context, uint8_t *bytes, size_t size)
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
    TEST_ASSERT_EQUAL(6, refusals);
    double price = spent(&f.budget);
    TEST_ASSERT_EQUAL(PML_OK, release());
    TEST_ASSERT_EQUAL_DOUBLE(price, spent(&f.budget));
    TEST_ASSERT_EQUAL(PML_OK, arm());
    TEST_ASSERT_EQUAL(PML_OK, disarm());
    TEST_ASSERT_EQUAL(15, refusals);
    TEST_ASSERT_EQUAL_DOUBLE(price, spent(&f.budget));
}

static void test_wipe_forgets_without_refund(void)
{
    TEST_ASSERT_EQUAL(PML_OK, arm());
    double price = spent(&f.budget);
    pml_client_wipe(f.client);
    assert_wiped();
    TEST_ASSERT_EQUAL_DOUBLE(price, spent(&f.budget));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, disarm());
    pml_client_wipe(NULL);
}

static void test_the_budget_allows_just_so_many(void)
{
    TEST_ASSERT_EQUAL(
        PML_OK, make_budget(&f.budget, test_owner, 3.0, PML_WITH_GAUSSIAN ? 3.0 : 0, PML_WITH_GAUSSIAN ? 1e-5 : 0));
    unsigned count = 0;
    while (arm() == PML_OK) {
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
    RUN_TEST(test_a_mistake_leaves_the_client_armed_and_nothing_used_up);
    RUN_TEST(test_entropy_that_fails_or_is_stuck_arms_nothing);
    RUN_TEST(test_a_store_that_fails_charges_nothing);
    RUN_TEST(test_a_spent_damaged_or_foreign_budget_arms_nothing);
    RUN_TEST(test_only_the_budget_that_paid_is_refunded);
    RUN_TEST(test_a_callback_cannot_use_its_own_client);
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
