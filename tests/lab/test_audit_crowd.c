/* SPDX-License-Identifier: Apache-2.0
 * The audit of a crowd, on whole epochs: who is in them, and that noise which is missing is found. */
#define _POSIX_C_SOURCE 200809L
#include "tools/builder_support.h"

#include "lab/audit/audit_mechanisms.h"

#include <math.h>
#include <privatemail_crowd.h>

#if PML_WITH_CROWD

const char command_program[] = "test_audit_crowd"; /* what messages begin with */

enum { CELLS = 4, COLUMNS = 8, EPOCHS = 40000 };
#define DELTA 0.02
#define FLOOR 8.0

static struct input input;
static struct pack_file file;
static struct audit_bench bench;
static struct audit_pair pair;
static float opposite[COLUMNS];

/* One slot of four cells, and two records in different ones. */
void setUp(void)
{
    input = make_input(40, COLUMNS, CELLS);
    input.options.slots = PML_SLOTS_ONE;
    input.options.cells = CELLS;
    input.options.gaussian = 0;
    struct built built = build(&input);
    TEST_ASSERT_EQUAL(PML_OK, pack_file_adopt(&file, built.bytes, built.size));
    for (size_t i = 0; i < COLUMNS; i++)
        opposite[i] = -input.features.values[i];
    pair.sides[0] = (struct audit_record){.features = input.features.values};
    pair.sides[1] = (struct audit_record){.features = opposite};
}

void tearDown(void)
{
    audit_bench_close(&bench);
    pack_file_close(&file);
    free_input(&input);
}

static const pml_crowd client_noise = {.clients = 16, .clusters = 1.0, .copies = 2, .own = 1};
static const pml_crowd relay_noise = {.relay_clusters = 18.0, .copies = 2, .own = 1};

static double accounted(const pml_crowd *policy)
{
    static double scratch[PML_CROWD_SCRATCH_MAX];
    const pml_crowd_use use = {.cells = CELLS, .queries = 1, .floor = FLOOR};
    double epsilon = 0.0;
    TEST_ASSERT_EQUAL(PML_OK, pml_crowd_epsilon(policy, &use, DELTA, scratch, PML_CROWD_SCRATCH_MAX, &epsilon));
    return epsilon;
}

static void open_bench(const pml_crowd *policy)
{
    TEST_ASSERT_EQUAL(PML_OK, audit_bench_open(&bench, &file, PML_RESPONSE, FLOOR, 0.0, policy));
}

static double proved(void)
{
    /* Half of the epochs choose the event: one chosen from a few says too little, and then a wrong bound looks right. */
    const struct audit_plan plan = {.trials = {EPOCHS / 20, EPOCHS / 2, EPOCHS - EPOCHS / 20 - EPOCHS / 2},
                                    .deadlines = {INFINITY, INFINITY, INFINITY},
                                    .risk = 1e-6};
    struct audit_verdict verdict;
    TEST_ASSERT_EQUAL(PML_OK, audit_crowd(&bench, &pair, &plan, DELTA, &verdict));
    TEST_ASSERT_TRUE(verdict.enough);
    TEST_ASSERT_EQUAL(EPOCHS, verdict.trials);
    return verdict.epsilon_lower;
}

/* The mean of all messages is that of the policy: nobody is missing and nobody is counted twice. */
static void check_messages(const pml_crowd *policy)
{
    const double clusters = (double)policy->clients * policy->clusters + policy->relay_clusters;
    const double expected = policy->own + clusters * (policy->copies + 1.0) / 2.0;
    const double variance = clusters * (policy->copies + 1.0) * (2.0 * policy->copies + 1.0) / 6.0;
    const double epochs = 2.0 * (double)EPOCHS;
    TEST_ASSERT_DOUBLE_WITHIN(6.0 * sqrt(variance / epochs), expected, (double)audit_bench_releases(&bench) / epochs);
}

static void check_promise(const pml_crowd *policy)
{
    open_bench(policy);
    const double epsilon = accounted(policy), least = proved();
    TEST_ASSERT_TRUE(least <= epsilon && least >= 0.3 * epsilon);
    check_messages(policy);
}

static void test_clients_keep_their_promise(void)
{
    check_promise(&client_noise);
}

static void test_the_relay_keeps_its_promise(void)
{
    check_promise(&relay_noise);
    TEST_ASSERT_EQUAL(0, bench.idle_bundles); /* the asker is alone with the relay */
}

static void test_clients_that_stay_away_are_found(void)
{
    open_bench(&client_noise);
    bench.idle_bundles = 7; /* half of sixteen, with the asker */
    TEST_ASSERT_TRUE(proved() > accounted(&client_noise));
}

static void test_a_relay_that_halves_its_noise_is_found(void)
{
    open_bench(&relay_noise);
    bench.law.clusters /= 2.0;
    TEST_ASSERT_TRUE(proved() > accounted(&relay_noise));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_clients_keep_their_promise);
    RUN_TEST(test_the_relay_keeps_its_promise);
    RUN_TEST(test_clients_that_stay_away_are_found);
    RUN_TEST(test_a_relay_that_halves_its_noise_is_found);
    return UNITY_END();
}

#else

int main(void)
{
    return 0;
}

#endif
