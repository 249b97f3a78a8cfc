/* SPDX-License-Identifier: Apache-2.0
 * A ranking's life: begin, feed and finish in every order, what they leave in memory, and that they need no client. */
#include "golden/vectors.h"
#include "support/support.h"

#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* A fixture for golden answer 1 (class slots), with the features that belong to it. */
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
    setup_fixture(&s->f, s->g->pack, PML_RESPONSE, 1.0);
    s->f.config.substitute = substitute;
    memcpy(s->features, s->g->bits, s->g->d * sizeof *s->features);
}

static pml_status begin(struct scene *s)
{
    return begin_ranking(&s->f, s->features, s->g->d, s->g->label, PML_OWN_SLOT, s->matches, s->g->limit);
}

static pml_status feed_all(struct scene *s)
{
    return pml_ranking_feed(s->f.ranking, s->g->bytes, s->g->size);
}

static pml_status finish(struct scene *s)
{
    return pml_ranking_finish(s->f.ranking, &s->summary);
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
    TEST_ASSERT_EQUAL(PML_OK, begin(&s));
    TEST_ASSERT_EQUAL(PML_OK, feed_all(&s));
    expect_golden_matches(&s);
    memset(&s.summary, 0x5A, sizeof s.summary);
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, feed_all(&s));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, finish(&s));
    TEST_ASSERT_TRUE(is_zero(&s.summary, sizeof s.summary));
    const pml_match best = s.matches[0];
    pml_ranking_wipe(s.f.ranking); /* what finish handed out is the caller's */
    TEST_ASSERT_EQUAL_MEMORY(&best, s.matches, sizeof best);
    TEST_ASSERT_EQUAL(PML_OK, begin(&s));
    TEST_ASSERT_EQUAL(PML_OK, pml_ranking_feed(s.f.ranking, s.g->bytes, 300));
    pml_ranking_wipe(s.f.ranking);
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, feed_all(&s));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, finish(&s));
    pml_ranking_wipe(NULL);
    teardown_fixture(&s.f);
}

static void test_arguments_out_of_range_are_refused(void)
{
    struct scene s;
    set_scene(&s, false);
    struct fixture *f = &s.f;
    const size_t d = s.g->d, size = sizeof f->ranking_memory;
    const pml_query query = {.features = s.features, .count = d, .label = s.g->label};
    const pml_query empty = {.count = d, .label = s.g->label};
    pml_query other = query;
    const pml_ranking_config good = {.matches = s.matches, .capacity = 1};
    void *memory = f->ranking_memory;
    pml_ranking *ranking;
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_ranking_begin(NULL, memory, size, &f->pack, &query, &good));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_ranking_begin(&ranking, NULL, size, &f->pack, &query, &good));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_ranking_begin(&ranking, memory, size, NULL, &query, &good));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_ranking_begin(&ranking, memory, size, &f->pack, NULL, &good));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_ranking_begin(&ranking, memory, size, &f->pack, &empty, &good));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_ranking_begin(&ranking, memory, size, &f->pack, &query, NULL));
    static const struct {
        size_t capacity;
        int scope;
    } bad[] = {{0, 0}, {PML_MATCHES_MAX + 1, 0}, {SIZE_MAX, 0}, {1, 2}, {1, -1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const pml_ranking_config config = {
            .matches = s.matches, .capacity = bad[i].capacity, .scope = (pml_scope)bad[i].scope};
        ranking = memory;
        TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_ranking_begin(&ranking, memory, size, &f->pack, &query, &config));
        TEST_ASSERT_NULL(ranking);
    }
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, begin_ranking(f, s.features, d, 0, PML_OWN_SLOT, NULL, 1));
    const size_t counts[] = {d - 1, d + 1, 0};
    for (size_t i = 0; i < 3; i++) {
        other.count = counts[i];
        ranking = memory;
        TEST_ASSERT_EQUAL(PML_ERROR_DIMENSION, pml_ranking_begin(&ranking, memory, size, &f->pack, &other, &good));
        TEST_ASSERT_NULL(ranking);
    }
    TEST_ASSERT_EQUAL(PML_OK, begin(&s));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_ranking_feed(NULL, s.g->bytes, 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_ranking_feed(f->ranking, NULL, 1));
    TEST_ASSERT_EQUAL(PML_OK, pml_ranking_feed(f->ranking, NULL, 0));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_ranking_finish(NULL, &s.summary));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_ranking_finish(f->ranking, NULL));
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
        TEST_ASSERT_EQUAL(PML_OK,
                          begin_ranking(&s.f, s.features, s.g->d, s.g->label, PML_OWN_SLOT, matches, capacities[i]));
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
    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, pml_ranking_feed(s.f.ranking, "\xFF", 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, feed_all(&s));
    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, pml_ranking_feed(s.f.ranking, NULL, 0));
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
    TEST_ASSERT_EQUAL(PML_ERROR_LABEL, begin_ranking(&s.f, s.features, s.g->d, 77, PML_OWN_SLOT, s.matches, 9));
    TEST_ASSERT_TRUE(is_zero(s.matches, 9 * sizeof s.matches[0]));
    for (size_t i = 0; i < 3; i++) {
        memcpy(s.features + 2, bad + i, 4);
        TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, begin(&s));
    }
    memset(s.features, 0, sizeof s.features);
    TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, begin(&s));
    TEST_ASSERT_NULL(s.f.ranking);
    teardown_fixture(&s.f);
}

