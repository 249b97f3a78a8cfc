/* SPDX-License-Identifier: Apache-2.0
 * Properties of single stages: slots, weights, and what the two mechanisms write. */
#include "base/exact.h"
#include "golden/vectors.h"
#include "privacy/draws.h"
#include "stages/stages.h"
#include "support/support.h"

#include <math.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- slots ---- */

static bool has_label(const pml_pack *pack, int32_t label)
{
    int32_t found;
    uint32_t slot;
    for (size_t i = 0; pml_pack_class(pack, i, &found, &slot) == PML_OK; i++)
        if (found == label)
            return true;
    return false;
}

static void check_unknown_label(const pml_pack *pack, int32_t label)
{
    uint64_t known;
    uint32_t slot = 7;
    if (has_label(pack, label))
        return;
    TEST_ASSERT_EQUAL_UINT32(0, pml_slots_find(pack, label, &known));
    TEST_ASSERT_EQUAL_HEX64(0, known);
    TEST_ASSERT_EQUAL(PML_ERROR_LABEL, pml_pack_slot(pack, label, &slot));
    TEST_ASSERT_EQUAL_UINT32(0, slot);
}

static void check_labels_of(const pml_pack *pack)
{
    const int32_t edges[] = {0, 1, -1, INT32_MAX, INT32_MIN, 65536, -65536};
    for (size_t i = 0; i < pack->classes; i++) {
        int32_t label;
        uint32_t right, slot;
        uint64_t known;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(pack, i, &label, &right));
        TEST_ASSERT_EQUAL_UINT32(right, pml_slots_find(pack, label, &known));
        TEST_ASSERT_EQUAL_HEX64(~(uint64_t)0, known);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_slot(pack, label, &slot));
        TEST_ASSERT_EQUAL_UINT32(right, slot);
        check_unknown_label(pack, (int32_t)((uint32_t)label + 1));
        check_unknown_label(pack, (int32_t)((uint32_t)label - 1));
        check_unknown_label(pack, (int32_t)((uint32_t)label ^ 0x80000000u));
    }
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        check_unknown_label(pack, edges[i]);
}

static void test_every_label_has_its_slot_and_others_have_none(void)
{
    for (unsigned p = 0; p < GOLDEN_PACK_COUNT; p++) {
        pml_pack pack = open_golden(p);
        if (pack.slot_kind != PML_SLOTS_ONE)
            check_labels_of(&pack);
    }
}

static void test_with_one_slot_every_label_is_known(void)
{
    const int32_t labels[] = {0, 1, -1, INT32_MAX, INT32_MIN};
    pml_pack pack = open_golden(PACK_ONE), closed = {0};
    uint32_t slot = 7;
    for (size_t i = 0; i < 5; i++) {
        uint64_t known;
        TEST_ASSERT_EQUAL_UINT32(0, pml_slots_find(&pack, labels[i], &known));
        TEST_ASSERT_EQUAL_HEX64(~(uint64_t)0, known);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_slot(&pack, labels[i], &slot));
        TEST_ASSERT_EQUAL_UINT32(0, slot);
    }
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_slot(NULL, 0, &slot));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_slot(&pack, 0, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_slot(&closed, 0, &slot));
}

/* ---- response: symbols ---- */

#if PML_WITH_RESPONSE
static uint32_t bits_at(const uint8_t *bytes, size_t first, unsigned count)
{
    uint32_t value = 0;
    for (unsigned b = 0; b < count; b++)
        value |= (uint32_t)(bytes[(first + b) / 8] >> (first + b) % 8 & 1) << b;
    return value;
}

static void check_symbols(uint32_t m, uint32_t G, uint32_t slot, uint32_t nearest, uint32_t shift)
{
    uint8_t body[32];
    uint16_t others[8] = {0};
    unsigned width = (unsigned)ceil(log2((double)m));
    size_t size = (G * width + 7) / 8;
    for (uint32_t c = 0; c < G; c++)
        others[c] = (uint16_t)((m - 1 + 5 * c) % m);
    memset(body, 0xEE, sizeof body);
    pml_response_emit(others, m, G, slot, nearest, shift, body);
    for (uint32_t c = 0; c < G; c++)
        TEST_ASSERT_EQUAL_UINT32(c == slot ? (nearest + shift) % m : others[c], bits_at(body, c * width, width));
    TEST_ASSERT_EQUAL_HEX32(0, bits_at(body, G * width, (unsigned)(8 * size - G * width)));
    TEST_ASSERT_EQUAL_HEX8(0xEE, body[size]);
}

