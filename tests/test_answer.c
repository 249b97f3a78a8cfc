/* SPDX-License-Identifier: Apache-2.0
 * An answer's life: begin, feed and finish in every order and state, what they leave in memory, and that a release
 * does not notice them. */
#include "golden/vectors.h"
#include "support.h"

#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#define MECHANISM (PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN)

/* A client for golden answer 1 (class slots), with the features that belong to it. */
struct scene {
    struct fixture f;
    const struct golden_answer *g;
    float features[64];
    pml_match matches[PML_MATCHES_MAX];
    pml_answer_summary summary;
};

static void set_scene(struct scene *s, bool substitute)
{
    memset(s, 0, sizeof *s);
    s->g = golden_answers + 1;
    setup_fixture(&s->f, s->g->pack, MECHANISM, 1.0);
    s->f.config.substitute = substitute;
    setup_client(&s->f);
    memcpy(s->features, s->g->bits, s->g->d * sizeof *s->features);
}

static int begin(struct scene *s)
{
    return pml_answer_begin(s->f.client, s->features, s->g->d, s->g->label, PML_OWN_SLOT, s->matches, s->g->limit);
}

static int feed_all(struct scene *s)
{
    return pml_answer_feed(s->f.client, s->g->bytes, s->g->size);
}

static int finish(struct scene *s)
{
    return pml_answer_finish(s->f.client, &s->summary);
}

static void expect_golden_matches(struct scene *s)
{
    TEST_ASSERT_EQUAL(PML_OK, finish(s));
    TEST_ASSERT_EQUAL(s->g->match_count, s->summary.found);
    for (size_t i = 0; i < s->g->match_count; i++) {
        TEST_ASSERT_EQUAL_UINT64(s->g->matches[i].item, s->matches[i].item);
        TEST_ASSERT_EQUAL_INT32(s->g->matches[i].score, s->matches[i].score);
    }
}

static void test_calls_out_of_order_are_refused(void)
{
    struct scene s;
    set_scene(&s, false);
    memset(&s.summary, 0x5A, sizeof s.summary);
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, feed_all(&s));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, finish(&s));
    TEST_ASSERT_TRUE(is_zero(&s.summary, sizeof s.summary));
    TEST_ASSERT_EQUAL(PML_OK, begin(&s));
    TEST_ASSERT_EQUAL(PML_OK, pml_answer_feed(s.f.client, s.g->bytes, 100));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, begin(&s)); /* and the answer under way goes on */
    TEST_ASSERT_EQUAL(PML_OK, pml_answer_feed(s.f.client, s.g->bytes + 100, s.g->size - 100));
    expect_golden_matches(&s);
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, feed_all(&s));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, finish(&s));
    teardown_fixture(&s.f);
}

static void test_arguments_out_of_range_are_refused(void)
{
    struct scene s;
    set_scene(&s, false);
    pml_client *client = s.f.client;
    const float *x = s.features;
    const size_t d = s.g->d;
    pml_match *matches = s.matches;
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_answer_begin(NULL, x, d, 0, PML_OWN_SLOT, matches, 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_answer_begin(client, NULL, d, 0, PML_OWN_SLOT, matches, 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_answer_begin(client, x, d, 0, PML_OWN_SLOT, NULL, 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_answer_begin(client, x, d, 0, PML_OWN_SLOT, matches, 0));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT,
                      pml_answer_begin(client, x, d, 0, PML_OWN_SLOT, matches, PML_MATCHES_MAX + 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_answer_begin(client, x, d, 0, PML_OWN_SLOT, matches, SIZE_MAX));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_answer_begin(client, x, d, 0, 2, matches, 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_answer_begin(client, x, d, 0, -1, matches, 1));
    TEST_ASSERT_EQUAL(PML_ERROR_DIMENSION, pml_answer_begin(client, x, d - 1, 0, PML_OWN_SLOT, matches, 1));
    TEST_ASSERT_EQUAL(PML_ERROR_DIMENSION, pml_answer_begin(client, x, d + 1, 0, PML_OWN_SLOT, matches, 1));
    TEST_ASSERT_EQUAL(PML_ERROR_DIMENSION, pml_answer_begin(client, x, 0, 0, PML_OWN_SLOT, matches, 1));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, finish(&s)); /* none of these began */
    TEST_ASSERT_EQUAL(PML_OK, begin(&s));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_answer_feed(NULL, s.g->bytes, 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_answer_feed(client, NULL, 1));
    TEST_ASSERT_EQUAL(PML_OK, pml_answer_feed(client, NULL, 0));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_answer_finish(NULL, &s.summary));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_answer_finish(client, NULL));
    TEST_ASSERT_EQUAL(PML_OK, feed_all(&s));
    expect_golden_matches(&s);
    teardown_fixture(&s.f);
}

