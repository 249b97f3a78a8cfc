/* SPDX-License-Identifier: Apache-2.0
 * The account of a crowd: values worked out elsewhere, what more noise and more messages do, plans, and bad input. That
 * nothing is below the truth: tests/crowd/check_accounting.py. */
#include "support/support.h"

#if PML_WITH_CROWD
#include "privacy/crowd_account.h"
#include "privacy/normal.h"
#endif

#include <math.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_CROWD

static double scratch[PML_CROWD_SCRATCH_MAX];

/* Λ clusters per cell of up to v messages, made by the relay for 128 cells; one message, no draw counted on. */
static pml_crowd noise(double clusters, uint32_t copies)
{
    return (pml_crowd){.copies = copies, .own = 1, .relay_clusters = 128.0 * clusters};
}

static const pml_crowd_use one = {.cells = 128, .queries = 1};

static double delta_at(pml_crowd crowd, pml_crowd_use use, double epsilon)
{
    double delta = -1.0;
    TEST_ASSERT_EQUAL(PML_OK, pml_crowd_delta(&crowd, &use, epsilon, scratch, pml_crowd_scratch(&crowd, &use), &delta));
    return delta;
}

static double epsilon_for(pml_crowd crowd, pml_crowd_use use, double delta)
{
    double epsilon = -1.0;
    TEST_ASSERT_EQUAL(PML_OK,
                      pml_crowd_epsilon(&crowd, &use, delta, scratch, pml_crowd_scratch(&crowd, &use), &epsilon));
    TEST_ASSERT_TRUE(delta_at(crowd, use, epsilon) <= delta);
    return epsilon;
}

static double mu_for(pml_crowd crowd, double delta0)
{
    double mu = -1.0;
    TEST_ASSERT_EQUAL(PML_OK, pml_crowd_mu(&crowd, 128, delta0, scratch, pml_crowd_scratch(&crowd, &one), &mu));
    return mu;
}

/* ---- values worked out elsewhere ---- */

static void test_delta_of_known_crowds(void)
{
    TEST_ASSERT_DOUBLE_WITHIN(5e-10, 9.9619e-7, delta_at(noise(26.6, 20), one, 0.1));
    TEST_ASSERT_DOUBLE_WITHIN(5e-10, 9.4749e-7, delta_at(noise(112, 8), one, 0.1));
    TEST_ASSERT_DOUBLE_WITHIN(5e-9, 1.001e-6, delta_at(noise(60, 20), one, 0.057));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 1.0, delta_at(noise(0, 20), one, 5.0)); /* no noise hides nothing */
}

/* Few large clusters: the law has a long tail, and the quotients of neighbouring counts rise and fall. */
static void test_delta_is_not_below_the_truth(void)
{
    static const double known[][4] = {{26.6, 20, 0.1, 9.962253604e-7},
                                      {3, 20, 0.3, 0.0875305758888126},
                                      {0.7, 5, 1.0, 0.628320597729946},
                                      {8, 12, 0.05, 0.0103518527571768}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        double delta = delta_at(noise(known[i][0], (uint32_t)known[i][1]), one, known[i][2]);
        TEST_ASSERT_TRUE(delta >= known[i][3] && delta <= known[i][3] * (1 + 1e-6));
    }
}

static void test_epsilon_of_fewer_clients_than_planned(void)
{
    TEST_ASSERT_DOUBLE_WITHIN(5e-4, 0.100, epsilon_for(noise(112, 8), one, 1e-6));
    TEST_ASSERT_DOUBLE_WITHIN(5e-4, 0.151, epsilon_for(noise(56, 8), one, 1e-6));
    TEST_ASSERT_DOUBLE_WITHIN(5e-4, 0.246, epsilon_for(noise(28, 8), one, 1e-6));
    TEST_ASSERT_DOUBLE_WITHIN(5e-4, 0.074, epsilon_for(noise(40, 20), one, 1e-6));
    TEST_ASSERT_DOUBLE_WITHIN(5e-4, 0.129, epsilon_for(noise(20, 20), one, 1e-6));
}

