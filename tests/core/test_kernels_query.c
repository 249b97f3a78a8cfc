/* SPDX-License-Identifier: Apache-2.0
 * Ranking, quantising and hashing of every kernel set that this CPU runs against plain C, bit for bit: all lengths, all
 * kinds of floats, memory that ends where the data ends. Dot products: test_kernels.c. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/sha256.h"
#include "stages/stages.h"
#include "support/fenced.h"
#include "support/kernel_sets.h"

static struct kernel_sets sets;
static struct fenced fence, other;

void setUp(void)
{
    sets = kernel_sets_of_cpu();
}

void tearDown(void)
{
}

/* ---- nearest ---- */

#if PML_WITH_GAUSSIAN
enum { ROWS_MOST = 200 };

static int descending(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a > b ? -1 : a < b;
}

/* What SPEC 5.3 says: all keys, sorted. */
static void plain_nearest(const pml_pack *pack, const int8_t *query, uint64_t *list)
{
    uint64_t keys[ROWS_MOST + PML_NEIGHBOURS_MAX] = {0};
    for (uint32_t i = 0; i < pack->anchors; i++) {
        const int8_t *row = (const int8_t *)pack->section[PML_SECTION_ANCHORS] + i * pack->features;
        const int64_t score =
            plain_dot(query, row, pack->features) * pack_u32(pack->section[PML_SECTION_ANCHOR_NORMS], i);
        keys[i] = ((uint64_t)score + ((uint64_t)1 << 43)) * 0x100000 + 0xFFFFF - i;
    }
    qsort(keys, sizeof keys / sizeof *keys, sizeof *keys, descending);
    memcpy(list, keys, pack->neighbours * sizeof *list);
}

/* Rows, norms and the list end before pages that cannot be touched. Few different values: many rows tie. */
static void check_nearest(uint64_t *state, uint32_t features, uint32_t rows, uint16_t length, uint32_t values)
{
    int8_t query[64], *matrix = fence.end - rows * features;
    uint8_t *norms = (uint8_t *)other.end - 4 * rows;
    uint64_t expected[PML_NEIGHBOURS_MAX], list[PML_NEIGHBOURS_MAX + 1];
    for (size_t i = 0; i < features; i++)
        query[i] = (int8_t)draw_between(state, -127, 127);
    for (size_t i = 0; i < (size_t)rows * features; i++)
        matrix[i] = (int8_t)(draw_below(state, values) * 254 / (values - 1)) - 127;
    for (size_t i = 0; i < rows; i++)
        store_le32(norms + 4 * i, draw_below(state, 4) == 0 ? 1u << 30 : 1 + (uint32_t)draw_below(state, values));
    pml_pack pack = {.features = features, .anchors = rows, .neighbours = length};
    pack.section[PML_SECTION_ANCHORS] = (const uint8_t *)matrix;
    pack.section[PML_SECTION_ANCHOR_NORMS] = norms;
    plain_nearest(&pack, query, expected);
    for (size_t k = 0; k < sets.count; k++) {
        memset(list, 0x5A, sizeof list);
        pml_neighbours_find(&pack, sets.of[k], query, list);
        TEST_ASSERT_EQUAL_HEX64_ARRAY_MESSAGE(expected, list, length, sets.of[k]->name);
        TEST_ASSERT_EQUAL_HEX64_MESSAGE(0x5A5A5A5A5A5A5A5A, list[length], sets.of[k]->name);
    }
}

static void test_nearest_are_those_of_the_definition_for_any_number_of_rows(void)
{
    uint64_t state = 5;
    for (uint32_t rows = 1; rows <= ROWS_MOST; rows++)
        for (size_t round = 0; round < rounds(20); round++)
            check_nearest(&state, 1 + (uint32_t)draw_below(&state, 64), rows,
                          (uint16_t)(1 + draw_below(&state, PML_NEIGHBOURS_MAX)), round % 2 == 0 ? 255 : 2);
}

