/* SPDX-License-Identifier: Apache-2.0
 * The budget: bytes that nothing damages unnoticed, caps that nothing exceeds, prices never too low. */
#include "base/sha256.h"
#include "privacy/budget.h"
#include "support/support.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static pml_budget budget_of(double response, double gaussian, double delta)
{
    pml_budget budget;
    TEST_ASSERT_EQUAL(PML_OK, make_budget(&budget, test_owner, response, gaussian, delta));
    return budget;
}

static void test_restored_it_is_the_same(void)
{
    pml_budget budget = budget_of(3.5, 0, 0), back;
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_restore(&back, test_owner, budget.bytes, sizeof budget.bytes));
    TEST_ASSERT_EQUAL_MEMORY(&budget, &back, sizeof back);
}

static void test_truncated_longer_changed_or_foreign_is_refused(void)
{
    pml_budget budget = budget_of(3.5, 0, 0), back;
    uint8_t bytes[PML_BUDGET_SIZE + 1] = {0};
    memcpy(bytes, budget.bytes, PML_BUDGET_SIZE);
    for (size_t size = 0; size <= PML_BUDGET_SIZE + 1; size++)
        if (size != PML_BUDGET_SIZE)
            TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_restore(&back, test_owner, bytes, size));
    for (size_t i = 0; i < PML_BUDGET_SIZE; i++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (uint8_t)(1 << bit);
            TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_restore(&back, test_owner, bytes, PML_BUDGET_SIZE));
            TEST_ASSERT_TRUE(is_zero(&back, sizeof back));
            bytes[i] ^= (uint8_t)(1 << bit);
        }
    uint8_t other[16] = "somebody else  ";
    TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_restore(&back, other, bytes, PML_BUDGET_SIZE));
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_restore(&back, test_owner, bytes, PML_BUDGET_SIZE));
}

static void test_caps_out_of_range(void)
{
    static const struct {
        double response, gaussian, delta;
        int status;
    } table[] = {
        {-1, 0, 0, PML_ERROR_EPSILON},     {4096, 0, 0, PML_ERROR_EPSILON},    {1, -1, 1e-5, PML_ERROR_EPSILON},
        {1, 257, 1e-5, PML_ERROR_EPSILON}, {1, 1e-9, 1e-5, PML_ERROR_EPSILON}, {1, 0, 1e-5, PML_ERROR_DELTA},
        {1, 1, 0, PML_ERROR_DELTA},        {1, 1, 1, PML_ERROR_DELTA},         {1, 1, 1e-16, PML_ERROR_DELTA},
        {1, 1, -1e-5, PML_ERROR_DELTA},
    };
    pml_budget budget;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        TEST_ASSERT_EQUAL(table[i].status,
                          make_budget(&budget, test_owner, table[i].response, table[i].gaussian, table[i].delta));
        TEST_ASSERT_TRUE(is_zero(&budget, sizeof budget));
    }
    const double nan = 0.0 / (table[0].delta * 0.0);
    TEST_ASSERT_EQUAL(PML_ERROR_EPSILON, make_budget(&budget, test_owner, nan, 0, 0));
    TEST_ASSERT_EQUAL(PML_ERROR_EPSILON, make_budget(&budget, test_owner, 1, nan, 1e-5));
    TEST_ASSERT_EQUAL(PML_ERROR_DELTA, make_budget(&budget, test_owner, 1, 1, nan));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, make_budget(NULL, test_owner, 1, 0, 0));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, make_budget(&budget, NULL, 1, 0, 0));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_budget_create(&budget, test_owner, NULL));
    TEST_ASSERT_TRUE(is_zero(&budget, sizeof budget));
}

static struct pml_price response_price(double epsilon)
{
    return pml_budget_price(PML_RESPONSE, epsilon, 0);
}

/* Prices never below the real cost; a price at the cap fits exactly once. */
static void test_prices_round_up(void)
{
    for (int i = 1; i < 2000; i++) {
        double epsilon = i * 0.00773;
        TEST_ASSERT_TRUE((double)response_price(epsilon).of[PML_LEDGER_RESPONSE] >= epsilon * 0x1p20);
        TEST_ASSERT_TRUE((double)pml_budget_price(PML_GAUSSIAN, 0, epsilon).of[PML_LEDGER_GAUSSIAN] >=
                         epsilon * epsilon * 0x1p40);
    }
    TEST_ASSERT_EQUAL_UINT64(1, response_price(PML_EPSILON_MIN).of[PML_LEDGER_RESPONSE]);
    TEST_ASSERT_EQUAL_UINT64(1 << 20, response_price(1.0).of[PML_LEDGER_RESPONSE]);
}