static void test_epsilon_of_several_messages(void)
{
    static const double own[] = {0.0996, 0.1421, 0.2040, 0.2942};
    for (unsigned i = 0; i < 4; i++) {
        pml_crowd crowd = noise(112, 8);
        crowd.own = 1u << i;
        TEST_ASSERT_DOUBLE_WITHIN(5e-4, own[i], epsilon_for(crowd, one, 1e-6));
    }
    TEST_ASSERT_DOUBLE_WITHIN(1e-3, 0.232, epsilon_for(noise(40, 20), (pml_crowd_use){128, 10, 0}, 1e-6));
    TEST_ASSERT_DOUBLE_WITHIN(3e-3, 0.785, epsilon_for(noise(40, 20), (pml_crowd_use){128, 100, 0}, 1e-6));
}

/* Messages of one epoch and of several cost the same. */
static void test_own_messages_and_queries_multiply(void)
{
    pml_crowd crowd = noise(80, 5);
    crowd.own = 4;
    double four = epsilon_for(crowd, (pml_crowd_use){128, 3, 0}, 1e-7);
    crowd.own = 1;
    TEST_ASSERT_EQUAL_DOUBLE(four, epsilon_for(crowd, (pml_crowd_use){128, 12, 0}, 1e-7));
}

static void test_mu_of_a_known_crowd(void)
{
    TEST_ASSERT_DOUBLE_WITHIN(2e-4, 0.0230, mu_for(noise(40, 20), 1e-9));
    TEST_ASSERT_DOUBLE_WITHIN(2e-4, 0.0279, mu_for(noise(40, 20), 1e-12));
}

/* Theorem C between the points of its own grid too. */
static void test_mu_and_delta0_dominate_the_message(void)
{
    static const double sizes[][3] = {
        {40, 20, 1e-9}, {24, 1, 1e-9}, {60, 3, 0x1p-60}, {8, 2, 0x1p-10}, {14.5, 8, 1e-6}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        pml_crowd crowd = noise(sizes[i][0], (uint32_t)sizes[i][1]);
        double delta0 = sizes[i][2], mu = mu_for(crowd, delta0);
        for (double epsilon = 0.0; epsilon < 4.0; epsilon += 0.003)
            TEST_ASSERT_TRUE(delta_at(crowd, one, epsilon) <=
                             delta0 + (1.0 - delta0) * pml_gaussian_delta(mu, epsilon) * (1 + 1e-9));
    }
}

static void test_mu_is_of_one_message_and_counts_on_no_draw(void)
{
    pml_crowd crowd = noise(40, 20);
    double mu = mu_for(crowd, 1e-9);
    crowd.own = 8;
    TEST_ASSERT_EQUAL_DOUBLE(mu, mu_for(crowd, 1e-9));
}

/* ---- what is added and what is not ---- */

/* P(count 0) is π(0) = e^-Λ: no ε helps beyond, whatever is cut off where Λ is large. */
static void test_what_is_cut_off_is_paid(void)
{
    for (double clusters = 0.5; clusters < 700.0; clusters *= 1.5) {
        double none = exp(-clusters), delta = delta_at(noise(clusters, 1), one, 16.0);
        double together = delta_at(noise(clusters, 1), (pml_crowd_use){128, 9, 0}, 100.0);
        TEST_ASSERT_TRUE(delta >= none && together >= -expm1(9 * log1p(-none)));
        TEST_ASSERT_TRUE(clusters < 60.0 || (delta <= 2e-22 && together <= 1e-18));
    }
}

static void test_the_draw_counts_once(void)
{
    pml_crowd crowd = noise(20, 4);
    double told = (exp(3.0) - 1) / (exp(3.0) + 127), kept = delta_at(crowd, one, 0.2);
    TEST_ASSERT_DOUBLE_WITHIN(1e-8 * kept, told * kept, delta_at(crowd, (pml_crowd_use){128, 1, 3.0}, 0.2));
    double twice = delta_at(crowd, (pml_crowd_use){128, 2, 0}, 0.2);
    TEST_ASSERT_EQUAL_DOUBLE(twice, delta_at(crowd, (pml_crowd_use){128, 2, 3.0}, 0.2)); /* not when sent again */
    crowd.own = 2;
    TEST_ASSERT_DOUBLE_WITHIN(1e-8 * twice, told * twice, delta_at(crowd, (pml_crowd_use){128, 1, 3.0}, 0.2));
}

