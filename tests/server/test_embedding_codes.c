/* SPDX-License-Identifier: Apache-2.0
 * The server's iterations and alignment on packs whose codes follow the rows: what is near stays near, and a released row
 * lands among the items like it. */
#define _POSIX_C_SOURCE 200809L
#include "common/rows_support.h"
#include "embedding_support.h"

#include <math.h>

#define ANCHORS 500u
#define OTHERS 400u /* items */
#define QUERIES 50u
#define COLUMNS 24u
#define CLASSES 40u
#define NEAREST 8u

static struct pml_rows items, queries;

void setUp(void)
{
    /* Other rows of the anchors' classes. */
    struct pml_rows all = drawn(1, ANCHORS + OTHERS + QUERIES, COLUMNS, CLASSES);
    uint32_t indices[OTHERS];
    for (uint32_t i = 0; i < OTHERS; i++)
        indices[i] = ANCHORS + i;
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_gather(&all, indices, OTHERS, &items));
    for (uint32_t i = 0; i < QUERIES; i++)
        indices[i] = ANCHORS + OTHERS + i;
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_gather(&all, indices, QUERIES, &queries));
    pml_rows_free(&all);
}

void tearDown(void)
{
    pml_rows_free(&items);
    pml_rows_free(&queries);
}

static struct built build_pack(enum pml_codes codes, unsigned dimensions)
{
    struct input input = make_input(ANCHORS, COLUMNS, CLASSES);
    input.options.slots = PML_SLOTS_ONE;
    input.options.codes = codes;
    input.options.dimensions = dimensions;
    struct built built = build(&input);
    free_input(&input);
    return built;
}

static double squared_distance(const float *item, const double *place, unsigned k)
{
    double squares = 0.0;
    for (unsigned c = 0; c < k; c++)
        squares += (item[c] - place[c]) * (item[c] - place[c]);
    return squares;
}

/* How many items have a larger cosine with the query than item i. */
static size_t true_rank(size_t query, size_t i)
{
    size_t nearer = 0;
    const int64_t own =
        (int64_t)pml_dot(queries.values + query * COLUMNS, items.values + i * COLUMNS, COLUMNS) * items.inverse[i];
    for (size_t j = 0; j < OTHERS; j++)
        nearer +=
            (int64_t)pml_dot(queries.values + query * COLUMNS, items.values + j * COLUMNS, COLUMNS) * items.inverse[j] >
            own;
    return nearer;
}

static size_t place_rank(const float *places, const double *place, size_t i, unsigned k)
{
    const double own = squared_distance(places + i * k, place, k);
    size_t nearer = 0;
    for (size_t j = 0; j < OTHERS; j++)
        nearer += squared_distance(places + j * k, place, k) < own;
    return nearer;
}

/* The share of the queries' true neighbours among the nearest 10 % of the items, when rows are sent without noise. */
static double found(const pml_pack *pack, unsigned k, unsigned iterations)
{
    static uint32_t slots[OTHERS];
    float *places = malloc(OTHERS * k * sizeof *places), *rows = malloc(QUERIES * k * sizeof *rows);
    struct pml_embedding *device = make_embedding(pack, 0, 2), *server = make_embedding(pack, iterations, 2);
    size_t hits = 0, all = 0;
    TEST_ASSERT_TRUE(places && rows);
    TEST_ASSERT_EQUAL(PML_DONE, pml_embedding_items(server, &items, slots, 2, places));
    TEST_ASSERT_EQUAL(PML_DONE, pml_embedding_items(device, &queries, slots, 2, rows));
    for (size_t q = 0; q < QUERIES; q++) {
        double place[PML_DIMENSIONS_MAX];
        pml_embedding_place(server, rows + q * k, place);
        for (size_t i = 0; i < OTHERS; i++) {
            if (true_rank(q, i) >= NEAREST)
                continue;
            all++;
            hits += place_rank(places, place, i, k) < OTHERS / 10;
        }
    }
    pml_embedding_free(device);
    pml_embedding_free(server);
    free(places);
    free(rows);
    return (double)hits / (double)all;
}

static void test_iterations_and_alignment_keep_what_is_near(void)
{
    static const enum pml_codes kinds[] = {PML_CODES_PCA, PML_CODES_SPECTRAL};
    for (size_t i = 0; i < 2; i++) {
        struct built built = build_pack(kinds[i], 8);
        const double first = found(&built.pack, 8, 0);
        TEST_ASSERT_TRUE(first > 0.9);
        for (unsigned iterations = 1; iterations <= 8; iterations *= 2)
            TEST_ASSERT_TRUE(found(&built.pack, 8, iterations) > first - 0.1);
        free(built.bytes);
    }
}

/* Codes that say nothing hold little: otherwise the test above would prove nothing. */
static void test_random_codes_hold_little(void)
{
    struct built built = build_pack(PML_CODES_RANDOM, 2);
    TEST_ASSERT_TRUE(found(&built.pack, 2, 0) < 0.7);
    TEST_ASSERT_TRUE(found(&built.pack, 2, 5) < 0.7);
    free(built.bytes);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_iterations_and_alignment_keep_what_is_near);
    RUN_TEST(test_random_codes_hold_little);
    return UNITY_END();
}