static void test_caps_round_down(void)
{
    for (int i = 1; i < 2000; i++) {
        pml_budget_left left;
        double epsilon = i * 0.00773;
        pml_budget budget = budget_of(epsilon, 0, 0);
        TEST_ASSERT_EQUAL(PML_OK, pml_budget_remaining(&budget, &left));
        TEST_ASSERT_TRUE(left.epsilon_cap <= epsilon && left.epsilon_cap > epsilon - 0x1p-20);
    }
}

#if PML_WITH_GAUSSIAN
/* PRIVACY.md, theorem 6, caps: how many releases the proof must reckon with. */
static void test_no_cap_reaches_two_to_the_ten(void)
{
    static const double deltas[] = {0x1p-50, 1e-5, 0.5, 0.9999, 1.0 - 0x1p-53};
    pml_budget_left left;
    for (size_t i = 0; i < sizeof deltas / sizeof deltas[0]; i++) {
        pml_budget budget = budget_of(0, 256, deltas[i]);
        TEST_ASSERT_EQUAL(PML_OK, pml_budget_remaining(&budget, &left));
        TEST_ASSERT_TRUE(left.mu2_cap < 0x1p10);
    }
    TEST_ASSERT_TRUE(left.mu2_cap > 0x1p9); /* so 2^9 would not do */
}
#endif

static void seal_budget(uint8_t *bytes, size_t size)
{
    uint8_t digest[32];
    pml_sha256(bytes, size - 8, digest);
    memcpy(bytes + size - 8, digest, 8);
}

/* With the right checksum too: what is left would be a number below zero, which is none. */
static void test_more_spent_than_the_cap_is_refused(void)
{
    static const size_t spent[] = {72, 80, 88, 96, 100}; /* SPEC 4: the five sums */
    const struct pml_price nothing = {{0}, false};
    for (size_t i = 0; i < sizeof spent / sizeof *spent; i++) {
        pml_budget budget = budget_of(1.0, 0, 0), next;
        store_le32(budget.bytes + spent[i], (1 << 20) + 1);
        seal_budget(budget.bytes, PML_BUDGET_SIZE);
        TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_check(&budget));
        TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_charge(&budget, &nothing, &next));
        TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_restore(&next, test_owner, budget.bytes, PML_BUDGET_SIZE));
    }
}

static void test_the_cap_is_never_exceeded(void)
{
    pml_budget budget = budget_of(1.0, 0, 0), next;
    struct pml_price price = response_price(0.3);
    for (int i = 0; i < 3; i++) {
        TEST_ASSERT_EQUAL(PML_OK, pml_budget_charge(&budget, &price, &next));
        budget = next;
    }
    const uint64_t once = price.of[PML_LEDGER_RESPONSE];
    TEST_ASSERT_EQUAL(PML_ERROR_SPENT, pml_budget_charge(&budget, &price, &next));
    price.of[PML_LEDGER_RESPONSE] = UINT64_MAX;
    TEST_ASSERT_EQUAL(PML_ERROR_SPENT, pml_budget_charge(&budget, &price, &next));
    for (unsigned i = PML_LEDGER_GAUSSIAN; i < PML_LEDGER_COUNT; i++) { /* caps of 0 */
        struct pml_price other = {{0}, false};
        other.of[i] = 1;
        TEST_ASSERT_EQUAL(PML_ERROR_SPENT, pml_budget_charge(&budget, &other, &next));
    }
    price.of[PML_LEDGER_RESPONSE] = 4 * once;
    TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_refund(&budget, &price, &next));
    price.of[PML_LEDGER_RESPONSE] = 3 * once;
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_refund(&budget, &price, &next));
    pml_budget_left left;
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_remaining(&next, &left));
    TEST_ASSERT_EQUAL_DOUBLE(0.0, left.epsilon_spent);
    TEST_ASSERT_EQUAL_DOUBLE(1.0, left.epsilon_cap);
}

