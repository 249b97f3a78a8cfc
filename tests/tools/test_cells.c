/* SPDX-License-Identifier: Apache-2.0
 * Cells: clusters joined as the plain definition says, and joined only where that serves. */
#define _POSIX_C_SOURCE 200809L
#include "builder_support.h"
#include "common/rows/knn.h"
#include "common/rows_support.h"
#include "stages/stages.h"
#include "tools/pack/cells.h"
#include "tools/pack/cells_choice.h"
#include "tools/pack/cells_join.h"

#include <math.h>

enum { CLUSTERS_MAX = 64 };

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- joining ---- */

struct groups {
    size_t count, cells, rows;
    uint64_t links[CLUSTERS_MAX][CLUSTERS_MAX], weights[CLUSTERS_MAX];
    uint32_t of[CLUSTERS_MAX]; /* the first cluster of the group that each cluster is in */
};

static bool precedes(const struct groups *g, size_t a, size_t b, size_t c, size_t d)
{
    uint64_t left = g->weights[a] < g->weights[b] ? g->weights[a] : g->weights[b];
    uint64_t right = g->weights[c] < g->weights[d] ? g->weights[c] : g->weights[d];
    uint64_t first = g->links[a][b] * right, second = g->links[c][d] * left;
    if (g->links[a][b] == 0 || g->links[c][d] == 0)
        first = g->links[a][b], second = g->links[c][d];
    if (first != second)
        return first > second;
    return g->weights[a] + g->weights[b] < g->weights[c] + g->weights[d];
}

/* All pairs, every time. */
static void join_plainly(struct groups *g)
{
    uint64_t limit = 115 * g->rows;
    for (size_t left = g->count; left > g->cells;) {
        size_t first = g->count, second = 0;
        for (size_t a = 0; a < g->count; a++)
            for (size_t b = a + 1; b < g->count; b++)
                if (g->of[a] == a && g->of[b] == b && (g->weights[a] + g->weights[b]) * 100 * g->cells <= limit &&
                    (first == g->count || precedes(g, a, b, first, second)))
                    first = a, second = b;
        if (first == g->count) {
            limit += limit / 20;
            continue;
        }
        for (size_t c = 0; c < g->count; c++) {
            g->of[c] = g->of[c] == second ? (uint32_t)first : g->of[c];
            g->links[first][c] += g->links[second][c];
            g->links[c][first] = g->links[first][c];
        }
        g->weights[first] += g->weights[second];
        left--;
    }
}

/* Neighbours are those beside a row on a ring, so clusters of runs of rows are linked to the next. */
static void check_join(uint64_t seed, size_t rows, size_t count, size_t cells, unsigned neighbours)
{
    static struct groups g;
    memset(&g, 0, sizeof g);
    g.count = count, g.cells = cells, g.rows = rows;
    uint32_t *clusters = malloc(rows * sizeof *clusters), *lists = malloc(rows * 8 * sizeof *lists);
    TEST_ASSERT_TRUE(clusters && lists);
    for (size_t i = 0; i < rows; i++)
        clusters[i] = seed % 2 == 0 ? (uint32_t)draw_between(&seed, 0, (int)count - 1)
                                    : (uint32_t)(i * count / rows) ^ (uint32_t)(draw_between(&seed, 0, 3) == 0);
    for (size_t i = 0; i < rows; i++)
        clusters[i] = clusters[i] < count ? clusters[i] : 0;
    for (uint32_t c = 0; c < count; c++)
        g.of[c] = c;
    for (size_t i = 0; i < rows; i++) {
        g.weights[clusters[i]]++;
        for (unsigned k = 0; k < 8; k++) {
            lists[8 * i + k] = (uint32_t)((i + 1 + (size_t)draw_between(&seed, 0, 6)) % rows);
            uint32_t a = clusters[i], b = clusters[lists[8 * i + k]];
            if (k < neighbours && a != b)
                g.links[a][b]++, g.links[b][a]++;
        }
    }
    uint32_t joined[CLUSTERS_MAX], numbers[CLUSTERS_MAX], next = 0;
    const struct pml_cluster_graph graph = {clusters, lists, rows, count, neighbours, 8};
    TEST_ASSERT_EQUAL(PML_DONE, pml_cells_join(&graph, cells, joined));
    join_plainly(&g);
    for (uint32_t c = 0; c < count; c++) {
        if (g.of[c] == c)
            numbers[c] = next++;
        TEST_ASSERT_EQUAL_UINT32(numbers[g.of[c]], joined[c]);
    }
    TEST_ASSERT_EQUAL_UINT32(cells, next);
    free(clusters);
    free(lists);
}