static void test_lists_of_every_length_hold_the_nearest(void)
{
    uint64_t state = 6;
    for (uint16_t length = 1; length <= PML_NEIGHBOURS_MAX; length++)
        for (size_t round = 0; round < rounds(20); round++)
            check_nearest(&state, 32, length + (uint32_t)draw_below(&state, ROWS_MOST - length), length,
                          round % 2 == 0 ? 255 : 3);
}

/* The last number that a key has room for. */
static void test_keys_hold_the_largest_numbers_of_rows(void)
{
#if PML_KERNELS_WIDE
    enum { MANY = 1 << 20 };
    int8_t *rows = malloc(MANY), query = 1;
    uint8_t *norms = calloc(MANY, 4);
    TEST_ASSERT_TRUE(rows && norms);
    for (size_t k = 0; k < sets.count; k++) {
        uint64_t list[3];
        memset(rows, 1, MANY);
        rows[MANY - 1] = 2;
        for (size_t i = 0; i < MANY; i++)
            norms[4 * i] = 1;
        if (!sets.of[k]->nearest)
            continue;
        sets.of[k]->nearest(&query, rows, norms, 1, MANY, list, 3);
        TEST_ASSERT_EQUAL_UINT32(MANY - 1, neighbour_index(list[0]));
        TEST_ASSERT_EQUAL_UINT32(0, neighbour_index(list[1]));
        TEST_ASSERT_EQUAL_UINT32(1, neighbour_index(list[2]));
        TEST_ASSERT_EQUAL_INT64(2, neighbour_score(list[0]));
    }
    free(rows);
    free(norms);
#endif
}
#endif

/* ---- quantise ---- */

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum floats { ALIKE, ANY_FINITE, SUBNORMAL, NOT_FINITE, ZEROS, FLOATS };

static void fill_floats(uint64_t *state, enum floats kind, float *out, size_t count)
{
    const uint32_t top = 1 + (uint32_t)draw_below(state, 254);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)draw64(state) & 0x807FFFFF;
        if (kind == ALIKE) /* within the 2^9 that show, some mantissas full or empty */
            bits |= (top > 12 ? top - (uint32_t)draw_below(state, 12) : top) << 23;
        else if (kind != SUBNORMAL)
            bits |= (uint32_t)draw_below(state, kind == NOT_FINITE ? 256 : 255) << 23;
        if (draw_below(state, 8) == 0)
            bits = draw_below(state, 2) == 0 ? bits | 0x7FFFFF : bits & 0xFF800000;
        out[i] = float_of(kind == ZEROS ? bits & 0x80000000 : bits);
    }
}

/* Whole and in two pieces, with and without roots, before pages that cannot be touched. */
static void check_quantise(uint64_t *state, enum floats kind, size_t count)
{
    float *features = (float *)(void *)other.end - count;
    int8_t expected[PML_FEATURES_MAX], *out = fence.end - count;
    fill_floats(state, kind, features, count);
    const size_t cut = draw_size(state, count + 1);
    struct scale scale;
    const uint32_t top = pml_quantise_top_portable(features, count, 0);
    const uint64_t valid = pml_quantise_scale(top, &scale);
    for (int root = 0; root < (PML_WITH_FRONT ? 2 : 1); root++) { /* only fronts take roots */
        pml_quantise_values_portable(&scale, valid, root, features, count, expected);
        for (size_t k = 0; k < sets.count; k++) {
            const struct pml_kernels *set = sets.of[k];
            const uint32_t first = PML_KERNEL(set, quantise_top)(features, cut, 0);
            TEST_ASSERT_EQUAL_HEX32_MESSAGE(top, PML_KERNEL(set, quantise_top)(features + cut, count - cut, first),
                                            set->name);
            memset(out, 0x5A, count);
            PML_KERNEL(set, quantise_values)(&scale, valid, root, features, cut, out);
            PML_KERNEL(set, quantise_values)(&scale, valid, root, features + cut, count - cut, out + cut);
            TEST_ASSERT_EQUAL_INT8_ARRAY_MESSAGE(expected, out, count, set->name);
        }
    }
}