#if PML_WITH_GAUSSIAN
static void test_the_gaussian_cap_allows_no_more_than_its_epsilon(void)
{
    for (double epsilon = 0.25; epsilon <= 16; epsilon *= 2) {
        pml_budget budget = budget_of(0, epsilon, 1e-6);
        pml_budget_left left;
        TEST_ASSERT_EQUAL(PML_OK, pml_budget_remaining(&budget, &left));
        TEST_ASSERT_TRUE(left.delta >= 1e-6);
        double mu = 1.0 / pml_gaussian_ratio(epsilon, 1e-6);
        TEST_ASSERT_TRUE(left.mu2_cap <= mu * mu * (1 + 1e-12));
        TEST_ASSERT_DOUBLE_WITHIN(1e-6 * mu * mu, mu * mu, left.mu2_cap);
    }
}
#endif

/* ---- version 1 ---- */

/* A budget as version 1 wrote it (SPEC 4). */
static void write_old(uint8_t bytes[64], uint32_t cap, uint32_t spent, uint64_t mu2_cap, uint64_t mu2_spent)
{
    memset(bytes, 0, 64);
    memcpy(bytes, "PMLB\1\0\0\0", 8);
    memcpy(bytes + 8, test_owner, 16);
    store_le64(bytes + 24, mu2_cap);
    store_le64(bytes + 32, mu2_cap > 0 ? 12345 : 0);
    store_le32(bytes + 40, cap);
    store_le32(bytes + 44, spent);
    store_le64(bytes + 48, mu2_spent);
    seal_budget(bytes, 64);
}

static void test_version_1_is_read_with_what_it_had_and_nothing_more(void)
{
    uint8_t old[64];
    pml_budget budget;
    pml_budget_left left;
    write_old(old, 5 << 20, 2 << 20, (uint64_t)7 << 40, (uint64_t)3 << 40);
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_restore(&budget, test_owner, old, sizeof old));
    TEST_ASSERT_EQUAL_MEMORY("PMLB\2\0\0\0", budget.bytes, 8);
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_remaining(&budget, &left));
    const pml_budget_left expected = {
        .epsilon_cap = 5, .epsilon_spent = 2, .mu2_cap = 7, .mu2_spent = 3, .delta = 12345 * 0x1p-64};
    TEST_ASSERT_EQUAL_MEMORY(&expected, &left, sizeof left);
    const struct pml_price most = response_price(3), more = response_price(3 + 0x1p-20);
    pml_budget next;
    TEST_ASSERT_EQUAL(PML_ERROR_SPENT, pml_budget_charge(&budget, &more, &next));
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_charge(&budget, &most, &next));
}

static void test_version_1_that_is_full_or_damaged(void)
{
    uint8_t old[64];
    pml_budget budget, next;
    const struct pml_price price = response_price(PML_EPSILON_MIN);
    write_old(old, 5 << 20, 5 << 20, 0, 0);
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_restore(&budget, test_owner, old, sizeof old));
    TEST_ASSERT_EQUAL(PML_ERROR_SPENT, pml_budget_charge(&budget, &price, &next));
    for (size_t i = 0; i < sizeof old; i++)
        for (int bit = 0; bit < 8; bit++) {
            old[i] ^= (uint8_t)(1 << bit);
            TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_restore(&budget, test_owner, old, sizeof old));
            TEST_ASSERT_TRUE(is_zero(&budget, sizeof budget));
            old[i] ^= (uint8_t)(1 << bit);
        }
    write_old(old, 5 << 20, (5 << 20) + 1, 0, 0); /* more spent than allowed, and sealed */
    TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_restore(&budget, test_owner, old, sizeof old));
    write_old(old, 0, 0, 9, 10);
    TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_restore(&budget, test_owner, old, sizeof old));
    write_old(old, 1, 0, 0, 0);
    old[4] = 2; /* neither form */
    seal_budget(old, sizeof old);
    TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_restore(&budget, test_owner, old, sizeof old));
}

/* ---- crowd ---- */

