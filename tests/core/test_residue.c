/* SPDX-License-Identifier: Apache-2.0
 * Nothing secret stays behind: neither in memory nor on the stack, after every call that sees a secret,
 * whatever its outcome. What is searched, and how surely, is in residue.h. tests/check_wipe.sh runs this for every
 * compiler and level of optimisation. */
#include "golden/head_vectors.h"
#include "support/residue.h"

/* ---- the calls; what they return must be what the scenario wants ---- */

static void arm(void)
{
    want(PML_OK, pml_client_arm(f.client, &f.budget));
}

static uint8_t out[512];

static pml_status release(void)
{
    return pml_client_release(f.client, &given, out, sizeof out);
}

static void arm_release(void)
{
    arm();
    want(PML_OK, release());
}

static void arm_disarm(void)
{
    arm();
    want(PML_OK, pml_client_disarm(f.client, &f.budget));
}

static void arm_wipe(void)
{
    arm();
    pml_client_wipe(f.client);
}

static void entropy_fails(void)
{
    f.script.fail_at = 1;
    want(PML_ERROR_ENTROPY, pml_client_arm(f.client, &f.budget));
}

static void persist_fails(void)
{
    f.store.fail_at = 1;
    want(PML_ERROR_PERSIST, pml_client_arm(f.client, &f.budget));
}

static void bad_features(void)
{
    arm();
    query.features[asked.count - 1] = (float)INFINITY;
    want(PML_ERROR_FEATURES, release());
}

static void bad_label(void)
{
    arm();
    given.label = INT32_MAX;
    want(PML_ERROR_LABEL, release());
}

static void bad_count(void)
{
    arm();
    given.count++;
    want(PML_ERROR_DIMENSION, release());
}

static void short_buffer(void)
{
    arm();
    want(PML_ERROR_BUFFER, pml_client_release(f.client, &given, out, 10));
}

static void bad_then_good(void)
{
    bad_count();
    given.count--;
    want(PML_OK, release());
}

static void bad_then_wipe(void)
{
    bad_label();
    pml_client_wipe(f.client);
}

static pml_status begin_given(void)
{
    const pml_ranking_config config = {.matches = matches, .capacity = MATCHES, .kernels = f.config.kernels};
    return pml_ranking_begin(&f.ranking, f.ranking_memory, sizeof f.ranking_memory, &f.pack, &given, &config);
}

static void begin(void)
{
    want(PML_OK, begin_given());
}

static void begin_bad(void)
{
    query.features[asked.count - 1] = (float)INFINITY;
    want(PML_ERROR_FEATURES, begin_given());
}

static void begin_feed(void)
{
    begin();
    want(PML_OK, pml_ranking_feed(f.ranking, answer.bytes, answer.size - 1));
}

static void begin_feed_finish(void)
{
    begin_feed();
    want(PML_OK, pml_ranking_feed(f.ranking, answer.bytes + answer.size - 1, 1));
    want(PML_OK, pml_ranking_finish(f.ranking, &summary));
}

static void finish_too_early(void)
{
    begin_feed();
    want(PML_ERROR_ANSWER, pml_ranking_finish(f.ranking, &summary));
}

static void feed_garbage(void)
{
    begin_feed();
    want(PML_ERROR_ANSWER, pml_ranking_feed(f.ranking, "garbage", 7));
    want(PML_ERROR_ANSWER, pml_ranking_finish(f.ranking, &summary));
}

static void feed_wipe(void)
{
    begin_feed();
    pml_ranking_wipe(f.ranking);
}

#if PML_WITH_CROWD
static unsigned own;

static void crowd_arm(void)
{
    want(PML_OK, pml_crowd_arm(f.client, &f.budget, PML_BUNDLE_QUERY));
}

static pml_crowd_content content = {.query = &given};

static void crowd_begin(void)
{
    crowd_arm();
    want(PML_OK, pml_crowd_begin(f.client, &content));
}

static void crowd_one(void)
{
    crowd_begin();
    want(PML_OK, pml_crowd_next(f.client, out, sizeof out, &own));
}

static void crowd_all(void)
{
    crowd_begin();
    while (pml_crowd_left(f.client) > 0)
        want(PML_OK, pml_crowd_next(f.client, out, sizeof out, &own));
}

static void crowd_wipe(void)
{
    crowd_one();
    pml_client_wipe(f.client);
}

static void crowd_disarm(void)
{
    crowd_arm();
    want(PML_OK, pml_client_disarm(f.client, &f.budget));
}