static void test_clusters_are_joined_as_the_definition_says(void)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        check_join(seed, 300, 40, 10, 8);
        check_join(seed, 100, 64, 3, 2);
        check_join(seed, 30, 50, 7, 1);  /* many clusters without a row */
        check_join(seed, 90, 24, 12, 0); /* none is linked */
    }
}

/* ---- cells of a slot ---- */

static struct pml_cells build_cells(const struct pml_rows *rows, const struct pml_cell_plan *plan)
{
    struct pml_cells cells = {.prototypes = malloc(plan->prototypes * rows->columns),
                              .of_prototypes = malloc(plan->prototypes * sizeof(uint32_t)),
                              .of_rows = malloc(rows->count * sizeof(uint32_t))};
    TEST_ASSERT_TRUE(cells.prototypes && cells.of_prototypes && cells.of_rows);
    TEST_ASSERT_EQUAL(PML_DONE, pml_cells_build(rows, plan, &cells));
    return cells;
}

static void free_cells(struct pml_cells *cells)
{
    free(cells->prototypes);
    free(cells->of_prototypes);
    free(cells->of_rows);
}

/* SPEC 5.4, by hand. */
static uint32_t cell_of(const struct pml_rows *rows, size_t row, const struct pml_cells *cells, size_t prototypes)
{
    int64_t best = INT64_MIN;
    uint32_t cell = 0;
    for (size_t p = 0; p < prototypes; p++) {
        const int8_t *prototype = cells->prototypes + p * rows->columns;
        int64_t score = (int64_t)pml_dot(rows->values + row * rows->columns, prototype, rows->columns) *
                        pml_inverse_norm(prototype, rows->columns);
        if (score > best) {
            best = score;
            cell = cells->of_prototypes[p];
        }
    }
    return cell;
}

static void test_rows_are_in_the_cell_of_their_nearest_prototype(void)
{
    static const size_t counts[][3] = {{400, 8, 32}, {400, 8, 8}, {50, 4, 60}, {3, 2, 8}, {5, 8, 8}, {5, 8, 32}};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        struct pml_rows rows = drawn(c, counts[c][0], 12, 20);
        const struct pml_cell_plan plan = {.cells = counts[c][1], .prototypes = counts[c][2], .seed = 5, .threads = 1};
        struct pml_cells cells = build_cells(&rows, &plan);
        TEST_ASSERT_EQUAL_UINT64(counts[c][0] < counts[c][2] ? counts[c][0] : counts[c][2], cells.distinct);
        for (size_t p = 0; p < plan.prototypes; p++) {
            TEST_ASSERT_TRUE(cells.of_prototypes[p] < plan.cells);
            if (plan.prototypes == plan.cells)
                TEST_ASSERT_EQUAL_UINT32(p, cells.of_prototypes[p]);
            else if (p >= cells.distinct && p >= plan.cells)
                TEST_ASSERT_EQUAL_UINT32(cells.of_prototypes[p % cells.distinct], cells.of_prototypes[p]);
        }
        for (size_t i = 0; i < rows.count; i++)
            TEST_ASSERT_EQUAL_UINT32(cell_of(&rows, i, &cells, plan.prototypes), cells.of_rows[i]);
        free_cells(&cells);
        pml_rows_free(&rows);
    }
}

static void test_known_lists_and_threads_change_nothing(void)
{
    struct pml_rows rows = drawn(3, 500, 16, 30);
    uint32_t *lists = malloc(500 * 11 * sizeof *lists);
    TEST_ASSERT_NOT_NULL(lists);
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&rows, 11, 1, NULL, lists));
    struct pml_cell_plan plan = {.cells = 6, .prototypes = 24, .seed = 9, .threads = 1};
    struct pml_cells first = build_cells(&rows, &plan);
    plan.threads = 3;
    struct pml_cells second = build_cells(&rows, &plan);
    plan.lists = lists;
    plan.list_length = 11;
    struct pml_cells third = build_cells(&rows, &plan);
    TEST_ASSERT_EQUAL_MEMORY(first.of_prototypes, second.of_prototypes, 24 * sizeof(uint32_t));
    TEST_ASSERT_EQUAL_MEMORY(first.of_prototypes, third.of_prototypes, 24 * sizeof(uint32_t));
    TEST_ASSERT_EQUAL_MEMORY(first.of_rows, third.of_rows, 500 * sizeof(uint32_t));
    free_cells(&first);
    free_cells(&second);
    free_cells(&third);
    free(lists);
    pml_rows_free(&rows);
}