#if PML_WITH_CROWD
static pml_budget crowd_budget(double floor, double epsilon, double delta)
{
    pml_budget budget;
    const pml_budget_caps caps = {.epsilon_floor = floor, .epsilon_crowd = epsilon, .delta_crowd = delta};
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_create(&budget, test_owner, &caps));
    return budget;
}

/* SPEC 4, crowd cap: half of δ is for Σδ₀, and Σμ² is what a Gaussian budget has for the other half. */
static void test_the_crowd_cap_splits_its_delta(void)
{
    pml_budget_left left;
    pml_budget budget = crowd_budget(8.5, 0.5, 1e-6);
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_remaining(&budget, &left));
    TEST_ASSERT_EQUAL_DOUBLE(8.5, left.floor_cap);
    TEST_ASSERT_TRUE(left.crowd_delta >= 1e-6 && left.crowd_delta < 1e-6 + 0x1p-60);
    TEST_ASSERT_TRUE(left.crowd_delta0_cap <= 0.5e-6 && left.crowd_delta0_cap > 0.5e-6 - 0x1p-60);
    const double mu = pml_gaussian_mu(0.5, 0.5e-6);
    TEST_ASSERT_TRUE(left.crowd_mu2_cap <= mu * mu);
    TEST_ASSERT_DOUBLE_WITHIN(0x1p-39, mu * mu, left.crowd_mu2_cap);
    TEST_ASSERT_EQUAL_DOUBLE(0, left.epsilon_cap + left.mu2_cap + left.delta + left.floor_spent + left.crowd_mu2_spent +
                                    left.crowd_delta0_spent);
}

static void test_crowd_caps_out_of_range(void)
{
    const double nan = 0.0 / (test_owner[15] * 0.0);
    const struct {
        double floor, epsilon, delta;
        int status;
    } table[] = {
        {-1, 0, 0, PML_ERROR_EPSILON},
        {4096, 0, 0, PML_ERROR_EPSILON},
        {nan, 0, 0, PML_ERROR_EPSILON},
        {1, 17, 1e-6, PML_ERROR_EPSILON},
        {1, -1, 1e-6, PML_ERROR_EPSILON},
        {1, nan, 1e-6, PML_ERROR_EPSILON},
        {1, 0x1p-21, 1e-6, PML_ERROR_EPSILON},
        {1, 0, 1e-6, PML_ERROR_DELTA},
        {1, 1, 0, PML_ERROR_DELTA},
        {1, 1, 2, PML_ERROR_DELTA},
        {1, 1, 0x1p-50, PML_ERROR_DELTA},
        {1, 1, nan, PML_ERROR_DELTA},
        {1, 1, 1, PML_ERROR_DELTA},
        {1, 1, -1e-6, PML_ERROR_DELTA},
        {1, 0, -1e-6, PML_ERROR_DELTA},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        pml_budget budget;
        const pml_budget_caps caps = {
            .epsilon_floor = table[i].floor, .epsilon_crowd = table[i].epsilon, .delta_crowd = table[i].delta};
        TEST_ASSERT_EQUAL(table[i].status, pml_budget_create(&budget, test_owner, &caps));
        TEST_ASSERT_TRUE(is_zero(&budget, sizeof budget));
    }
}

static const pml_crowd promising = {.clients = 1000, .clusters = 1, .copies = 8, .own = 3, .mu = 0.03, .delta0 = 1e-12};

/* SPEC 4's table of prices. */
static void test_prices_of_bundles(void)
{
    const struct pml_price query = pml_crowd_price(&promising, 8.0000001, PML_BUNDLE_QUERY),
                           kept = pml_crowd_price(&promising, 8.0000001, PML_BUNDLE_KEPT),
                           idle = pml_crowd_price(&promising, 8.0000001, PML_BUNDLE_IDLE);
    TEST_ASSERT_EQUAL_UINT64((8 << 20) + 1, query.of[PML_LEDGER_FLOOR]);
    TEST_ASSERT_EQUAL_UINT64(0, query.of[PML_LEDGER_RESPONSE] + query.of[PML_LEDGER_GAUSSIAN]);
    TEST_ASSERT_TRUE((double)query.of[PML_LEDGER_CROWD] >= 3 * 0.03 * 0.03 * 0x1p40);
    TEST_ASSERT_TRUE((double)query.of[PML_LEDGER_CROWD] < 3 * 0.03 * 0.03 * 0x1p40 + 4);
    TEST_ASSERT_TRUE((double)query.of[PML_LEDGER_DELTA0] >= 3e-12 * 0x1p64);
    TEST_ASSERT_TRUE((double)query.of[PML_LEDGER_DELTA0] < 3e-12 * 0x1p64 + 4);
    TEST_ASSERT_EQUAL_UINT64(0, kept.of[PML_LEDGER_FLOOR]);
    TEST_ASSERT_EQUAL_UINT64(query.of[PML_LEDGER_CROWD], kept.of[PML_LEDGER_CROWD]);
    TEST_ASSERT_EQUAL_UINT64(query.of[PML_LEDGER_DELTA0], kept.of[PML_LEDGER_DELTA0]);
    TEST_ASSERT_TRUE(is_zero(idle.of, sizeof idle.of) && !idle.unpromised);
}

