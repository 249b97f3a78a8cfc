/* SPDX-License-Identifier: Apache-2.0
 * What must make no difference to the embedding, and what it must bear or refuse. */
#define _POSIX_C_SOURCE 200809L
#include "embedding_support.h"

#include <math.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- no difference ---- */

static void test_threads_change_nothing(void)
{
    struct input input = make_input(700, 16, 7);
    input.options.alpha = 0.5;
    input.options.bandwidth = 1.0;
    struct built built = build(&input);
    float released[7 * 2], places[2][ITEMS * 2];
    double placed[2][7 * 2];
    uint32_t slots[ITEMS];
    struct pml_rows rows = draw_items(&built.pack, &built.info, slots);
    draw_released(&built.info, released);
    for (unsigned threads = 1; threads <= 5; threads += 2) {
        unsigned other = threads > 1;
        struct pml_embedding *embedding = make_embedding(&built.pack, 5, threads);
        TEST_ASSERT_EQUAL(0, pml_embedding_items(embedding, &rows, slots, threads, places[other]));
        pml_embedding_place(embedding, released, placed[other]);
        pml_embedding_free(embedding);
        if (other) {
            TEST_ASSERT_EQUAL_MEMORY(places[0], places[1], sizeof places[0]);
            TEST_ASSERT_EQUAL_MEMORY(placed[0], placed[1], sizeof placed[0]);
        }
    }
    pml_rows_free(&rows);
    free(built.bytes);
    free_input(&input);
}

/* Rows of a release do not see one another, and leave nothing behind. */
static void test_slots_are_placed_alone(void)
{
    pml_pack pack = open_golden(PACK_WIDE);
    struct pml_embedding *embedding = make_embedding(&pack, 5, 1);
    const float first[6] = {100, 200, -3000, 4000, 5, 6}, second[6] = {100, 200, 30000, -4000, 5, 6};
    double a[6], b[6], again[6];
    pml_embedding_place(embedding, first, a);
    pml_embedding_place(embedding, second, b);
    pml_embedding_place(embedding, first, again);
    TEST_ASSERT_EQUAL_MEMORY(a, again, sizeof a);
    TEST_ASSERT_EQUAL_MEMORY(a, b, 2 * sizeof *a);
    TEST_ASSERT_EQUAL_MEMORY(a + 4, b + 4, 2 * sizeof *a);
    TEST_ASSERT_TRUE(a[2] != b[2] && a[3] != b[3]);
    pml_embedding_free(embedding);
}

/* ---- numbers stay numbers ---- */

static void check_extremes(const pml_pack *pack, unsigned iterations)
{
    const float steps[] = {0, 1, -1, 32767.0f * 4294967295.0f, -32768.0f * 4294967295.0f};
    struct pml_embedding *embedding = make_embedding(pack, iterations, 2);
    pml_pack_info info;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(pack, &info));
    const size_t k = info.dimensions, count = (size_t)info.slots * k;
    float *released = malloc(count * sizeof *released), places[ITEMS * PML_DIMENSIONS_MAX];
    double *placed = malloc(count * sizeof *placed);
    uint32_t slots[ITEMS];
    struct pml_rows rows = draw_items(pack, &info, slots);
    TEST_ASSERT_EQUAL(0, pml_embedding_items(embedding, &rows, slots, 2, places));
    for (size_t i = 0; i < ITEMS * k; i++)
        TEST_ASSERT_TRUE(isfinite(places[i]));
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < count; j++)
            released[j] = j % 3 ? steps[i] : -steps[i];
        pml_embedding_place(embedding, released, placed);
        for (size_t j = 0; j < count; j++)
            TEST_ASSERT_TRUE(isfinite(placed[j] * placed[j]));
    }
    pml_rows_free(&rows);
    free(placed);
    free(released);
    pml_embedding_free(embedding);
}

static void test_extreme_packs_and_releases_stay_finite(void)
{
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++) {
        pml_pack pack = open_golden(i);
        if (!has_anchors(&pack))
            continue;
        check_extremes(&pack, 0);
        check_extremes(&pack, 5);
        if (i != 9)
            check_extremes(&pack, PML_ITERATIONS_MAX);
    }
}

static void assert_refused(const pml_pack *pack, unsigned iterations, const char *part)
{
    struct pml_embedding *embedding = (struct pml_embedding *)&said;
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_embedding_make(&embedding, pack, iterations, 1, NULL, &said));
    TEST_ASSERT_NULL(embedding);
    assert_said(part);
}

/* With α = 4 rows grow at every step; with a small bandwidth as well, by up to five digits. */
static void test_what_would_leave_the_range_is_refused(void)
{
    size_t size;
    uint8_t *bytes = copy_golden(9, &size);
    pml_pack growing = open_golden(9), narrow;
    assert_refused(&growing, PML_ITERATIONS_MAX, "fewer iterations");
    memset(bytes + 72, 0xFF, 4); /* lambda (SPEC 1) */
    seal_pack(bytes, size);
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&narrow, bytes, size, NULL, NULL));
    check_extremes(&narrow, 4);
    assert_refused(&narrow, 10, "larger bandwidth");
    assert_refused(&narrow, PML_ITERATIONS_MAX, "larger bandwidth"); /* beyond doubles */
    free(bytes);
}

static void test_what_cannot_be_made_is_refused(void)
{
    pml_pack without = open_golden(PACK_RESPONSE_CODES), sound = open_golden(PACK_ONE);
    assert_refused(&without, 5, "no anchors");
    assert_refused(&sound, PML_ITERATIONS_MAX + 1, "at most 64");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_threads_change_nothing);
    RUN_TEST(test_slots_are_placed_alone);
    RUN_TEST(test_extreme_packs_and_releases_stay_finite);
    RUN_TEST(test_what_would_leave_the_range_is_refused);
    RUN_TEST(test_what_cannot_be_made_is_refused);
    return UNITY_END();
}