static void test_the_floor_holds_without_a_crowd(void)
{
    pml_crowd crowd = noise(0, 1);
    pml_crowd_use use = {128, 3, 0.5};
    TEST_ASSERT_EQUAL_DOUBLE(0.0, delta_at(crowd, use, 1.5));
    TEST_ASSERT_TRUE(delta_at(crowd, use, 1.4999) > 0.9);
    TEST_ASSERT_EQUAL_DOUBLE(1.5, epsilon_for(crowd, use, 1e-9));
    crowd = noise(112, 8);
    TEST_ASSERT_DOUBLE_WITHIN(1e-3, 0.1, epsilon_for(crowd, (pml_crowd_use){128, 1, 8}, 1e-6));
}

/* 2^-173 per client, on both sides of the comparison. */
static void test_the_sampler_is_paid(void)
{
    pml_crowd crowd = {.clients = PML_CROWD_CLIENTS_MAX, .clusters = 0.001, .copies = 4, .own = 1};
    double due = (1 + exp(70.0)) * 0x1p32 * 0x1p-173;
    TEST_ASSERT_TRUE(due > 1e-13);
    double delta = delta_at(crowd, one, 70.0);
    TEST_ASSERT_TRUE(delta >= due * 0.999999 && delta <= due * 1.000001 + 2e-22);
    delta = delta_at(crowd, (pml_crowd_use){128, 5, 0}, 70.0);
    TEST_ASSERT_TRUE(delta >= 5 * due * 0.999999 && delta <= 5 * due * 1.000001 + 2e-21);
}

/* κ is rounded down to a multiple of 2^-29, as the sampler does. */
static void test_clusters_are_those_that_are_drawn(void)
{
    pml_crowd crowd = {.clients = 1u << 30, .clusters = 1.999 * 0x1p-29, .copies = 1, .own = 1};
    pml_crowd_use use = {.cells = 2, .queries = 1};
    double drawn = delta_at(crowd, use, 0.5);
    crowd.clusters = 0x1p-29;
    TEST_ASSERT_EQUAL_DOUBLE(drawn, delta_at(crowd, use, 0.5));
    pml_crowd relay = {.copies = 1, .own = 1, .relay_clusters = 2.0};
    TEST_ASSERT_DOUBLE_WITHIN(1e-8, drawn, delta_at(relay, use, 0.5)); /* 2 clusters in 2 cells either way */
}

static void test_noise_of_clients_and_relay_adds(void)
{
    pml_crowd both = {.clients = 1000, .clusters = 1.5, .copies = 6, .own = 1, .relay_clusters = 1060};
    TEST_ASSERT_DOUBLE_WITHIN(1e-8, 1.0, delta_at(both, one, 0.3) / delta_at(noise(20, 6), one, 0.3));
}

static void test_more_noise_and_larger_epsilon_give_less_delta(void)
{
    for (uint32_t copies = 1; copies <= 64; copies *= 4)
        for (uint32_t queries = 1; queries <= 3; queries += 2) {
            pml_crowd_use use = {128, queries, 0};
            double last = 1.0;
            for (double clusters = 0.01; clusters < 300.0; clusters *= 1.7) {
                double delta = delta_at(noise(clusters, copies), use, 0.4);
                TEST_ASSERT_TRUE(delta <= last * 1.001 && delta > 0.0);
                last = delta;
            }
            last = 1.0;
            for (double epsilon = 0.0; epsilon < 20.0; epsilon += 0.37) {
                double delta = delta_at(noise(30, copies), use, epsilon);
                TEST_ASSERT_TRUE(delta <= last);
                last = delta;
            }
        }
}

/* Beyond what fits into the scratch more fakes do not count, and never hurt. */
static void test_huge_noise_is_thinned(void)
{
    pml_crowd huge = {.copies = 64, .own = 1, .relay_clusters = PML_CROWD_RELAY_MAX};
    pml_crowd_use use = {.cells = 2, .queries = 1};
    TEST_ASSERT_TRUE(pml_crowd_scratch(&huge, &use) <= PML_CROWD_SCRATCH_MAX);
    double delta = delta_at(huge, use, 0.01);
    huge.relay_clusters = 2 * 98304 / 32.5;
    TEST_ASSERT_DOUBLE_WITHIN(1e-6 * delta, delta, delta_at(huge, use, 0.01));
}

/* ---- plans ---- */

static pml_crowd_goal goal(double epsilon, double delta, uint32_t copies_max)
{
    return (pml_crowd_goal){.use = {.cells = 125, .queries = 1, .floor = 8.0},
                            .clients = 100000,
                            .honest = 1.0,
                            .epsilon = epsilon,
                            .delta = delta,
                            .copies_max = copies_max,
                            .own = 1};
}