/* All ledgers or none: what the floor could pay stays when the crowd cannot. */
static void test_one_full_ledger_stops_all(void)
{
    const struct pml_price price = pml_crowd_price(&promising, 8, PML_BUNDLE_QUERY);
    pml_budget rich = crowd_budget(4095, 16, 0.5), next, back;
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_charge(&rich, &price, &next));
    const pml_budget poors[] = {crowd_budget(7.9, 16, 0.5), crowd_budget(4095, 0.001, 1e-6),
                                crowd_budget(4095, 16, 1e-12)};
    for (size_t i = 0; i < 3; i++) {
        back = rich;
        TEST_ASSERT_EQUAL(PML_ERROR_SPENT, pml_budget_charge(&poors[i], &price, &back));
        TEST_ASSERT_EQUAL_MEMORY(&rich, &back, sizeof back);
    }
    TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_refund(&rich, &price, &back));
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_refund(&next, &price, &back));
    TEST_ASSERT_EQUAL_MEMORY(&rich, &back, sizeof back);
}

/* SPEC 4, only the floor: a policy without a promise breaks the promise of a budget that has one. */
static void test_a_kept_promise_refuses_what_promises_nothing(void)
{
    pml_crowd policy = promising;
    policy.mu = policy.delta0 = 0;
    pml_budget promise = crowd_budget(100, 1, 1e-6), floor = crowd_budget(100, 0, 0), next;
    const struct pml_price query = pml_crowd_price(&policy, 8, PML_BUNDLE_QUERY),
                           kept = pml_crowd_price(&policy, 8, PML_BUNDLE_KEPT),
                           idle = pml_crowd_price(&policy, 8, PML_BUNDLE_IDLE);
    TEST_ASSERT_EQUAL(PML_ERROR_SPENT, pml_budget_charge(&promise, &query, &next));
    TEST_ASSERT_EQUAL(PML_ERROR_SPENT, pml_budget_charge(&promise, &kept, &next));
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_charge(&promise, &idle, &next));
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_charge(&floor, &query, &next));
    TEST_ASSERT_EQUAL_UINT32(8 << 20, load_le32(next.bytes + 100));
}
#endif

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_restored_it_is_the_same);
    RUN_TEST(test_truncated_longer_changed_or_foreign_is_refused);
    RUN_TEST(test_caps_out_of_range);
    RUN_TEST(test_prices_round_up);
    RUN_TEST(test_caps_round_down);
    RUN_TEST(test_more_spent_than_the_cap_is_refused);
    RUN_TEST(test_the_cap_is_never_exceeded);
    RUN_TEST(test_version_1_is_read_with_what_it_had_and_nothing_more);
    RUN_TEST(test_version_1_that_is_full_or_damaged);
#if PML_WITH_CROWD
    RUN_TEST(test_the_crowd_cap_splits_its_delta);
    RUN_TEST(test_crowd_caps_out_of_range);
    RUN_TEST(test_prices_of_bundles);
    RUN_TEST(test_one_full_ledger_stops_all);
    RUN_TEST(test_a_kept_promise_refuses_what_promises_nothing);
#endif
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_no_cap_reaches_two_to_the_ten);
    RUN_TEST(test_the_gaussian_cap_allows_no_more_than_its_epsilon);
#endif
    return UNITY_END();
}