static void test_the_own_slot_gets_the_moved_symbol_and_no_other(void)
{
    for (uint32_t m = 2; m <= 9; m++)
        for (uint32_t G = 1; G <= 5; G++)
            for (uint32_t slot = 0; slot < G; slot++)
                for (uint32_t nearest = 0; nearest < m; nearest++)
                    for (uint32_t shift = 0; shift < m; shift++)
                        check_symbols(m, G, slot, nearest, shift);
    const uint32_t wide_counts[] = {255, 256, 257, 65535, 65536};
    for (size_t i = 0; i < 5; i++) {
        uint32_t m = wide_counts[i], places[] = {0, 1, m / 2, m - 2, m - 1};
        for (size_t j = 0; j < 25; j++)
            check_symbols(m, 5, (uint32_t)j % 5, places[j / 5], places[j % 5]);
    }
}
#endif

/* ---- weights ---- */

#if PML_WITH_GAUSSIAN
static const uint32_t bandwidths[] = {1, 2, 1000, 1820, 29127, 65536, 131072, 400000, 1048576, 0x10000000, 0xFFFFFFFF};
#define BANDWIDTH_COUNT (sizeof bandwidths / sizeof bandwidths[0])

#define CLOSE 0.001L /* what the exponential of integers and its argument may be off, in 2^-16 */

static long double exact_weight(long double exponent)
{
    return 65536 * expl(-exponent);
}

static void test_floor_weight_is_the_least_of_the_kernel(void)
{
    uint64_t state = 1;
    for (size_t i = 0; i < rounds(200000); i++) {
        uint32_t lambda = i < BANDWIDTH_COUNT ? bandwidths[i] : 1 + (uint32_t)draw_below(&state, 500000);
        long double exact = exact_weight(2.0L * lambda / 65536);
        long double floor = pml_weights_floor(lambda);
        TEST_ASSERT_TRUE(floor >= 1 && (floor == 1 || floor <= exact + CLOSE) && floor > exact - 1 - CLOSE);
    }
}

static void test_label_weight_rounds_the_kernel(void)
{
    for (size_t i = 0; i < BANDWIDTH_COUNT; i++) {
        TEST_ASSERT_EQUAL_UINT32(65536, pml_weights_label(0, bandwidths[i]));
        for (uint32_t distance = 1; distance < PML_SLOTS_MAX; distance++) {
            long double square = (long double)distance * distance;
            long double exact = exact_weight(bandwidths[i] / 65536.0L * square / 2);
            TEST_ASSERT_TRUE(fabsl(pml_weights_label(distance, bandwidths[i]) - exact) <= 0.5L + CLOSE);
        }
    }
}

/* Every score from least to largest cosine: never less than the one before, within a half of the kernel, clamped. */
static void check_weights(uint32_t lambda, uint32_t inverse)
{
    const uint32_t floor = pml_weights_floor(lambda);
    const int64_t one = (int64_t)1 << 60, largest = one / inverse, step = largest / 3000 + 1;
    uint32_t before = floor;
    for (int64_t score = -largest; score <= largest; score += step) {
        uint32_t weight = pml_weights_of(score, inverse, lambda, floor);
        long double cosine = (long double)score * inverse / (long double)one;
        long double exact = exact_weight(lambda / 65536.0L * (1 - cosine));
        TEST_ASSERT_TRUE(weight >= before && weight <= 65536);
        TEST_ASSERT_TRUE(weight == floor || fabsl(weight - exact) <= 0.5L + CLOSE);
        TEST_ASSERT_TRUE(weight != floor || exact < floor + 0.5L + CLOSE);
        before = weight;
    }
    TEST_ASSERT_EQUAL_UINT32(65536, one % inverse == 0 ? pml_weights_of(largest, inverse, lambda, floor) : 65536);
}

static void test_weights_grow_with_the_score_and_stay_in_their_range(void)
{
    const uint32_t inverses[] = {1u << 30, 1u << 24, 8454660, 1u << 17, 132104};
    for (size_t i = 0; i < BANDWIDTH_COUNT; i++)
        for (size_t j = 0; j < sizeof inverses / sizeof inverses[0]; j++)
            check_weights(bandwidths[i], inverses[j]);
}

/* Scores no sound row can have: the sensitivity rests on the clamp alone. */
static void test_weights_of_impossible_scores_stay_in_their_range(void)
{
    uint64_t state = 2;
    for (size_t i = 0; i < rounds(200000); i++) {
        uint32_t lambda = bandwidths[i % BANDWIDTH_COUNT], floor = pml_weights_floor(lambda);
        uint32_t inverse = 1 + (uint32_t)draw_below(&state, 0xFFFFFFFF);
        int64_t limit = INT64_MAX / inverse;
        int64_t score = i % 3 == 0 ? limit : i % 3 == 1 ? -limit : draw_between(&state, -limit / 2, limit / 2);
        uint32_t weight = pml_weights_of(score, inverse, lambda, floor);
        TEST_ASSERT_TRUE(weight >= floor && weight <= 65536);
    }
}

/* ---- gaussian: values ---- */

struct emission {
    int32_t noise[24], row[PML_DIMENSIONS_MAX];
    int64_t centres[24];
    uint32_t slot, G, k, coarsen;
};

