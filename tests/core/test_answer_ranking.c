/* SPDX-License-Identifier: Apache-2.0
 * The ranking of an answer (SPEC 5.13) against the plainest one: score everything, sort, drop repeated items, cut. */
#include "support/answer_writer.h"
#include "support/plain_ranking.h"

void setUp(void)
{
}

void tearDown(void)
{
}

#define MECHANISM (PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN)

struct answer_under_test {
    struct fixture f;
    pml_pack_info info;
    float features[64];
    int32_t label;
    uint32_t slot;
    int8_t sketch[PML_SKETCH_MAX]; /* of the query */
    struct writer writer;
    struct candidate candidates[CANDIDATES_MAX];
    size_t count;
    uint32_t state; /* of the random numbers */
};

static uint32_t random_below(struct answer_under_test *a, uint32_t n)
{
    a->state = a->state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(a->state >> 8) * n >> 24);
}

static void start(struct answer_under_test *a, unsigned pack, uint32_t seed)
{
    int8_t row[64];
    memset(a, 0, sizeof *a);
    a->state = seed;
    setup_fixture(&a->f, pack, MECHANISM, 1.0);
    setup_client(&a->f);
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(&a->f.pack, &a->info));
    make_features(&a->f.pack, seed, a->features);
    if (a->info.classes > 0)
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(&a->f.pack, random_below(a, a->info.classes), &a->label, &a->slot));
    TEST_ASSERT_EQUAL(PML_OK, pml_quantise(a->features, a->info.features, row));
    TEST_ASSERT_EQUAL(PML_OK, pml_sketch(&a->f.pack, NULL, row, a->sketch));
    write_header(&a->writer, &a->f.pack, 1u << 20);
}

static void stop(struct answer_under_test *a)
{
    free(a->writer.bytes);
    teardown_fixture(&a->f);
}

/* ⌊⟨q,s⟩·r·r'/2^30⌋; the product is at most 2^60. */
static int32_t score_of(const struct answer_under_test *a, const int8_t *sketch)
{
    int64_t dot = 0;
    for (size_t i = 0; i < a->info.sketch; i++)
        dot += a->sketch[i] * sketch[i];
    int64_t product =
        dot * (int64_t)pml_inverse_norm(sketch, a->info.sketch) * (int64_t)pml_inverse_norm(a->sketch, a->info.sketch);
    int64_t quotient = product / ((int64_t)1 << 30);
    return (int32_t)(quotient - (product % ((int64_t)1 << 30) < 0));
}

static void add(struct answer_under_test *a, uint32_t slot, uint64_t item, int32_t label, const int8_t *sketch,
                size_t payload)
{
    static const uint8_t filler[300];
    TEST_ASSERT_TRUE(a->count < CANDIDATES_MAX);
    write_candidate(&a->writer, item, label, sketch, a->info.sketch, filler, payload);
    a->candidates[a->count] = (struct candidate){
        {item, a->writer.size - payload, (uint32_t)payload, score_of(a, sketch), label, slot}, a->count};
    a->count++;
}

static void compare(struct answer_under_test *a, pml_scope scope, size_t capacity)
{
    pml_match expected[PML_MATCHES_MAX];
    pml_match *matches = malloc(capacity * sizeof *matches);
    pml_answer_summary summary;
    size_t found = rank_plainly(a->candidates, a->count, a->slot, scope, capacity, expected);
    TEST_ASSERT_EQUAL(PML_OK, begin_ranking(&a->f, a->features, a->info.features, a->label, scope, matches, capacity));
    TEST_ASSERT_EQUAL(PML_OK, feed_and_finish(a->f.ranking, a->writer.bytes, a->writer.size, &summary));
    TEST_ASSERT_EQUAL(found, summary.found);
    TEST_ASSERT_EQUAL_UINT64(a->count, summary.carried);
    TEST_ASSERT_EQUAL_UINT64(1u << 20, summary.gallery);
    TEST_ASSERT_EQUAL_UINT64(a->writer.size, summary.bytes);
    check_matches(expected, found, matches, capacity);
    free(matches);
}

static void compare_all(struct answer_under_test *a)
{
    static const size_t capacities[] = {1, 2, 3, 8, 31, 100, PML_MATCHES_MAX};
    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
        compare(a, PML_OWN_SLOT, capacities[i]);
        compare(a, PML_ALL_SLOTS, capacities[i]);
    }
}

