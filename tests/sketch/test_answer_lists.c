/* SPDX-License-Identifier: Apache-2.0
 * The ranking of answers of version 2 (SPEC 3.2, 5.13) against the plainest one, whose scores come from the pack's bytes
 * alone: score everything, sort, drop repeated items, cut. */
#include "support/answer_writer.h"
#include "support/coded_packs.h"
#include "support/pack_layout.h"
#include "support/plain_ranking.h"

void setUp(void)
{
}

void tearDown(void)
{
}

enum { DIRECTIONS_MAX = 304, FEATURES_MAX = 64 };

struct answer_under_test {
    struct coded_ranking r;
    struct pack_fields fields;
    float features[FEATURES_MAX];
    int8_t row[FEATURES_MAX];
    int32_t label;
    uint32_t slot;
    int64_t coordinates[DIRECTIONS_MAX]; /* z of the query */
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

/* ---- SPEC 5.13, from the pack's bytes ---- */

static const uint8_t *section(const struct answer_under_test *a, unsigned which)
{
    return a->r.pack.bytes + section_offset(&a->fields, which);
}

static int64_t floor_shift(int64_t value, unsigned bits)
{
    const int64_t one = (int64_t)1 << bits;
    return value / one - (value % one < 0);
}

static int64_t cosine_of(const struct answer_under_test *a, size_t direction)
{
    const int8_t *d = (const int8_t *)section(a, 18) + direction * a->fields.d;
    int64_t dot = 0;
    for (size_t i = 0; i < a->fields.d; i++)
        dot += a->row[i] * d[i];
    return dot * (int64_t)load_le32(section(a, 19) + 4 * direction) * (int64_t)pml_inverse_norm(a->row, a->fields.d);
}

static int64_t value_of(const struct answer_under_test *a, size_t direction, unsigned bits, unsigned code)
{
    const int8_t *levels = (const int8_t *)section(a, 17) + 16 + ((1u << bits) - 2);
    const uint8_t *ranges = section(a, 20);
    const int16_t middle = (int16_t)load_le16(ranges + 2 * direction);
    const int64_t width = load_le16(ranges + 2 * (a->fields.P + direction));
    return middle + floor_shift(width * levels[code] + 64, 7);
}

/* The largest r with r²·N ≤ 2^60. */
static int64_t inverse_root(uint64_t squares)
{
    uint64_t r = 0;
    for (uint64_t bit = (uint64_t)1 << 30; squares > 0 && bit > 0; bit >>= 1)
        if ((r + bit) * (r + bit) <= ((uint64_t)1 << 60) / squares)
            r += bit;
    return (int64_t)r;
}

static int32_t score_of(const struct answer_under_test *a, const uint8_t *sketch)
{
    int64_t dot = 0, squares = 0;
    size_t direction = 0, bit = 0;
    for (unsigned bits = 7; bits >= 1; bits--)
        for (size_t i = 0; i < 8 * load_le16(section(a, 17) + 2 * (bits - 1)); i++, direction++) {
            unsigned code = 0;
            for (unsigned b = 0; b < bits; b++, bit++)
                code |= (unsigned)(sketch[bit / 8] >> bit % 8 & 1) << b;
            const int64_t value = value_of(a, direction, bits, code);
            dot += a->coordinates[direction] * value;
            squares += value * value;
        }
    TEST_ASSERT_EQUAL(a->fields.P, direction);
    const int64_t limit = (int64_t)1 << 30, score = floor_shift(dot * inverse_root((uint64_t)squares), 12);
    return (int32_t)(score > limit ? limit : score < -limit ? -limit : score);
}

/* ---- answers ---- */

static void start(struct answer_under_test *a, unsigned pack, uint32_t seed)
{
    memset(a, 0, sizeof *a);
    a->state = seed;
    a->r.pack = open_coded(pack);
    a->fields = read_all_fields(a->r.pack.bytes);
    TEST_ASSERT_TRUE(a->fields.P <= DIRECTIONS_MAX && a->fields.d <= FEATURES_MAX);
    make_features(&a->r.pack, seed, a->features);
    TEST_ASSERT_EQUAL(PML_OK, pml_quantise(a->features, a->fields.d, a->row));
    if (a->fields.C > 0)
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(&a->r.pack, random_below(a, a->fields.C), &a->label, &a->slot));
    for (size_t i = 0; i < a->fields.P; i++)
        a->coordinates[i] = floor_shift(cosine_of(a, i) + ((int64_t)1 << 47), 48);
    write_header(&a->writer, &a->r.pack, 1u << 20);
}

static void stop(struct answer_under_test *a)
{
    free(a->writer.bytes);
    free(a->r.memory);
}