static int64_t value_at(const uint8_t *body, size_t index, unsigned value_bytes)
{
    if (value_bytes == 1)
        return (int8_t)body[index];
    return (int16_t)((uint16_t)body[2 * index] << 8 | body[2 * index + 1]);
}

static void check_emission(const struct emission *e)
{
    for (unsigned value_bytes = 1; value_bytes <= 2; value_bytes++) {
        const int64_t limit = value_bytes == 1 ? 127 : 32767;
        uint8_t body[64];
        memset(body, 0xEE, sizeof body);
        pml_gaussian_emit(e->noise, e->centres, e->row, e->slot, e->G, e->k, e->coarsen, value_bytes, body);
        for (size_t at = 0; at < (size_t)e->G * e->k; at++) {
            int64_t place = at / e->k == e->slot ? e->row[at % e->k] : e->centres[at];
            int64_t right = divide_round(place + e->noise[at], (int64_t)1 << e->coarsen);
            right = right > limit ? limit : right < -limit ? -limit : right;
            TEST_ASSERT_EQUAL_INT64(right, value_at(body, at, value_bytes));
        }
        TEST_ASSERT_EQUAL_HEX8(0xEE, body[(size_t)e->G * e->k * value_bytes]);
    }
}

static void test_values_are_the_rounded_sums(void)
{
    uint64_t state = 3;
    for (size_t i = 0; i < rounds(100000); i++) {
        struct emission e = {.G = 1 + (uint32_t)draw_below(&state, 6), .k = 1 + (uint32_t)draw_below(&state, 4)};
        e.slot = (uint32_t)draw_below(&state, e.G);
        e.coarsen = (uint32_t)draw_below(&state, 27);
        const int64_t reach = (int64_t)1 << draw_below(&state, 28), place = (int64_t)1 << draw_below(&state, 21);
        for (size_t j = 0; j < 24; j++) {
            e.noise[j] = (int32_t)draw_between(&state, -reach, reach);
            e.centres[j] = draw_between(&state, -place, place);
            e.row[j % PML_DIMENSIONS_MAX] = (int32_t)draw_between(&state, -place, place);
        }
        check_emission(&e);
    }
}

/* Clamping the noise before it is added would tell the row: the sum is clamped, and only the sum. */
static void test_the_sum_is_clamped_and_not_the_noise(void)
{
    struct emission e = {.slot = 0, .G = 2, .k = 1};
    uint8_t body[4];
    e.row[0] = -(1 << 20) + 5;
    e.noise[0] = 1 << 20;
    e.centres[1] = (1 << 20) - 100;
    e.noise[1] = -(1 << 20);
    check_emission(&e);
    pml_gaussian_emit(e.noise, e.centres, e.row, 0, 2, 1, 0, 1, body);
    TEST_ASSERT_EQUAL_INT64(5, value_at(body, 0, 1));
    TEST_ASSERT_EQUAL_INT64(-100, value_at(body, 1, 1));
    e.noise[0] = 32 << 22; /* the largest deviate there is */
    e.noise[1] = -(32 << 22);
    pml_gaussian_emit(e.noise, e.centres, e.row, 0, 2, 1, 0, 2, body);
    TEST_ASSERT_EQUAL_INT64(32767, value_at(body, 0, 2));
    TEST_ASSERT_EQUAL_INT64(-32767, value_at(body, 1, 2));
    pml_gaussian_emit(e.noise, e.centres, e.row, 0, 2, 1, 0, 1, body);
    TEST_ASSERT_EQUAL_INT64(127, value_at(body, 0, 1));
    TEST_ASSERT_EQUAL_INT64(-127, value_at(body, 1, 1));
}

static void test_halves_round_up_also_below_zero(void)
{
    const int64_t rounded[] = {-2, -1, -1, 0, 0, 1, 1, 2, 2}; /* ⌊v/2 + ½⌋ of −4 … 4 */
    for (int32_t v = -4; v <= 4; v++) {
        uint8_t body[2];
        const int64_t centre = 0;
        pml_gaussian_emit(&v, &centre, (const int32_t[]){0}, 0, 1, 1, 1, 1, body);
        TEST_ASSERT_EQUAL_INT64(rounded[v + 4], value_at(body, 0, 1));
    }
}
#endif

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_label_has_its_slot_and_others_have_none);
    RUN_TEST(test_with_one_slot_every_label_is_known);
#if PML_WITH_RESPONSE
    RUN_TEST(test_the_own_slot_gets_the_moved_symbol_and_no_other);
#endif
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_floor_weight_is_the_least_of_the_kernel);
    RUN_TEST(test_label_weight_rounds_the_kernel);
    RUN_TEST(test_weights_grow_with_the_score_and_stay_in_their_range);
    RUN_TEST(test_weights_of_impossible_scores_stay_in_their_range);
    RUN_TEST(test_values_are_the_rounded_sums);
    RUN_TEST(test_the_sum_is_clamped_and_not_the_noise);
    RUN_TEST(test_halves_round_up_also_below_zero);
#endif
    return UNITY_END();
}