static void test_every_capacity_up_to_the_limit_works(void)
{
    static const size_t capacities[] = {1, 2, 7, 100, PML_MATCHES_MAX};
    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
        struct scene s;
        set_scene(&s, false);
        pml_match *matches = malloc(capacities[i] * sizeof *matches);
        TEST_ASSERT_EQUAL(
            PML_OK, pml_answer_begin(s.f.client, s.features, s.g->d, s.g->label, PML_OWN_SLOT, matches, capacities[i]));
        TEST_ASSERT_EQUAL(PML_OK, feed_all(&s));
        TEST_ASSERT_EQUAL(PML_OK, finish(&s));
        TEST_ASSERT_TRUE(s.summary.found == capacities[i] || s.summary.found >= s.g->match_count);
        for (size_t j = 0; j < s.summary.found && j < s.g->match_count; j++)
            TEST_ASSERT_EQUAL_UINT64(s.g->matches[j].item, matches[j].item);
        for (size_t j = s.summary.found; j < capacities[i]; j++)
            TEST_ASSERT_EQUAL_UINT32(PML_NO_SLOT, matches[j].slot);
        free(matches);
        teardown_fixture(&s.f);
    }
}

static void test_an_error_stays_and_a_new_answer_is_free_of_it(void)
{
    struct scene s;
    set_scene(&s, false);
    TEST_ASSERT_EQUAL(PML_OK, begin(&s));
    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, pml_answer_feed(s.f.client, "\xFF", 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, feed_all(&s));
    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, pml_answer_feed(s.f.client, NULL, 0));
    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, finish(&s));
    TEST_ASSERT_TRUE(is_zero(s.matches, sizeof s.matches));
    TEST_ASSERT_TRUE(is_zero(&s.summary, sizeof s.summary));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, finish(&s));
    TEST_ASSERT_EQUAL(PML_OK, begin(&s));
    TEST_ASSERT_EQUAL(PML_OK, feed_all(&s));
    expect_golden_matches(&s);
    teardown_fixture(&s.f);
}

static void test_invalid_input_is_an_error_without_substitute(void)
{
    static const uint32_t bad[] = {0x7FC00000 /* NaN */, 0x7F800000 /* infinite */, 0xFF800001};
    struct scene s;
    set_scene(&s, false);
    memset(s.matches, 0x5A, sizeof s.matches);
    TEST_ASSERT_EQUAL(PML_ERROR_LABEL,
                      pml_answer_begin(s.f.client, s.features, s.g->d, 77, PML_OWN_SLOT, s.matches, 9));
    TEST_ASSERT_TRUE(is_zero(s.matches, 9 * sizeof s.matches[0]));
    for (size_t i = 0; i < 3; i++) {
        memcpy(s.features + 2, bad + i, 4);
        TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, begin(&s));
    }
    memset(s.features, 0, sizeof s.features);
    TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, begin(&s));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, feed_all(&s));
    teardown_fixture(&s.f);
}