static pml_crowd_planned plan_of(pml_crowd_goal g)
{
    pml_crowd_planned plan;
    TEST_ASSERT_EQUAL(PML_OK, pml_crowd_plan(&g, scratch, PML_CROWD_SCRATCH_MAX, &plan));
    TEST_ASSERT_TRUE(plan.needed && plan.delta <= g.delta && plan.delta > 0.9 * g.delta);
    TEST_ASSERT_EQUAL_DOUBLE(plan.delta, delta_at(plan.crowd, g.use, g.epsilon));
    TEST_ASSERT_TRUE(plan.crowd.copies >= 1 && plan.crowd.copies <= g.copies_max && plan.crowd.own == g.own);
    double clusters = g.relay ? plan.crowd.relay_clusters : plan.crowd.clusters;
    TEST_ASSERT_DOUBLE_WITHIN(1e-9 * plan.fakes, plan.fakes, clusters * (plan.crowd.copies + 1) / 2);
    return plan;
}

static void test_plans_need_few_fakes(void)
{
    pml_crowd_planned plan = plan_of(goal(0.1, 1e-6, 20));
    TEST_ASSERT_TRUE(plan.fakes < 0.36 && plan.crowd.copies == 20);
    TEST_ASSERT_TRUE(plan_of(goal(0.1, 1e-6, 8)).fakes < 0.65);
    plan = plan_of(goal(1.0, 1e-6, 20)); /* here the largest clusters are not the best */
    TEST_ASSERT_TRUE(plan.fakes < 36 * 125 / 1e5 && plan.crowd.copies == 3);
    pml_crowd_goal relay = goal(0.1, 1e-6, 20);
    relay.relay = true;
    relay.clients = 0;
    plan = plan_of(relay);
    TEST_ASSERT_TRUE(plan.fakes < 35500 && plan.crowd.clients == 0 && plan.crowd.clusters == 0);
}

static void test_a_plan_counts_honest_clients_only(void)
{
    pml_crowd_goal g = goal(0.1, 1e-6, 8);
    double all = plan_of(g).fakes;
    g.honest = 0.5;
    pml_crowd_planned plan = plan_of(g);
    TEST_ASSERT_EQUAL_UINT64(50000, plan.crowd.clients);
    TEST_ASSERT_DOUBLE_WITHIN(2e-3, 2.0, plan.fakes / all);
}

/* A hundredth fewer clusters would not do. */
static void test_a_plan_is_tight(void)
{
    static const double goals[][3] = {
        {0.1, 1e-6, 8}, {0.5, 1e-8, 6}, {1.0, 1e-6, 20}, {0.05, 1e-6, 20}, {4.0, 1e-9, 3}};
    for (size_t i = 0; i < sizeof goals / sizeof goals[0]; i++) {
        pml_crowd_goal g = goal(goals[i][0], goals[i][1], (uint32_t)goals[i][2]);
        pml_crowd fewer = plan_of(g).crowd;
        fewer.clusters *= 0.99;
        TEST_ASSERT_TRUE(delta_at(fewer, g.use, g.epsilon) > g.delta);
    }
}

static void test_plans_of_several_messages(void)
{
    pml_crowd_goal g = goal(0.3, 1e-6, 8);
    double single = plan_of(g).fakes;
    g.own = 2;
    double two = plan_of(g).fakes;
    g.own = 1;
    g.use.queries = 2;
    g.use.floor = 16.0; /* makes 1−γ nearly 1 */
    TEST_ASSERT_TRUE(two > 1.2 * single && plan_of(g).fakes > two * 0.99);
}

static void test_no_fakes_where_the_floor_suffices(void)
{
    pml_crowd_goal g = goal(8.0, 1e-6, 20);
    pml_crowd_planned plan;
    TEST_ASSERT_EQUAL(PML_OK, pml_crowd_plan(&g, scratch, PML_CROWD_SCRATCH_MAX, &plan));
    TEST_ASSERT_TRUE(!plan.needed && plan.fakes == 0.0 && plan.delta == 0.0 && plan.crowd.clusters == 0.0);
    g.use.queries = 2; /* two draws have 16 */
    plan_of(g);
}