static void test_quantised_values_are_those_of_plain_code(void)
{
    uint64_t state = 7;
    for (size_t round = 0; round < rounds(30); round++)
        for (size_t count = 1; count <= 70; count++)
            for (int kind = ALIKE; kind < FLOATS; kind++)
                check_quantise(&state, (enum floats)kind, count);
    for (size_t round = 0; round < rounds(200); round++)
        for (int kind = ALIKE; kind < FLOATS; kind++)
            check_quantise(&state, (enum floats)kind, 1 + draw_size(&state, PML_FEATURES_MAX));
}

/* Where ⌊127·x + ½⌋ steps up, and one bit to either side: a rounding that is nearly right differs here. */
static void test_quantised_values_step_where_plain_code_steps(void)
{
    float *features = (float *)(void *)other.end - 1 - 3 * 127;
    int8_t expected[1 + 3 * 127], out[1 + 3 * 127];
    uint64_t state = 8;
    for (size_t round = 0; round < rounds(2000); round++) {
        const float largest = float_of(0x3F800000 | ((uint32_t)draw64(&state) & 0x7FFFFF));
        features[0] = largest;
        for (int step = 0; step < 127; step++)
            for (int near = -1; near <= 1; near++) {
                const float at = (float)(((double)step + 0.5) / 127.0 * (double)largest);
                uint32_t bits;
                memcpy(&bits, &at, sizeof bits);
                features[1 + 3 * step + near + 1] = float_of(bits + (uint32_t)near);
            }
        pml_quantise_row(features, sizeof expected, expected, &pml_kernels_portable);
        for (size_t k = 0; k < sets.count; k++) {
            pml_quantise_row(features, sizeof out, out, sets.of[k]);
            TEST_ASSERT_EQUAL_INT8_ARRAY_MESSAGE(expected, out, sizeof out, sets.of[k]->name);
        }
    }
}

/* ---- SHA-256 ---- */

static void test_hashes_are_those_of_plain_code(void)
{
    uint64_t state = 9;
    for (size_t size = 0; size <= 1000; size++) {
        uint8_t *bytes = (uint8_t *)fence.end - size, expected[32], digest[32];
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)draw64(&state);
        pml_sha256(bytes, size, expected);
        for (size_t k = 0; k < sets.count; k++) {
            pml_sha256_by(bytes, size, digest, PML_KERNEL(sets.of[k], sha256_blocks));
            TEST_ASSERT_EQUAL_HEX8_ARRAY_MESSAGE(expected, digest, sizeof digest, sets.of[k]->name);
        }
    }
}

/* FIPS 180-4's example. */
static void test_hash_of_abc(void)
{
    static const uint8_t expected[32] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
                                         0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
                                         0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
    uint8_t digest[32];
    for (size_t k = 0; k < sets.count; k++) {
        pml_sha256_by((const uint8_t *)"abc", 3, digest, PML_KERNEL(sets.of[k], sha256_blocks));
        TEST_ASSERT_EQUAL_HEX8_ARRAY_MESSAGE(expected, digest, sizeof digest, sets.of[k]->name);
    }
}

int main(void)
{
    fence = fenced((size_t)200 * PML_FEATURES_MAX);
    other = fenced(sizeof(float) * PML_FEATURES_MAX);
    UNITY_BEGIN();
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_nearest_are_those_of_the_definition_for_any_number_of_rows);
    RUN_TEST(test_lists_of_every_length_hold_the_nearest);
    RUN_TEST(test_keys_hold_the_largest_numbers_of_rows);
#endif
    RUN_TEST(test_quantised_values_are_those_of_plain_code);
    RUN_TEST(test_quantised_values_step_where_plain_code_steps);
    RUN_TEST(test_hashes_are_those_of_plain_code);
    RUN_TEST(test_hash_of_abc);
    take_down(&fence);
    take_down(&other);
    return UNITY_END();
}