static void expect_empty_result(struct scene *s, int32_t label, int scope)
{
    TEST_ASSERT_EQUAL(PML_OK, pml_answer_begin(s->f.client, s->features, s->g->d, label, scope, s->matches, 8));
    TEST_ASSERT_EQUAL(PML_OK, feed_all(s));
    TEST_ASSERT_EQUAL(PML_OK, finish(s));
    TEST_ASSERT_EQUAL(0, s->summary.found);
    TEST_ASSERT_EQUAL_UINT64(24, s->summary.carried);
    TEST_ASSERT_EQUAL_UINT64(1000, s->summary.gallery);
    TEST_ASSERT_EQUAL_UINT64(s->g->size, s->summary.bytes);
    for (size_t i = 0; i < 8; i++)
        TEST_ASSERT_EQUAL_UINT32(PML_NO_SLOT, s->matches[i].slot);
}

static void test_invalid_input_finds_nothing_with_substitute(void)
{
    static const uint32_t not_a_number = 0x7FC00000;
    struct scene s;
    set_scene(&s, true);
    expect_empty_result(&s, 77, PML_OWN_SLOT);
    expect_empty_result(&s, 77, PML_ALL_SLOTS);
    memcpy(s.features, &not_a_number, 4);
    expect_empty_result(&s, s.g->label, PML_OWN_SLOT);
    expect_empty_result(&s, s.g->label, PML_ALL_SLOTS);
    expect_empty_result(&s, 77, PML_ALL_SLOTS);
    memset(s.features, 0, sizeof s.features);
    expect_empty_result(&s, s.g->label, PML_ALL_SLOTS);
    memcpy(s.features, s.g->bits, s.g->d * sizeof *s.features);
    TEST_ASSERT_EQUAL(PML_OK, begin(&s)); /* what was substituted is gone */
    TEST_ASSERT_EQUAL(PML_OK, feed_all(&s));
    expect_golden_matches(&s);
    teardown_fixture(&s.f);
}

/* Where answers come between the other calls: bit 0 before arm, 1 armed, 2 loaded, 3 spent. With `split`, one answer
 * spans all of arm, load and release. */
static size_t release_with_answers(unsigned places, bool split, uint8_t *out, size_t capacity)
{
    struct scene s;
    size_t written = 0;
    set_scene(&s, false);
    if (split) {
        TEST_ASSERT_EQUAL(PML_OK, begin(&s));
        TEST_ASSERT_EQUAL(PML_OK, pml_answer_feed(s.f.client, s.g->bytes, 300));
    }
    for (unsigned place = 0; place < 4; place++) {
        if (places >> place & 1) {
            TEST_ASSERT_EQUAL(PML_OK, begin(&s));
            TEST_ASSERT_EQUAL(PML_OK, feed_all(&s));
            expect_golden_matches(&s);
        }
        float query[64];
        make_features(&s.f.pack, 4, query); /* not the answer's, so that a mix-up shows */
        if (place == 0)
            TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(s.f.client, &s.f.budget));
        if (place == 1)
            TEST_ASSERT_EQUAL(PML_OK, pml_client_load(s.f.client, query, s.g->d, -7));
        if (place == 2)
            TEST_ASSERT_EQUAL(PML_OK, pml_client_release(s.f.client, out, capacity, &written));
    }
    if (split) {
        TEST_ASSERT_EQUAL(PML_OK, pml_answer_feed(s.f.client, s.g->bytes + 300, s.g->size - 300));
        expect_golden_matches(&s);
    }
    teardown_fixture(&s.f);
    return written;
}

static void test_answers_in_any_state_leave_the_release_as_it_is(void)
{
    uint8_t without[256], with[256];
    size_t size = release_with_answers(0, false, without, sizeof without);
    for (unsigned places = 1; places < 16; places++) {
        TEST_ASSERT_EQUAL(size, release_with_answers(places, false, with, sizeof with));
        TEST_ASSERT_EQUAL_HEX8_ARRAY(without, with, size);
    }
    TEST_ASSERT_EQUAL(size, release_with_answers(0, true, with, sizeof with));
    TEST_ASSERT_EQUAL_HEX8_ARRAY(without, with, size);
}

