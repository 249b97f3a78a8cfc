/* SPDX-License-Identifier: Apache-2.0
 * What stands on the kernels, nearest prototype and neighbours, against sorting; with every kernel that this CPU runs. */
#include "golden/vectors.h"
#include "stages/stages.h"
#include "support/kernel_sets.h"
#include "support/support.h"

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- queries ---- */

/* A query of the pack's length: noise, a row of the pack, such a row with one change, or extremes. */
static void draw_query(uint64_t *state, const pml_pack *pack, int8_t *query)
{
    const pml_pack *v = pack;
    size_t sort = draw_size(state, 4);
    for (size_t i = 0; i < v->features; i++)
        query[i] = (int8_t)(sort == 0 ? 127 - 254 * draw_between(state, 0, 1) : draw_between(state, -127, 127));
    if (sort < 2)
        return;
    bool of_anchors = v->anchors > 0 && (v->cells == 0 || draw_below(state, 2) == 0);
    size_t slot = draw_size(state, v->slots);
    const int8_t *row = of_anchors ? pml_pack_anchor(pack, draw_size(state, v->anchors))
                                   : pml_pack_prototype(pack, slot, draw_size(state, v->cells));
    memcpy(query, row, v->features);
    if (sort == 3)
        query[draw_below(state, v->features)] = (int8_t)draw_between(state, -127, 127);
}

/* ---- nearest prototype ---- */

static int64_t score_of(const int8_t *query, const int8_t *row, size_t d)
{
    return plain_dot(query, row, d) * pml_inverse_norm(row, d);
}

static uint32_t best_cell(const pml_pack *pack, const int8_t *query, uint32_t slot, unsigned *ties)
{
    const pml_pack *v = pack;
    uint32_t best = 0;
    int64_t best_score = score_of(query, pml_pack_prototype(pack, slot, 0), v->features);
    for (uint32_t j = 1; j < v->prototypes; j++) {
        int64_t score = score_of(query, pml_pack_prototype(pack, slot, j), v->features);
        *ties += score == best_score;
        if (score > best_score) {
            best = j;
            best_score = score;
        }
    }
    return load_le16(pack->section[PML_SECTION_PROTOTYPE_CELLS] + 2 * ((size_t)slot * v->prototypes + best));
}

static void test_nearest_cell_is_that_of_the_first_of_the_best(void)
{
    const struct kernel_sets sets = kernel_sets_of_cpu();
    uint64_t state = 6;
    unsigned ties = 0;
    for (unsigned p = 0; p < GOLDEN_PACK_COUNT; p++) {
        pml_pack pack = open_golden(p);
        const pml_pack *v = &pack;
        int8_t query[64];
        if (v->cells == 0)
            continue;
        for (size_t i = 0; i < rounds(3000); i++) {
            draw_query(&state, &pack, query);
            uint32_t slot = (uint32_t)draw_below(&state, v->slots);
            uint32_t best = best_cell(&pack, query, slot, &ties);
            for (size_t k = 0; k < sets.count; k++) {
                uint32_t found = pml_prototypes_cell(v, sets.of[k], query, slot);
                TEST_ASSERT_EQUAL_UINT32_MESSAGE(best, found, golden_packs[p].name);
            }
        }
    }
    TEST_ASSERT_TRUE(ties > 100);
}

/* ---- neighbours ---- */

#if PML_WITH_GAUSSIAN
struct ranked {
    int64_t score;
    uint32_t index;
};

