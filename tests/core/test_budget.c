/* SPDX-License-Identifier: Apache-2.0
 * The budget: 64 bytes that nothing damages unnoticed, caps that nothing exceeds, prices never too low. */
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

/* Prices never below the real cost; a price at the cap fits exactly once. */
static void test_prices_round_up(void)
{
    for (int i = 1; i < 2000; i++) {
        double epsilon = i * 0.00773;
        TEST_ASSERT_TRUE((double)pml_budget_price(PML_RESPONSE, epsilon, 0) >= epsilon * 0x1p20);
        TEST_ASSERT_TRUE((double)pml_budget_price(PML_GAUSSIAN, 0, epsilon) >= epsilon * epsilon * 0x1p40);
    }
    TEST_ASSERT_EQUAL_UINT64(1, pml_budget_price(PML_RESPONSE, PML_EPSILON_MIN, 0));
    TEST_ASSERT_EQUAL_UINT64(1 << 20, pml_budget_price(PML_RESPONSE, 1.0, 0));
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

/* With the right checksum too: what is left would be a number below zero, which is none. */
static void test_more_spent_than_the_cap_is_refused(void)
{
    for (size_t at = 44; at <= 48; at += 4) { /* ε spent, Σμ² spent */
        pml_budget budget = budget_of(1.0, 0, 0), next;
        uint8_t digest[32];
        store_le32(budget.bytes + at, (1 << 20) + 1);
        pml_sha256(budget.bytes, 56, digest);
        memcpy(budget.bytes + 56, digest, 8);
        TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_check(&budget));
        TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_charge(&budget, PML_RESPONSE, 1, &next));
        TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_restore(&next, test_owner, budget.bytes, PML_BUDGET_SIZE));
    }
}

static void test_the_cap_is_never_exceeded(void)
{
    pml_budget budget = budget_of(1.0, 0, 0), next;
    uint64_t price = pml_budget_price(PML_RESPONSE, 0.3, 0);
    for (int i = 0; i < 3; i++) {
        TEST_ASSERT_EQUAL(PML_OK, pml_budget_charge(&budget, PML_RESPONSE, price, &next));
        budget = next;
    }
    TEST_ASSERT_EQUAL(PML_ERROR_SPENT, pml_budget_charge(&budget, PML_RESPONSE, price, &next));
    TEST_ASSERT_EQUAL(PML_ERROR_SPENT, pml_budget_charge(&budget, PML_RESPONSE, UINT64_MAX, &next));
    TEST_ASSERT_EQUAL(PML_ERROR_SPENT, pml_budget_charge(&budget, PML_GAUSSIAN, 1, &next));
    TEST_ASSERT_EQUAL(PML_ERROR_BUDGET, pml_budget_refund(&budget, PML_RESPONSE, 4 * price, &next));
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_refund(&budget, PML_RESPONSE, 3 * price, &next));
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
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_no_cap_reaches_two_to_the_ten);
    RUN_TEST(test_the_gaussian_cap_allows_no_more_than_its_epsilon);
#endif
    return UNITY_END();
}