/* Whether any 8 consecutive bytes of the secret stand somewhere in the client's memory. */
static bool memory_holds(const struct fixture *f, const int8_t *secret, size_t size)
{
    const uint8_t *memory = f->memory;
    for (size_t at = 0; at + 8 <= f->memory_size; at++)
        for (size_t i = 0; i + 8 <= size; i++)
            if (memcmp(memory + at, secret + i, 8) == 0)
                return true;
    return false;
}

static void test_nothing_of_the_query_stays_in_the_client(void)
{
    static const char *const ends[] = {"finish", "finish with an error", "wipe", "begin with an unknown label"};
    for (unsigned end = 0; end < 4; end++) {
        struct scene s;
        int8_t row[64], sketch[PML_SKETCH_MAX];
        set_scene(&s, false);
        TEST_ASSERT_EQUAL(PML_OK, pml_quantise(s.features, s.g->d, row));
        TEST_ASSERT_EQUAL(PML_OK, pml_sketch(&s.f.pack, NULL, row, sketch));
        if (end < 3) {
            TEST_ASSERT_EQUAL(PML_OK, begin(&s));
            TEST_ASSERT_TRUE(memory_holds(&s.f, sketch, 16)); /* or the search below would prove nothing */
            TEST_ASSERT_EQUAL(PML_OK, pml_answer_feed(s.f.client, s.g->bytes, s.g->size - (end > 0)));
        }
        if (end < 2)
            TEST_ASSERT_EQUAL(end == 0 ? PML_OK : PML_ERROR_ANSWER, finish(&s));
        else if (end == 2)
            pml_client_wipe(s.f.client);
        else
            TEST_ASSERT_EQUAL(PML_ERROR_LABEL,
                              pml_answer_begin(s.f.client, s.features, s.g->d, 77, PML_OWN_SLOT, s.matches, 8));
        TEST_ASSERT_FALSE_MESSAGE(memory_holds(&s.f, sketch, 16), ends[end]);
        TEST_ASSERT_FALSE_MESSAGE(memory_holds(&s.f, row, s.g->d), ends[end]);
        TEST_ASSERT_EQUAL_MESSAGE(end > 0, is_zero(s.matches, sizeof s.matches), ends[end]);
        TEST_ASSERT_EQUAL(PML_ERROR_STATE, finish(&s));
        teardown_fixture(&s.f);
    }
}

#if PML_WITH_GAUSSIAN
static void test_a_pack_without_sketches_has_no_answers(void)
{
    struct fixture f;
    float features[64];
    pml_match matches[2];
    setup_fixture(&f, PACK_GAUSSIAN_ONLY, PML_GAUSSIAN, 1.0);
    setup_client(&f);
    make_features(&f.pack, 1, features);
    TEST_ASSERT_EQUAL(PML_ERROR_SECTION,
                      pml_answer_begin(f.client, features, 11, some_label(&f.pack), PML_OWN_SLOT, matches, 2));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, pml_answer_feed(f.client, "", 0));
    teardown_fixture(&f);
}
#endif

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_calls_out_of_order_are_refused);
    RUN_TEST(test_arguments_out_of_range_are_refused);
    RUN_TEST(test_every_capacity_up_to_the_limit_works);
    RUN_TEST(test_an_error_stays_and_a_new_answer_is_free_of_it);
    RUN_TEST(test_invalid_input_is_an_error_without_substitute);
    RUN_TEST(test_invalid_input_finds_nothing_with_substitute);
    RUN_TEST(test_answers_in_any_state_leave_the_release_as_it_is);
    RUN_TEST(test_nothing_of_the_query_stays_in_the_client);
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_a_pack_without_sketches_has_no_answers);
#endif
    return UNITY_END();
}
