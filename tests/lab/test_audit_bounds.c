/* SPDX-License-Identifier: Apache-2.0
 * The bounds of `privatemail audit`: against known values, by their definition, and against the library's own. */
#include "lab/audit/audit_bounds.h"

#include <math.h>
#include <privatemail_public.h>
#include <unity.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static void assert_close(double wanted, double got, double relative)
{
    TEST_ASSERT_DOUBLE_WITHIN(relative * fabs(wanted), wanted, got);
}

static void test_incomplete_beta(void)
{
    static const double cases[][4] = {
        {2, 3, 0.4, 0.5248}, /* a polynomial */
        {0.5, 0.5, 0.3, 0.36901011956554536},
        {50, 60, 0.45, 0.4642352914306031},
        {1000, 2000, 0.33, 0.3506326761341843},
        {1e6, 1e6, 0.5005, 0.9213504224190758},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double *c = cases[i];
        assert_close(c[3], audit_incomplete_beta(c[0], c[1], c[2]), 1e-8);
        assert_close(1.0 - c[3], audit_incomplete_beta(c[1], c[0], 1.0 - c[2]), 1e-8);
    }
    TEST_ASSERT_TRUE(audit_incomplete_beta(3, 4, 0.0) == 0.0 && audit_incomplete_beta(3, 4, 1.0) == 1.0);
}

/* Successes, trials, risk, and both bounds; quantiles of beta distributions. */
static const struct {
    uint64_t successes, trials;
    double risk, lower, upper;
} known[] = {
    {0, 10, 0.05, 0.0, 0.2588655508930522},
    {3, 10, 0.025, 0.06673951117773447, 0.6524528500599973},
    {10, 10, 0.05, 0.7411344491069477, 1.0},
    {1, 100, 0.0005, 5.001237910590962e-06, 0.09561011107434424},
    {500, 1000, 0.0005, 0.4476294198586042, 0.5523705801413963},
    {427000, 900000, 0.0005, 0.47271211596798124, 0.47617720197893454},
    {3, 900000, 0.0005, 1.66337782011452e-07, 1.5482153955931566e-05},
    {12345678, 100000000, 0.00025, 0.12334230343359284, 0.123571319908319},
};

static void test_clopper_pearson(void)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        double lower = audit_binomial_lower(known[i].successes, known[i].trials, known[i].risk);
        double upper = audit_binomial_upper(known[i].successes, known[i].trials, known[i].risk);
        assert_close(known[i].lower, lower, 2e-4); /* the risk is taken a little smaller */
        assert_close(known[i].upper, upper, 2e-4);
        TEST_ASSERT_TRUE(lower <= known[i].lower && upper >= known[i].upper);
    }
}

/* By enumeration: whatever the probability, the bound is wrong no more often than the risk says. */
static void test_coverage(void)
{
    enum { TRIALS = 40 };
    const double risk = 0.01;
    for (double p = 0.005; p < 1.0; p += 0.005) {
        double below = 0.0, above = 0.0;
        for (unsigned x = 0; x <= TRIALS; x++) {
            double chance = exp(lgamma((double)TRIALS + 1.0) - lgamma(x + 1.0) - lgamma(TRIALS - x + 1.0) + x * log(p) +
                                (TRIALS - x) * log1p(-p));
            below += audit_binomial_upper(x, TRIALS, risk) < p ? chance : 0.0;
            above += audit_binomial_lower(x, TRIALS, risk) > p ? chance : 0.0;
        }
        TEST_ASSERT_TRUE(below <= risk && above <= risk);
    }
}

static void test_promises(void)
{
    /* Many trials behind, the promise is the bound itself, nearly; with few it is careful. */
    assert_close(audit_binomial_lower(400, 1000, 0.001), audit_promised_lower(4000000, 10000000, 1000, 0.001), 0.01);
    assert_close(audit_binomial_upper(400, 1000, 0.001), audit_promised_upper(4000000, 10000000, 1000, 0.001), 0.01);
    TEST_ASSERT_TRUE(audit_promised_lower(4, 10, 1000, 0.001) < 0.25);
    TEST_ASSERT_TRUE(audit_promised_upper(0, 10, 1000, 0.001) > 0.1);
}

static void test_normal(void)
{
    assert_close(0.9750021048517795, audit_normal_cdf(1.96), 1e-14);
    assert_close(-3.2905267314918945, audit_normal_quantile(0.0005), 1e-12);
    assert_close(3.2905267314918945, audit_normal_quantile(0.9995), 1e-11);
    TEST_ASSERT_TRUE(isinf(audit_normal_quantile(0.0)) && isinf(audit_normal_quantile(1.0)));
    for (double x = -8.0; x <= 5.0; x += 0.37)
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, x, audit_normal_quantile(audit_normal_cdf(x)));
}

static void test_epsilon_of_an_event(void)
{
    assert_close(log(3.0), audit_ratio_epsilon(0.6, 0.2, 0.0), 1e-14);
    assert_close(log(2.5), audit_ratio_epsilon(0.6, 0.2, 0.1), 1e-14);
    TEST_ASSERT_TRUE(audit_ratio_epsilon(0.2, 0.2, 0.0) == 0.0 && audit_ratio_epsilon(0.1, 0.2, 0.0) < 0.0);
    TEST_ASSERT_TRUE(audit_ratio_epsilon(1e-6, 1e-9, 1e-5) < 0.0 && audit_ratio_epsilon(0.5, 0.0, 0.0) < 0.0);
    assert_close(1.5, audit_gaussian_shift(audit_normal_cdf(0.5), audit_normal_cdf(-1.0)), 1e-12);
    TEST_ASSERT_TRUE(audit_gaussian_shift(0.2, 0.3) < 0.0 && audit_gaussian_shift(0.3, 0.0) < 0.0 &&
                     audit_gaussian_shift(1.0, 0.5) < 0.0);
}

static void test_epsilon_of_a_shift(void)
{
    TEST_ASSERT_TRUE(audit_gaussian_epsilon(0.0, 1e-5) == 0.0 && audit_gaussian_epsilon(1e-6, 1e-5) == 0.0);
#if PML_WITH_GAUSSIAN
    /* The library allows too small a shift, this finds too small an epsilon, and both are near the truth. */
    static const double deltas[] = {1e-12, 1e-9, 1e-5, 1e-2};
    for (size_t i = 0; i < sizeof deltas / sizeof deltas[0]; i++)
        for (double epsilon = 0.05; epsilon < 32.0; epsilon *= 1.3) {
            double allowed = pml_gaussian_mu(epsilon, deltas[i]), found = audit_gaussian_epsilon(allowed, deltas[i]);
            TEST_ASSERT_TRUE(found <= epsilon);
            assert_close(epsilon, found, 1e-6);
            TEST_ASSERT_TRUE(audit_gaussian_epsilon(allowed * 1.001, deltas[i]) > epsilon);
        }
#endif
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_incomplete_beta);
    RUN_TEST(test_clopper_pearson);
    RUN_TEST(test_coverage);
    RUN_TEST(test_promises);
    RUN_TEST(test_normal);
    RUN_TEST(test_epsilon_of_an_event);
    RUN_TEST(test_epsilon_of_a_shift);
    return UNITY_END();
}