/* Cells weigh about the same: the limit is 1.15 of the average, and rises only when it must. */
static void test_joined_cells_weigh_about_the_same(void)
{
    struct pml_rows rows = drawn(4, 2000, 16, 50);
    const struct pml_cell_plan plan = {.cells = 10, .prototypes = 80, .seed = 2, .threads = 2};
    struct pml_cells cells = build_cells(&rows, &plan);
    size_t weights[10] = {0};
    for (size_t i = 0; i < rows.count; i++)
        weights[cells.of_rows[i]]++;
    for (size_t c = 0; c < 10; c++)
        TEST_ASSERT_TRUE(weights[c] > 0 && weights[c] <= 300);
    free_cells(&cells);
    pml_rows_free(&rows);
}

/* ---- how many prototypes ---- */

static unsigned choose_means(const struct pml_rows *rows, size_t cells, const uint32_t *starts, size_t slots,
                             size_t rows_per_prototype)
{
    unsigned best = 99, again = 99;
    struct pml_cell_choice choice = {.rows = rows,
                                     .starts = starts,
                                     .slots = slots,
                                     .cells = cells,
                                     .rows_per_prototype = rows_per_prototype,
                                     .seed = 1,
                                     .threads = 1};
    TEST_ASSERT_EQUAL(PML_DONE, pml_cells_choose(&choice, &best));
    choice.threads = 3;
    TEST_ASSERT_EQUAL(PML_DONE, pml_cells_choose(&choice, &again));
    TEST_ASSERT_EQUAL_UINT(best, again);
    return best;
}

static unsigned choose(const struct pml_rows *rows, size_t cells, const uint32_t *starts, size_t slots)
{
    return choose_means(rows, cells, starts, slots, 1);
}

/* Rows of the second half have their neighbours in the first. */
static void test_large_cells_gain_nothing(void)
{
    enum { ROWS = 40 };
    uint32_t lists[ROWS * 8], halves[ROWS], one[ROWS] = {0}, lopsided[ROWS], sizes[2] = {0};
    for (uint32_t i = 0; i < ROWS; i++) {
        halves[i] = i / (ROWS / 2);
        lopsided[i] = i >= ROWS - 4;
        for (uint32_t k = 0; k < 8; k++)
            lists[8 * i + k] = (i + 1 + k) % (ROWS / 2);
    }
    TEST_ASSERT_TRUE(pml_cells_score(one, lists, ROWS, sizes) == 0.0);
    memset(sizes, 0, sizeof sizes);
    TEST_ASSERT_TRUE(pml_cells_score(halves, lists, ROWS, sizes) == 20 - (double)ROWS * 0.5);
    memset(sizes, 0, sizeof sizes);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 36 - (36 * 36 + 4 * 4) / 40.0, pml_cells_score(lopsided, lists, ROWS, sizes));
}

/* Four rings around one axis: a cell of one prototype is convex and cannot be a ring. */
static void draw_rings(size_t count, float *values)
{
    for (size_t i = 0; i < count; i++) {
        const double height = 0.5 * (double)(i % 4) - 0.75, turn = 2.399963 * (double)(i / 4);
        values[3 * i] = (float)cos(turn);
        values[3 * i + 1] = (float)sin(turn);
        values[3 * i + 2] = (float)height;
    }
}

static struct pml_rows rings(size_t count)
{
    float *values = malloc(count * 3 * sizeof *values);
    TEST_ASSERT_NOT_NULL(values);
    draw_rings(count, values);
    struct pml_rows rows = quantised(values, count, 3);
    free(values);
    return rows;
}

static void test_more_prototypes_where_they_serve(void)
{
    struct pml_rows round = rings(800), apart = drawn(7, 800, 32, 4);
    const uint32_t one[] = {0, 800}, two[] = {0, 320, 800};
    TEST_ASSERT_EQUAL_UINT(16, choose(&round, 4, one, 1));
    for (size_t least = 2; least <= 4; least++) /* thin clusters join others, and it still serves */
        TEST_ASSERT_EQUAL_UINT(16, choose_means(&round, 4, one, 1, least));
    TEST_ASSERT_EQUAL_UINT(4, choose(&round, 4, two, 2));
    TEST_ASSERT_EQUAL_UINT(1, choose(&apart, 4, one, 1)); /* cells can be the classes */
    TEST_ASSERT_EQUAL_UINT(1, choose(&apart, 4, two, 2));
    pml_rows_free(&round);
    pml_rows_free(&apart);
}