static void crowd_bad_label(void)
{
    crowd_arm();
    given.label = INT32_MAX;
    want(PML_ERROR_LABEL, pml_crowd_begin(f.client, &content));
}

static void crowd_idle(void)
{
    want(PML_OK, pml_crowd_arm(f.client, &f.budget, PML_BUNDLE_IDLE));
    want(PML_OK, pml_crowd_begin(f.client, NULL));
    while (pml_crowd_left(f.client) > 0)
        want(PML_OK, pml_crowd_next(f.client, out, sizeof out, &own));
}

static void crowd_fails(void)
{
    f.store.fail_at = 1;
    want(PML_ERROR_PERSIST, pml_crowd_arm(f.client, &f.budget, PML_BUNDLE_QUERY));
}

static const struct scenario crowd_scenarios[] = {
    {"arm", crowd_arm, NOISE},
    {"begin", crowd_begin, NOISE},
    {"one message", crowd_one, NOISE},
    {"the whole bundle", crowd_all, 0},
    {"wipe in the middle", crowd_wipe, 0},
    {"disarm", crowd_disarm, 0},
    {"bad label", crowd_bad_label, NOISE},
    {"an idle bundle", crowd_idle, 0},
    {"persist fails", crowd_fails, 0},
};
#endif

/* ---- scenarios ---- */

static const struct scenario scenarios[] = {
    {"arm", arm, NOISE},
    {"release", arm_release, 0},
    {"wipe after arm", arm_wipe, 0},
    {"disarm", arm_disarm, 0},
    {"entropy fails", entropy_fails, 0},
    {"persist fails", persist_fails, 0},
    {"bad features", bad_features, NOISE},
    {"bad label", bad_label, NOISE},
    {"bad count", bad_count, NOISE},
    {"short buffer", short_buffer, NOISE},
    {"release after a bad one", bad_then_good, 0},
    {"wipe after a bad one", bad_then_wipe, 0},
    {"answer begins", begin, SKETCH},
    {"answer with bad features", begin_bad, 0},
    {"answer fed", begin_feed, SKETCH},
    {"answer finished", begin_feed_finish, 0},
    {"answer finished too early", finish_too_early, 0},
    {"answer of garbage", feed_garbage, 0},
    {"answer wiped", feed_wipe, 0},
};

void setUp(void)
{
}

void tearDown(void)
{
    teardown_fixture(&f);
    free(answer.bytes);
    answer = (struct writer){0};
}

static void search_prepared(const struct scenario *these, size_t count)
{
    unsigned failed = 0;
    for (size_t i = 0; i < count; i++)
        if (search(these + i) > 0) {
            printf("    ... after: %s\n", these[i].name);
            failed++;
        }
    TEST_ASSERT_EQUAL(0, failed);
}

static void search_these(const struct scenario *these, size_t count, unsigned index, int mechanism)
{
    prepare(index, mechanism);
    search_prepared(these, count);
}

static void search_all(unsigned index, int mechanism)
{
    search_these(scenarios, sizeof scenarios / sizeof scenarios[0], index, mechanism);
}

#if PML_WITH_CROWD
static void test_a_crowd_leaves_nothing(void)
{
    search_these(crowd_scenarios, sizeof crowd_scenarios / sizeof crowd_scenarios[0], PACK_RESPONSE_ONLY, PML_CROWD);
    TEST_ASSERT_TRUE(most_clusters >= 4);
}
#endif

#if PML_WITH_RESPONSE
static void test_response_leaves_nothing(void)
{
    search_all(PACK_RESPONSE_ONLY, PML_RESPONSE);
}
#endif

#if PML_WITH_GAUSSIAN
static void test_gaussian_leaves_nothing(void)
{
    search_all(PACK_CLASS, PML_GAUSSIAN);
    tearDown();
    search_all(PACK_WIDE, PML_GAUSSIAN);
}
#endif

#if PML_WITH_FRONT
/* Every kind of front, without and with roots, from an array and in pieces. */
static void search_fronts(const struct scenario *these, size_t count, int mechanism)
{
    for (uint32_t modality = 0; modality < 8; modality++)
        for (int pieces = 0; pieces < 2; pieces++) {
            pml_front front;
            prepare(PACK_FRONTS, mechanism);
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_front(&f.pack, modality, &front));
            asked.modality = modality;
            asked.count = front.inputs;
            asked.pieces = pieces != 0;
            search_prepared(these, count);
            tearDown();
        }
}