static void test_too_small_crowds_have_no_plan(void)
{
    pml_crowd_planned plan;
    pml_crowd_goal g = goal(0.1, 1e-6, 8);
    g.clients = 1000; /* 63,000 fakes are needed, 63 per client */
    TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_crowd_plan(&g, scratch, PML_CROWD_SCRATCH_MAX, &plan));
    TEST_ASSERT_TRUE(!plan.needed && plan.fakes == 0.0 && plan.delta == 1.0);
    g.clients = 4200; /* 14.9 per client */
    TEST_ASSERT_TRUE(plan_of(g).fakes < PML_CROWD_FAKES_MAX);
    g.copies_max = 1; /* 4 clusters per client are no more than 4 fakes */
    TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_crowd_plan(&g, scratch, PML_CROWD_SCRATCH_MAX, &plan));
}

/* A law of fewer counts has less rounding, so with smaller clusters the floor may be enough where it was not with the
 * largest: the search for fewer clusters must end all the same. */
static void test_a_plan_ends_where_the_floor_nearly_suffices(void)
{
    pml_crowd_goal g = goal(0.1, 1e-6, 20);
    const pml_crowd small = {.clients = g.clients, .copies = 1, .own = 1};
    const pml_crowd large = {.clients = g.clients, .copies = g.copies_max, .own = 1};
    const double enough = delta_at(small, g.use, g.epsilon), more = delta_at(large, g.use, g.epsilon);
    TEST_ASSERT_TRUE(enough < more);
    g.delta = 0.5 * (enough + more);
    TEST_ASSERT_TRUE(plan_of(g).fakes < 1e-9);
}

/* Enough at 1 + 2^-n for n up to 30, and nowhere else. */
static bool is_enough_alone(void *context, double value)
{
    ++*(uint64_t *)context;
    for (double above = 1.0; above >= 0x1p-30; above *= 0.5)
        if (value == 1.0 + above)
            return true;
    return false;
}

static void test_a_search_ends_where_larger_values_are_not_enough(void)
{
    uint64_t calls = 0;
    TEST_ASSERT_EQUAL_DOUBLE(1.0 + 0x1p-30, pml_ascend(0.5, 256.0, 40, is_enough_alone, &calls));
    TEST_ASSERT_TRUE(calls < 10000);
}

/* ---- mixing alone ---- */

static double mixing(uint64_t clients, uint64_t fakes, double floor)
{
    pml_shuffle shuffle = {clients, fakes, 125, floor};
    double epsilon = -1.0, delta = -1.0;
    TEST_ASSERT_EQUAL(PML_OK, pml_shuffle_epsilon(&shuffle, 1e-6, &epsilon));
    TEST_ASSERT_EQUAL(PML_OK, pml_shuffle_delta(&shuffle, epsilon, &delta));
    TEST_ASSERT_TRUE(delta <= 1e-6 && delta > 0.9e-6);
    return epsilon;
}

static void test_mixing_alone(void)
{
    TEST_ASSERT_DOUBLE_WITHIN(0.02, 4.48, mixing(10000, 0, 8));
    TEST_ASSERT_DOUBLE_WITHIN(0.01, 1.14, mixing(100000, 0, 8));
    TEST_ASSERT_DOUBLE_WITHIN(0.01, 1.13, mixing(10000, 0, 6));
    TEST_ASSERT_DOUBLE_WITHIN(0.01, 0.31, mixing(100000, 0, 6));
    double delta = -1.0;
    TEST_ASSERT_EQUAL(PML_OK, pml_shuffle_delta(&(pml_shuffle){3, 4, 3, 1.0}, 0.4, &delta));
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.0291653214145, delta);
    TEST_ASSERT_EQUAL(PML_OK, pml_shuffle_delta(&(pml_shuffle){2, 6, 2, 2.0}, 0.5, &delta));
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.085200016502, delta);
    TEST_ASSERT_DOUBLE_WITHIN(0.005, 0.1, mixing(2, 125 * 2644, 16)); /* independent fakes instead of people */
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 8.0, mixing(1, 0, 8));
}

/* ---- bad input ---- */

static void refuse(pml_status expected, pml_crowd crowd, pml_crowd_use use)
{
    double value = 0.0;
    TEST_ASSERT_EQUAL_UINT(0, pml_crowd_scratch(&crowd, &use));
    TEST_ASSERT_EQUAL(expected, pml_crowd_delta(&crowd, &use, 0.1, scratch, PML_CROWD_SCRATCH_MAX, &value));
    TEST_ASSERT_EQUAL_DOUBLE(1.0, value);
    TEST_ASSERT_EQUAL(expected, pml_crowd_epsilon(&crowd, &use, 1e-6, scratch, PML_CROWD_SCRATCH_MAX, &value));
    TEST_ASSERT_TRUE(isinf(value));
}