static void expect_empty_result(struct scene *s, int32_t label, pml_scope scope)
{
    TEST_ASSERT_EQUAL(PML_OK, begin_ranking(&s->f, s->features, s->g->d, label, scope, s->matches, 8));
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

/* Two answers at once, piece by piece in turn. */
static void test_rankings_do_not_disturb_each_other(void)
{
    static struct scene first, second;
    set_scene(&first, false);
    set_scene(&second, false);
    TEST_ASSERT_EQUAL(PML_OK, begin(&first));
    make_features(&second.f.pack, 4, second.features);
    TEST_ASSERT_EQUAL(PML_OK, begin(&second));
    for (size_t at = 0; at < first.g->size; at += 100) {
        const size_t part = first.g->size - at < 100 ? first.g->size - at : 100;
        TEST_ASSERT_EQUAL(PML_OK, pml_ranking_feed(first.f.ranking, first.g->bytes + at, part));
        TEST_ASSERT_EQUAL(PML_OK, pml_ranking_feed(second.f.ranking, first.g->bytes + at, part));
    }
    expect_golden_matches(&first);
    TEST_ASSERT_EQUAL(PML_OK, finish(&second));
    TEST_ASSERT_TRUE(memcmp(first.matches, second.matches, sizeof first.matches) != 0);
    teardown_fixture(&first.f);
    teardown_fixture(&second.f);
}

/* Whether any 8 consecutive bytes of the secret stand somewhere in the ranking's memory. */
static bool memory_holds(const struct fixture *f, const int8_t *secret, size_t size)
{
    const uint8_t *memory = f->ranking_memory;
    for (size_t at = 0; at + 8 <= sizeof f->ranking_memory; at++)
        for (size_t i = 0; i + 8 <= size; i++)
            if (memcmp(memory + at, secret + i, 8) == 0)
                return true;
    return false;
}

static void test_nothing_of_the_query_stays_in_the_ranking(void)
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
            TEST_ASSERT_EQUAL(PML_OK, pml_ranking_feed(s.f.ranking, s.g->bytes, s.g->size - (end > 0)));
        }
        if (end < 2)
            TEST_ASSERT_EQUAL(end == 0 ? PML_OK : PML_ERROR_ANSWER, finish(&s));
        else if (end == 2)
            pml_ranking_wipe(s.f.ranking);
        else
            TEST_ASSERT_EQUAL(PML_ERROR_LABEL, begin_ranking(&s.f, s.features, s.g->d, 77, PML_OWN_SLOT, s.matches, 8));
        TEST_ASSERT_FALSE_MESSAGE(memory_holds(&s.f, sketch, 16), ends[end]);
        TEST_ASSERT_FALSE_MESSAGE(memory_holds(&s.f, row, s.g->d), ends[end]);
        TEST_ASSERT_EQUAL_MESSAGE(end > 0, is_zero(s.matches, sizeof s.matches), ends[end]);
        TEST_ASSERT_EQUAL(end < 3 ? PML_ERROR_STATE : PML_ERROR_ARGUMENT, finish(&s));
        teardown_fixture(&s.f);
    }
}

static void test_a_pack_without_sketches_has_no_answers(void)
{
    struct fixture f;
    float features[64];
    pml_match matches[2];
    setup_fixture(&f, PACK_GAUSSIAN_ONLY, PML_GAUSSIAN, 1.0);
    make_features(&f.pack, 1, features);
    TEST_ASSERT_EQUAL(0, pml_ranking_size(&f.pack));
    TEST_ASSERT_EQUAL(PML_ERROR_SECTION,
                      begin_ranking(&f, features, 11, some_label(&f.pack), PML_OWN_SLOT, matches, 2));
    TEST_ASSERT_NULL(f.ranking);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_calls_out_of_order_are_refused);
    RUN_TEST(test_arguments_out_of_range_are_refused);
    RUN_TEST(test_every_capacity_up_to_the_limit_works);
    RUN_TEST(test_an_error_stays_and_a_new_answer_is_free_of_it);
    RUN_TEST(test_invalid_input_is_an_error_without_substitute);
    RUN_TEST(test_invalid_input_finds_nothing_with_substitute);
    RUN_TEST(test_rankings_do_not_disturb_each_other);
    RUN_TEST(test_nothing_of_the_query_stays_in_the_ranking);
    RUN_TEST(test_a_pack_without_sketches_has_no_answers);
    return UNITY_END();
}