/* Few different sketches and few different items, so that scores tie and items repeat with better and worse ones. */
static void add_random_candidate(struct answer_under_test *a, uint32_t slot, uint32_t sketches, uint32_t items)
{
    static const uint64_t extremes[] = {0, UINT64_MAX, UINT64_MAX - 1, (uint64_t)1 << 63};
    static const int32_t labels[] = {INT32_MIN, INT32_MAX, 0, -1, -24, -25, 256};
    int8_t sketch[PML_SKETCH_MAX];
    uint32_t which = random_below(a, sketches);
    for (size_t i = 0; i < a->info.sketch; i++) {
        uint32_t noise = (which + 1) * 2654435761u + (uint32_t)i * 40503u;
        int value = which % 2 == 0 ? (int)(noise >> 24) - 128 : a->sketch[i] + (int)(noise >> 27) - 16;
        sketch[i] = (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
    }
    if (which == 2)
        memset(sketch, 0, sizeof sketch);
    if (which == 4)
        memset(sketch, -128, sizeof sketch);
    uint64_t item = random_below(a, items);
    if (random_below(a, 16) == 0)
        item = extremes[random_below(a, 4)];
    add(a, slot, item, labels[random_below(a, 7)], sketch, random_below(a, 4) * 25);
}

static void test_random_answers_rank_as_a_plain_sort_does(void)
{
    static const unsigned packs[] = {PACK_ONE, PACK_CLASS, PACK_GROUP, PACK_WIDE, PACK_TIES};
    static const struct {
        uint32_t most, sketches, items;
    } shapes[] = {{150, 1000, 1000}, {150, 6, 1000}, {150, 1000, 10}, {150, 6, 10}, {20, 3, 40}, {3, 8, 2}};
    static struct answer_under_test a;
    const uint32_t rounds = getenv("PML_TEST_QUICK") ? 1 : 6;
    for (size_t i = 0; i < sizeof packs / sizeof packs[0]; i++)
        for (size_t j = 0; j < sizeof shapes / sizeof shapes[0]; j++)
            for (uint32_t round = 0; round < rounds; round++) {
                start(&a, packs[i], (uint32_t)(1 + i * 1000 + j * 100 + round));
                for (uint32_t slot = 0; slot < a.info.slots; slot++) {
                    uint32_t count = random_below(&a, shapes[j].most + 1);
                    write_slot(&a.writer, slot, count);
                    for (uint32_t c = 0; c < count; c++)
                        add_random_candidate(&a, slot, shapes[j].sketches, shapes[j].items);
                }
                compare_all(&a);
                stop(&a);
            }
}

static void test_candidates_that_improve_or_worsen_rank_as_a_plain_sort_does(void)
{
    static struct answer_under_test a;
    for (unsigned worsen = 0; worsen < 2; worsen++) {
        start(&a, PACK_ONE, 5 + worsen);
        write_slot(&a.writer, 0, 600);
        for (int i = 0; i < 600; i++) {
            int8_t sketch[PML_SKETCH_MAX];
            for (size_t j = 0; j < a.info.sketch; j++)
                sketch[j] = (int8_t)((int)j < (worsen ? 600 - i : i) / 75 ? a.sketch[j] : -a.sketch[j]);
            add(&a, 0, (uint64_t)i % 7 == 0 ? 3 : (uint64_t)i, i, sketch, 0);
        }
        compare_all(&a);
        stop(&a);
    }
}

/* A sketch against itself, its opposite, nothing, and the most negative one. */
static void test_scores_of_special_sketches(void)
{
    static struct answer_under_test a;
    int8_t opposite[PML_SKETCH_MAX], zero[PML_SKETCH_MAX] = {0}, lowest[PML_SKETCH_MAX];
    pml_match matches[4];
    pml_answer_summary summary;
    start(&a, PACK_ONE, 77);
    memset(lowest, -128, sizeof lowest);
    for (size_t i = 0; i < a.info.sketch; i++)
        opposite[i] = (int8_t)-a.sketch[i];
    write_slot(&a.writer, 0, 4);
    add(&a, 0, 1, INT32_MIN, opposite, 0);
    add(&a, 0, 2, INT32_MAX, zero, 255);
    add(&a, 0, 3, -1, lowest, 256);
    add(&a, 0, 4, 0, a.sketch, 23);
    compare_all(&a);
    TEST_ASSERT_EQUAL(PML_OK, begin_ranking(&a.f, a.features, a.info.features, a.label, PML_OWN_SLOT, matches, 4));
    TEST_ASSERT_EQUAL(PML_OK, feed_and_finish(a.f.ranking, a.writer.bytes, a.writer.size, &summary));
    TEST_ASSERT_EQUAL_UINT64(4, matches[0].item);
    TEST_ASSERT_INT32_WITHIN(512, 1 << 30, matches[0].score); /* the inverse norms are rounded down */
    TEST_ASSERT_EQUAL_UINT64(1, matches[3].item);
    TEST_ASSERT_INT32_WITHIN(512, -(1 << 30), matches[3].score);
    TEST_ASSERT_EQUAL_INT32(INT32_MIN, matches[3].label);
    const pml_match *nothing = matches[1].item == 2 ? matches + 1 : matches + 2;
    TEST_ASSERT_EQUAL_UINT64(2, nothing->item);
    TEST_ASSERT_EQUAL_INT32(0, nothing->score);
    TEST_ASSERT_EQUAL_INT32(INT32_MAX, nothing->label);
    TEST_ASSERT_EQUAL_UINT32(255, nothing->payload_size);
    stop(&a);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_random_answers_rank_as_a_plain_sort_does);
    RUN_TEST(test_candidates_that_improve_or_worsen_rank_as_a_plain_sort_does);
    RUN_TEST(test_scores_of_special_sketches);
    return UNITY_END();
}