static bool is_two(void *context, double value)
{
    (void)context;
    return value == 2.0;
}

/* Where a finer step misses the only value that is enough, it is not lost. */
static void test_a_value_that_was_found_is_kept(void)
{
    TEST_ASSERT_EQUAL_DOUBLE(2.0, pml_ascend(1.0, 256.0, 8, is_two, NULL));
}

static void test_policies_out_of_range_are_refused(void)
{
    static const double bad[] = {NAN, -1.0, -0x1p-1074, INFINITY, 1e300};
    pml_crowd good = {.clients = 1000, .clusters = 0.5, .copies = 8, .own = 1, .relay_clusters = 10}, crowd;
    double value = 0.0;
    delta_at(good, one, 0.1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        crowd = good, crowd.clusters = bad[i], refuse(PML_ERROR_CROWD, crowd, one);
        crowd = good, crowd.relay_clusters = bad[i], refuse(PML_ERROR_CROWD, crowd, one);
        refuse(PML_ERROR_CROWD, good, (pml_crowd_use){128, 1, bad[i]});
        TEST_ASSERT_EQUAL(PML_ERROR_EPSILON,
                          pml_crowd_delta(&good, &one, bad[i], scratch, PML_CROWD_SCRATCH_MAX, &value));
        TEST_ASSERT_EQUAL(PML_ERROR_DELTA,
                          pml_crowd_epsilon(&good, &one, bad[i], scratch, PML_CROWD_SCRATCH_MAX, &value));
        TEST_ASSERT_EQUAL(PML_ERROR_DELTA, pml_crowd_mu(&good, 128, bad[i], scratch, PML_CROWD_SCRATCH_MAX, &value));
    }
    crowd = good, crowd.clusters = 4.0001, refuse(PML_ERROR_CROWD, crowd, one);
    crowd = good, crowd.relay_clusters = 0x1p24 + 1, refuse(PML_ERROR_CROWD, crowd, one);
    crowd = good, crowd.clients = PML_CROWD_CLIENTS_MAX + 1, refuse(PML_ERROR_CROWD, crowd, one);
    crowd = good, crowd.clients = 0, refuse(PML_ERROR_CROWD, crowd, one); /* nobody makes clusters */
    crowd = good, crowd.copies = 0, refuse(PML_ERROR_CROWD, crowd, one);
    crowd = good, crowd.copies = 65, refuse(PML_ERROR_CROWD, crowd, one);
    crowd = good, crowd.own = 0, refuse(PML_ERROR_CROWD, crowd, one);
    crowd = good, crowd.own = 9, refuse(PML_ERROR_CROWD, crowd, one);
    TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_crowd_mu(&crowd, 128, 1e-9, scratch, PML_CROWD_SCRATCH_MAX, &value));
    refuse(PML_ERROR_CROWD, good, (pml_crowd_use){1, 1, 0});
    refuse(PML_ERROR_CROWD, good, (pml_crowd_use){0, 1, 0});
    refuse(PML_ERROR_CROWD, good, (pml_crowd_use){PML_CROWD_CELLS_MAX + 1, 1, 0});
    refuse(PML_ERROR_CROWD, good, (pml_crowd_use){128, 0, 0});
    refuse(PML_ERROR_CROWD, good, (pml_crowd_use){128, PML_CROWD_QUERIES_MAX + 1, 0});
    refuse(PML_ERROR_CROWD, good, (pml_crowd_use){128, 1, 16.01});
    refuse(PML_ERROR_CROWD, good, (pml_crowd_use){128, 1, 0x1p-17});
}