static void test_small_slots_get_one_prototype_a_cell(void)
{
    struct pml_rows rows = rings(400);
    const uint32_t starts[] = {0, 31, 400}, enough[] = {0, 32, 400};
    TEST_ASSERT_EQUAL_UINT(1, choose(&rows, 4, starts, 2));
    TEST_ASSERT_EQUAL_UINT(4, choose(&rows, 4, enough, 2));
    for (size_t i = 0; i < 32; i++) { /* enough rows, but all alike */
        memcpy(rows.values + i * 3, rows.values, 3);
        pml_rows_measure(&rows, i);
    }
    TEST_ASSERT_EQUAL_UINT(1, choose(&rows, 4, enough, 2));
    const uint32_t least[] = {0, 16, 400}; /* half of 16 rows have no 8 others each */
    TEST_ASSERT_EQUAL_UINT(1, choose(&rows, 2, least, 2));
    pml_rows_free(&rows);
}

/* Each ring becomes a cell. */
static void test_the_choice_reaches_the_pack(void)
{
    enum { ROWS = 800 };
    struct input input = make_input(ROWS, 3, 1);
    draw_rings(ROWS, input.features.values);
    input.options.slots = PML_SLOTS_ONE;
    input.options.cells = 4;
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(4, built.info.cells);
    TEST_ASSERT_EQUAL_UINT32(64, built.info.prototypes);
    for (size_t i = 0; i < ROWS; i++) {
        uint32_t cell, of_ring;
        cell = pml_prototypes_cell(&built.pack, &pml_kernels_portable, pml_pack_anchor(&built.pack, i), 0);
        of_ring = pml_prototypes_cell(&built.pack, &pml_kernels_portable, pml_pack_anchor(&built.pack, i % 4), 0);
        TEST_ASSERT_EQUAL_UINT32(of_ring, cell);
    }
    free(built.bytes);
    free_input(&input);
}

static struct pml_build_report report_of(size_t rows, unsigned cells, unsigned prototypes_per_cell)
{
    struct input input = make_input(rows, 24, 1);
    struct pml_build_report report;
    struct pml_message message;
    uint8_t *bytes;
    size_t size;
    draw_rows(5, rows, 24, 3, input.features.values);
    input.options.slots = PML_SLOTS_ONE;
    input.options.cells = cells;
    input.options.prototypes_per_cell = prototypes_per_cell;
    input.options.rows_per_prototype = 2;
    TEST_ASSERT_EQUAL(PML_DONE,
                      pml_pack_build(&input.features, NULL, &input.options, &bytes, &size, &report, &message));
    free(bytes);
    free_input(&input);
    return report;
}

/* Two prototypes per cell fill what one leaves empty; where few are empty, or rows are too few, one is enough. */
static void test_fine_cells_are_filled(void)
{
    const struct pml_build_report one = report_of(420, 100, 1), filled = report_of(420, 100, 0);
    TEST_ASSERT_GREATER_THAN_UINT64(100 / 12, one.repeated);
    TEST_ASSERT_EQUAL_UINT64(0, filled.repeated);
    TEST_ASSERT_GREATER_THAN_UINT64(100, filled.prototypes);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(200, filled.prototypes);
    const struct pml_build_report coarse = report_of(500, 20, 0), few = report_of(300, 100, 0);
    TEST_ASSERT_EQUAL_UINT64(20, coarse.prototypes);
    TEST_ASSERT_EQUAL_UINT64(100, few.prototypes);
    TEST_ASSERT_GREATER_THAN_UINT64(100 / 12, few.repeated);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_clusters_are_joined_as_the_definition_says);
    RUN_TEST(test_rows_are_in_the_cell_of_their_nearest_prototype);
    RUN_TEST(test_known_lists_and_threads_change_nothing);
    RUN_TEST(test_joined_cells_weigh_about_the_same);
    RUN_TEST(test_large_cells_gain_nothing);
    RUN_TEST(test_more_prototypes_where_they_serve);
    RUN_TEST(test_small_slots_get_one_prototype_a_cell);
    RUN_TEST(test_the_choice_reaches_the_pack);
    RUN_TEST(test_fine_cells_are_filled);
    return UNITY_END();
}