static void test_fronts_leave_nothing(void)
{
    if (PML_WITH_RESPONSE)
        search_fronts(scenarios, sizeof scenarios / sizeof scenarios[0], PML_RESPONSE);
    if (PML_WITH_GAUSSIAN)
        search_fronts(scenarios, sizeof scenarios / sizeof scenarios[0], PML_GAUSSIAN);
}

#if PML_WITH_CROWD
static void test_fronts_leave_nothing_in_a_crowd(void)
{
    search_fronts(crowd_scenarios, sizeof crowd_scenarios / sizeof crowd_scenarios[0], PML_CROWD);
}
#endif

#if PML_WITH_HEAD
/* A pack with a head and the same fronts. Guesses and means are the caller's own. */
static pml_pack head_pack;
static pml_guess guesses[3];
static float mean[64];

static pml_status guess(void)
{
    return pml_pack_guess(&head_pack, f.config.kernels, &given, f.ranking_memory, sizeof f.ranking_memory, guesses, 3);
}

static void guess_good(void)
{
    want(PML_OK, guess());
}

static void guess_bad(void)
{
    query.features[asked.count - 1] = (float)INFINITY;
    want(PML_ERROR_FEATURES, guess());
}

static void look_twice(void)
{
    pml_looks *looks;
    want(PML_OK, pml_looks_begin(&looks, f.ranking_memory, sizeof f.ranking_memory, asked.count));
    want(PML_OK, pml_looks_add(looks, query.features, asked.count));
    want(PML_OK, pml_looks_add(looks, query.features, asked.count));
    want(PML_OK, pml_looks_mean(looks, mean, asked.count));
    pml_looks_wipe(looks);
}

static const struct scenario head_scenarios[] = {
    {"guess", guess_good, 0}, {"guess of bad features", guess_bad, 0}, {"two looks", look_twice, 0}};

static void test_heads_and_looks_leave_nothing(void)
{
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&head_pack, golden_heads[1].bytes, golden_heads[1].size, NULL, NULL));
    search_fronts(head_scenarios, sizeof head_scenarios / sizeof head_scenarios[0],
                  PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN);
    (void)golden_guesses, (void)golden_looks_cases;
}
#endif

static void leave_sums(void)
{
    memcpy((uint8_t *)f.client->row + PML_ROUND8(pack->features), sums, 16);
    pml_wipe_stack(); /* the copy may leave registers there */
}

static void test_a_planted_sum_is_found(void)
{
    const struct scenario memory = {"sums in memory", leave_sums, 0};
    prepare(PACK_FRONTS, PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN);
    asked.modality = 4;
    asked.count = 9;
    TEST_ASSERT_EQUAL(5, search(&memory)); /* three windows, two differences */
}
#endif

/* ---- planted residue is found ---- */

static void leave_row(void)
{
    volatile int8_t copy[64] = {0};
    for (size_t i = 0; i < pack->features; i++)
        copy[copy[63] + (int)i] = row[i];
}

static void leave_byte(void)
{
    volatile uint8_t copy[64] = {0};
    copy[copy[63]] = query.seed[5];
}

static void leave_in_memory(void)
{
    memcpy(f.client->row, row, 8);
}

static void test_planted_residue_is_found(void)
{
    const struct scenario plain = {"row on the stack", leave_row, 0}, single = {"one byte", leave_byte, 0},
                          memory = {"row in memory", leave_in_memory, 0};
    prepare(PACK_CLASS, PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN);
    TEST_ASSERT_EQUAL(OWN_STACK ? 5 : 0, search(&plain)); /* three windows, two differences */
    TEST_ASSERT_EQUAL(OWN_STACK ? 2 : 0, search(&single));
    TEST_ASSERT_EQUAL(5, search(&memory));
}

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_RESPONSE
    RUN_TEST(test_response_leaves_nothing);
#endif
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_gaussian_leaves_nothing);
#endif
#if PML_WITH_CROWD
    RUN_TEST(test_a_crowd_leaves_nothing);
#endif
#if PML_WITH_FRONT
    RUN_TEST(test_fronts_leave_nothing);
#if PML_WITH_CROWD
    RUN_TEST(test_fronts_leave_nothing_in_a_crowd);
#endif
#if PML_WITH_HEAD
    RUN_TEST(test_heads_and_looks_leave_nothing);
#endif
    RUN_TEST(test_a_planted_sum_is_found);
#endif
    RUN_TEST(test_planted_residue_is_found);
    return UNITY_END();
}