static void test_bounds_out_of_range_are_refused(void)
{
    pml_crowd crowd = noise(3, 2);
    double value = 0.0;
    size_t count = pml_crowd_scratch(&crowd, &one);
    TEST_ASSERT_EQUAL(PML_ERROR_EPSILON, pml_crowd_delta(&crowd, &one, 256.1, scratch, count, &value));
    TEST_ASSERT_EQUAL(PML_ERROR_DELTA, pml_crowd_epsilon(&crowd, &one, 1.0, scratch, count, &value));
    TEST_ASSERT_EQUAL(PML_ERROR_DELTA, pml_crowd_epsilon(&crowd, &one, 0x1p-61, scratch, count, &value));
    TEST_ASSERT_EQUAL(PML_ERROR_DELTA, pml_crowd_mu(&crowd, 128, 0x1p-9, scratch, count, &value));
    /* e^-3 is above all of them: the crowd is too small for any ε and any μ. */
    TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_crowd_epsilon(&crowd, &one, 1e-6, scratch, count, &value));
    TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_crowd_mu(&crowd, 128, 1e-6, scratch, count, &value));
    TEST_ASSERT_TRUE(isinf(value));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_delta(NULL, &one, 0.1, scratch, count, &value));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_delta(&crowd, NULL, 0.1, scratch, count, &value));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_delta(&crowd, &one, 0.1, NULL, count, &value));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_delta(&crowd, &one, 0.1, scratch, count, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_epsilon(&crowd, &one, 0.1, scratch, count, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_mu(&crowd, 128, 1e-9, scratch, count, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_mu(NULL, 128, 1e-9, scratch, count, &value));
    TEST_ASSERT_EQUAL_UINT(0, pml_crowd_scratch(NULL, &one));
    TEST_ASSERT_EQUAL_UINT(0, pml_crowd_scratch(&crowd, NULL));
}

/* Exactly what was asked for is used: the doubles around it stay as they were, and one less is refused. */
static void test_scratch_one_less_is_refused(void)
{
    for (double clusters = 0.0; clusters < 5000.0; clusters = clusters * 7 + 0.3) {
        pml_crowd crowd = noise(clusters, 7);
        pml_crowd_use use = {128, 2, 0};
        size_t count = pml_crowd_scratch(&crowd, &use);
        double value = 0.0;
        TEST_ASSERT_EQUAL(PML_ERROR_MEMORY, pml_crowd_delta(&crowd, &use, 0.1, scratch, count - 1, &value));
        TEST_ASSERT_EQUAL(PML_ERROR_MEMORY, pml_crowd_epsilon(&crowd, &use, 0.1, scratch, count - 1, &value));
        TEST_ASSERT_EQUAL(PML_ERROR_MEMORY, pml_crowd_mu(&crowd, 128, 1e-4, scratch, count - 1, &value));
        scratch[0] = scratch[count + 1] = -7.0;
        TEST_ASSERT_EQUAL(PML_OK, pml_crowd_delta(&crowd, &use, 0.1, scratch + 1, count, &value));
        TEST_ASSERT_TRUE(scratch[0] == -7.0 && scratch[count + 1] == -7.0);
    }
    pml_crowd_goal g = goal(0.5, 1e-6, 4);
    pml_crowd_planned plan;
    TEST_ASSERT_EQUAL(PML_ERROR_MEMORY, pml_crowd_plan(&g, scratch, PML_CROWD_SCRATCH_MAX - 1, &plan));
}

static void refuse_goal(pml_status expected, pml_crowd_goal g)
{
    pml_crowd_planned plan;
    TEST_ASSERT_EQUAL(expected, pml_crowd_plan(&g, scratch, PML_CROWD_SCRATCH_MAX, &plan));
    TEST_ASSERT_TRUE(plan.delta == 1.0 && !plan.needed && plan.crowd.copies == 0);
}

static void test_goals_out_of_range_are_refused(void)
{
    static const double bad[] = {NAN, 0.0, -1.0, INFINITY, -INFINITY, 1e300};
    pml_crowd_goal good = goal(0.5, 1e-6, 4), g;
    pml_crowd_planned plan;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        g = good, g.epsilon = bad[i], refuse_goal(PML_ERROR_EPSILON, g);
        g = good, g.delta = bad[i], refuse_goal(PML_ERROR_DELTA, g);
        g = good, g.honest = bad[i], refuse_goal(PML_ERROR_CROWD, g);
        g = good, g.use.floor = bad[i];
        if (bad[i] != 0.0)
            refuse_goal(PML_ERROR_CROWD, g);
    }
    g = good, g.honest = 1.01, refuse_goal(PML_ERROR_CROWD, g);
    g = good, g.honest = 1e-6, refuse_goal(PML_ERROR_CROWD, g); /* nobody is left */
    g = good, g.clients = 0, refuse_goal(PML_ERROR_CROWD, g);
    g = good, g.clients = PML_CROWD_CLIENTS_MAX + 1, refuse_goal(PML_ERROR_CROWD, g);
    g = good, g.copies_max = 0, refuse_goal(PML_ERROR_CROWD, g);
    g = good, g.copies_max = 65, refuse_goal(PML_ERROR_CROWD, g);
    g = good, g.own = 0, refuse_goal(PML_ERROR_CROWD, g);
    g = good, g.own = 9, refuse_goal(PML_ERROR_CROWD, g);
    g = good, g.use.cells = 1, refuse_goal(PML_ERROR_CROWD, g);
    g = good, g.use.queries = 0, refuse_goal(PML_ERROR_CROWD, g);
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_plan(NULL, scratch, PML_CROWD_SCRATCH_MAX, &plan));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_plan(&good, NULL, PML_CROWD_SCRATCH_MAX, &plan));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_crowd_plan(&good, scratch, PML_CROWD_SCRATCH_MAX, NULL));
}