static int by_rank(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void check_neighbours(const struct kernel_sets *sets, const pml_pack *pack, const int8_t *query, unsigned *ties)
{
    const pml_pack *v = pack;
    struct ranked *all = malloc(v->anchors * sizeof *all);
    TEST_ASSERT_NOT_NULL(all);
    for (uint32_t j = 0; j < v->anchors; j++)
        all[j] = (struct ranked){score_of(query, pml_pack_anchor(pack, j), v->features), j};
    qsort(all, v->anchors, sizeof *all, by_rank);
    for (size_t k = 0; k < sets->count; k++) {
        uint64_t keys[PML_NEIGHBOURS_MAX];
        pml_neighbours_find(v, sets->of[k], query, keys);
        for (size_t j = 0; j < v->neighbours; j++) {
            TEST_ASSERT_EQUAL_UINT32(all[j].index, neighbour_index(keys[j]));
            TEST_ASSERT_EQUAL_INT64(all[j].score, neighbour_score(keys[j]));
        }
    }
    for (size_t j = 0; j + 1 < v->anchors && j < v->neighbours; j++)
        *ties += all[j].score == all[j + 1].score;
    free(all);
}

static void test_neighbours_are_the_first_of_all_anchors_sorted(void)
{
    const struct kernel_sets sets = kernel_sets_of_cpu();
    uint64_t state = 7;
    unsigned ties = 0;
    for (unsigned p = 0; p < GOLDEN_PACK_COUNT; p++) {
        pml_pack pack = open_golden(p);
        int8_t query[64];
        if (pack.anchors == 0)
            continue;
        for (size_t i = 0; i < rounds(2000); i++) {
            draw_query(&state, &pack, query);
            check_neighbours(&sets, &pack, query, &ties);
        }
    }
    TEST_ASSERT_TRUE(ties > 100);
}

/* All scores are zero, so every rank is decided by the index. */
static void test_neighbours_of_nothing_are_the_first_anchors(void)
{
    pml_pack pack = open_golden(PACK_TIES);
    const pml_pack *v = &pack;
    const int8_t zero[64] = {0};
    uint64_t keys[PML_NEIGHBOURS_MAX];
    pml_neighbours_find(v, &pml_kernels_portable, zero, keys);
    for (uint32_t j = 0; j < v->neighbours; j++)
        TEST_ASSERT_EQUAL_UINT32(j, neighbour_index(keys[j]));
}

/* A key holds a score beside an index: both at their largest. */
static void check_largest(const struct pml_kernels *kernels)
{
    static int8_t rows[3 * PML_FEATURES_MAX], query[PML_FEATURES_MAX], many[PML_ANCHORS_MAX];
    static uint8_t norms[4 * PML_ANCHORS_MAX];
    uint64_t keys[4];
    pml_pack v = {.features = PML_FEATURES_MAX, .anchors = 3, .neighbours = 3};
    memset(rows, -127, PML_FEATURES_MAX);
    memset(rows + PML_FEATURES_MAX, 127, PML_FEATURES_MAX);
    rows[2 * PML_FEATURES_MAX] = 1;
    memset(query, 127, sizeof query);
    v.section[PML_SECTION_ANCHORS] = (const uint8_t *)rows;
    v.section[PML_SECTION_ANCHOR_NORMS] = norms;
    const uint32_t ranked[] = {1, 2, 0};
    for (size_t i = 0; i < 3; i++)
        store_le32(norms + 4 * i, pml_inverse_norm(rows + i * PML_FEATURES_MAX, PML_FEATURES_MAX));
    pml_neighbours_find(&v, kernels, query, keys);
    for (size_t i = 0; i < 3; i++) {
        TEST_ASSERT_EQUAL_UINT32(ranked[i], neighbour_index(keys[i]));
        TEST_ASSERT_EQUAL_INT64(score_of(query, rows + ranked[i] * PML_FEATURES_MAX, PML_FEATURES_MAX),
                                neighbour_score(keys[i]));
    }
    v = (pml_pack){.features = 1, .anchors = PML_ANCHORS_MAX, .neighbours = 4};
    memset(many, -1, sizeof many);
    many[PML_ANCHORS_MAX - 1] = 1;
    for (size_t i = 0; i < PML_ANCHORS_MAX; i++)
        store_le32(norms + 4 * i, pml_inverse_norm(many + i, 1));
    v.section[PML_SECTION_ANCHORS] = (const uint8_t *)many;
    v.section[PML_SECTION_ANCHOR_NORMS] = norms;
    pml_neighbours_find(&v, kernels, query, keys);
    TEST_ASSERT_EQUAL_UINT32(PML_ANCHORS_MAX - 1, neighbour_index(keys[0]));
    for (uint32_t i = 1; i < 4; i++)
        TEST_ASSERT_EQUAL_UINT32(i - 1, neighbour_index(keys[i]));
}

static void test_neighbours_hold_the_largest_scores_and_indices(void)
{
    const struct kernel_sets sets = kernel_sets_of_cpu();
    for (size_t k = 0; k < sets.count; k++)
        check_largest(sets.of[k]);
}
#endif

/* ---- each row once ---- */

static const int8_t *next_row;
static size_t rows_read;

/* A kernel that only looks whether it is handed the rows in order. */
static void follow(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out)
{
    TEST_ASSERT_EQUAL_PTR(next_row, rows);
    next_row = rows + count * row_count;
    rows_read += row_count;
    pml_dots_s8_portable(query, rows, count, row_count, out);
}

static void check_reads(unsigned pack, int mechanism)
{
    struct fixture f;
    struct pml_kernels kernels = pml_kernels_portable;
    kernels.dots_s8 = follow;
    float features[64] = {1.0f};
    setup_fixture(&f, pack, mechanism, 1.0);
    f.config.kernels = &kernels;
    f.config.substitute = true; /* whatever labels the pack has */
    const pml_pack *v = &f.pack;
    const bool gaussian = mechanism == PML_GAUSSIAN;
    rows_read = 0;
    setup_client(&f);
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
    TEST_ASSERT_EQUAL_UINT64(0, rows_read);
    next_row = (const int8_t *)v->section[gaussian ? PML_SECTION_ANCHORS : PML_SECTION_PROTOTYPES];
    uint8_t out[4096];
    TEST_ASSERT_EQUAL(PML_OK, release_query(f.client, features, v->features, 0, out, sizeof out));
    TEST_ASSERT_EQUAL_UINT64(gaussian ? v->anchors : (size_t)v->slots * v->prototypes, rows_read);
    teardown_fixture(&f);
}

static void test_a_release_reads_each_row_once_and_in_order(void)
{
    for (unsigned p = 0; p < GOLDEN_PACK_COUNT; p++) {
        const pml_pack pack = open_golden(p);
        if (PML_WITH_RESPONSE && pack.cells > 0)
            check_reads(p, PML_RESPONSE);
        if (PML_WITH_GAUSSIAN && pack.anchors > 0)
            check_reads(p, PML_GAUSSIAN);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_nearest_cell_is_that_of_the_first_of_the_best);
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_neighbours_are_the_first_of_all_anchors_sorted);
    RUN_TEST(test_neighbours_of_nothing_are_the_first_anchors);
    RUN_TEST(test_neighbours_hold_the_largest_scores_and_indices);
#endif
    RUN_TEST(test_a_release_reads_each_row_once_and_in_order);
    return UNITY_END();
}