static void compare(struct answer_under_test *a, pml_scope scope, size_t capacity)
{
    pml_match expected[PML_MATCHES_MAX];
    pml_match *matches = malloc(capacity * sizeof *matches);
    pml_answer_summary summary;
    const size_t found = rank_plainly(a->candidates, a->count, a->slot, scope, capacity, expected);
    const pml_query query = {.features = a->features, .count = a->fields.d, .label = a->label};
    const pml_ranking_config config = {.matches = matches, .capacity = capacity, .scope = scope};
    begin_coded(&a->r, &query, &config);
    TEST_ASSERT_EQUAL(PML_OK, feed_and_finish(a->r.ranking, a->writer.bytes, a->writer.size, &summary));
    TEST_ASSERT_EQUAL(found, summary.found);
    TEST_ASSERT_EQUAL_UINT64(a->count, summary.carried);
    TEST_ASSERT_EQUAL_UINT64(1u << 20, summary.gallery);
    TEST_ASSERT_EQUAL_UINT64(a->writer.size, summary.bytes);
    check_matches(expected, found, matches, capacity);
    free(matches);
}

static void compare_all(struct answer_under_test *a)
{
    static const size_t capacities[] = {1, 2, 3, 8, 31, PML_MATCHES_MAX};
    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
        compare(a, PML_OWN_SLOT, capacities[i]);
        compare(a, PML_ALL_SLOTS, capacities[i]);
    }
}

/* Any bytes are a sketch. Few different ones make scores tie. */
static void make_sketch(const struct answer_under_test *a, uint32_t which, uint8_t *out)
{
    uint32_t state = 2654435761u * (which + 1);
    for (size_t i = 0; i < a->fields.L; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = (uint8_t)(which == 0 ? 0 : which == 1 ? 0xFF : state >> 24);
    }
    if (which % 3 == 2)
        TEST_ASSERT_EQUAL(PML_OK, pml_sketch(&a->r.pack, NULL, a->row, (int8_t *)out));
    if (which % 6 == 5)
        out[state % a->fields.L] ^= (uint8_t)(state >> 16);
}

static void add_list(struct answer_under_test *a, uint32_t slot, uint32_t count, uint32_t sketches, uint32_t step)
{
    static const uint8_t filler[300];
    static const int32_t labels[] = {INT32_MIN, INT32_MAX, 0, -1, -24, -25, 256};
    struct list list = {.form = random_below(a, 4)};
    const size_t first = a->count;
    uint64_t item = random_below(a, 3);
    list.label = list.form & LIST_CLASSES ? INT32_MIN : labels[random_below(a, 7)];
    for (uint32_t i = 0; i < count; i++) {
        uint8_t sketch[PML_SKETCH_MAX];
        make_sketch(a, random_below(a, sketches), sketch);
        const int32_t label = list.form & LIST_CLASSES ? labels[random_below(a, 7)] : list.label;
        const size_t payload = list.form & LIST_PAYLOADS ? random_below(a, 4) * 47 : 0;
        if (i + 1 == count && random_below(a, 2) == 0)
            item = UINT64_MAX;
        const size_t at = add_to_list(&list, item, label, sketch, a->fields.L, filler, payload);
        TEST_ASSERT_TRUE(a->count < CANDIDATES_MAX);
        a->candidates[a->count] =
            (struct candidate){{item, at, (uint32_t)payload, score_of(a, sketch), label, slot}, a->count};
        a->count++;
        item += 1 + random_below(a, step);
    }
    const size_t begin = write_list(&a->writer, slot, &list);
    for (size_t i = first; i < a->count; i++)
        a->candidates[i].match.payload_offset += begin;
}

static void test_random_answers_rank_as_a_plain_sort_does(void)
{
    static const unsigned packs[] = {CODED_DEPTH_1, CODED_DEPTH_7,   7, 8, 9, 10, CODED_CLASS,
                                     CODED_GROUP,   CODED_FOUR_SLOTS};
    static const struct {
        uint32_t most, sketches, step;
    } shapes[] = {{150, 1000, 1}, {150, 6, 1}, {150, 1000, 200}, {20, 3, 4000000}, {3, 8, 2}};
    static struct answer_under_test a;
    const uint32_t rounds = getenv("PML_TEST_QUICK") ? 1 : 4;
    for (size_t i = 0; i < sizeof packs / sizeof packs[0]; i++)
        for (size_t j = 0; j < sizeof shapes / sizeof shapes[0]; j++)
            for (uint32_t round = 0; round < rounds; round++) {
                start(&a, packs[i], (uint32_t)(1 + i * 1000 + j * 100 + round));
                for (uint32_t slot = 0; slot < a.fields.G; slot++)
                    add_list(&a, slot, random_below(&a, shapes[j].most + 1), shapes[j].sketches, shapes[j].step);
                compare_all(&a);
                stop(&a);
            }
}

/* Long sketches come in pieces too: the longest there are, and ranked as they should be. */
static void test_longest_sketches_rank_as_a_plain_sort_does(void)
{
    static struct answer_under_test a;
    start(&a, CODED_LONGEST, 5);
    TEST_ASSERT_EQUAL(PML_SKETCH_MAX, a.fields.L);
    add_list(&a, 0, 60, 20, 3);
    compare_all(&a);
    stop(&a);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_random_answers_rank_as_a_plain_sort_does);
    RUN_TEST(test_longest_sketches_rank_as_a_plain_sort_does);
    return UNITY_END();
}