static void test_mixing_out_of_range_is_refused(void)
{
    static const pml_shuffle bad[] = {{0, 0, 125, 8},    {PML_CROWD_CLIENTS_MAX + 1, 0, 125, 8},
                                      {9, 0, 1, 8},      {9, 0, PML_CROWD_CELLS_MAX + 1, 8},
                                      {9, 0, 125, 0},    {9, 0, 125, NAN},
                                      {9, 0, 125, 16.1}, {9, PML_CROWD_CLIENTS_MAX + 1, 125, 8}};
    double value = 0.0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_shuffle_delta(&bad[i], 0.1, &value));
        TEST_ASSERT_EQUAL_DOUBLE(1.0, value);
        TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_shuffle_epsilon(&bad[i], 0.1, &value));
        TEST_ASSERT_TRUE(isinf(value));
    }
    pml_shuffle good = {9, 0, 125, 8};
    TEST_ASSERT_EQUAL(PML_ERROR_EPSILON, pml_shuffle_delta(&good, NAN, &value));
    TEST_ASSERT_EQUAL(PML_ERROR_EPSILON, pml_shuffle_delta(&good, -1.0, &value));
    TEST_ASSERT_EQUAL(PML_ERROR_DELTA, pml_shuffle_epsilon(&good, NAN, &value));
    TEST_ASSERT_EQUAL(PML_ERROR_DELTA, pml_shuffle_epsilon(&good, 0.0, &value));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_shuffle_delta(NULL, 1.0, &value));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_shuffle_epsilon(&good, 0.1, NULL));
}
#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_CROWD
    RUN_TEST(test_delta_of_known_crowds);
    RUN_TEST(test_delta_is_not_below_the_truth);
    RUN_TEST(test_epsilon_of_fewer_clients_than_planned);
    RUN_TEST(test_epsilon_of_several_messages);
    RUN_TEST(test_own_messages_and_queries_multiply);
    RUN_TEST(test_mu_of_a_known_crowd);
    RUN_TEST(test_mu_and_delta0_dominate_the_message);
    RUN_TEST(test_mu_is_of_one_message_and_counts_on_no_draw);
    RUN_TEST(test_what_is_cut_off_is_paid);
    RUN_TEST(test_the_draw_counts_once);
    RUN_TEST(test_the_floor_holds_without_a_crowd);
    RUN_TEST(test_the_sampler_is_paid);
    RUN_TEST(test_clusters_are_those_that_are_drawn);
    RUN_TEST(test_noise_of_clients_and_relay_adds);
    RUN_TEST(test_more_noise_and_larger_epsilon_give_less_delta);
    RUN_TEST(test_huge_noise_is_thinned);
    RUN_TEST(test_plans_need_few_fakes);
    RUN_TEST(test_a_plan_counts_honest_clients_only);
    RUN_TEST(test_a_plan_is_tight);
    RUN_TEST(test_plans_of_several_messages);
    RUN_TEST(test_no_fakes_where_the_floor_suffices);
    RUN_TEST(test_too_small_crowds_have_no_plan);
    RUN_TEST(test_a_plan_ends_where_the_floor_nearly_suffices);
    RUN_TEST(test_a_search_ends_where_larger_values_are_not_enough);
    RUN_TEST(test_mixing_alone);
    RUN_TEST(test_a_value_that_was_found_is_kept);
    RUN_TEST(test_policies_out_of_range_are_refused);
    RUN_TEST(test_bounds_out_of_range_are_refused);
    RUN_TEST(test_scratch_one_less_is_refused);
    RUN_TEST(test_goals_out_of_range_are_refused);
    RUN_TEST(test_mixing_out_of_range_is_refused);
#endif
    return UNITY_END();
}
