/* SPDX-License-Identifier: Apache-2.0
 * Maps find what is known to be there, whatever the rows are, and always the same. */
#include "map_support.h"

void setUp(void)
{
}

void tearDown(void)
{
}

/* Rows (1, x, y, 0 …) with small x and y: a piece of the sphere that is nearly flat, so that its map is known. */
static struct pml_rows draw_patch(size_t count, double wide, double high, double *known)
{
    struct pml_generator generator = pml_generator_start(8, 1);
    float *values = calloc(count * 6, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        known[2 * i] = wide * draw_normal(&generator);
        known[2 * i + 1] = high * draw_normal(&generator);
        values[6 * i] = 1.0f;
        values[6 * i + 1] = (float)known[2 * i];
        values[6 * i + 2] = (float)known[2 * i + 1];
    }
    struct pml_rows rows = quantised(values, count, 6);
    free(values);
    return rows;
}

/* The map's distances are those of a flat piece, up to int8 and the bend of the sphere. */
static void assert_flat(pml_map_method method, double near)
{
    enum { COUNT = 200 };
    static double known[2 * COUNT];
    struct pml_rows rows = draw_patch(COUNT, 0.12, 0.06, known);
    struct pml_map_result result = mapped(&rows, (struct pml_map_options){.method = method});
    double apart = 0.0, size = 0.0;
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < i; j++) {
            const double wanted = hypot(known[2 * i] - known[2 * j], known[2 * i + 1] - known[2 * j + 1]);
            apart += fabs(distance(result.places, i, j) - wanted);
            size += wanted;
        }
    TEST_ASSERT_TRUE_MESSAGE(apart <= near * size, pml_map_traits[method].name);
    pml_map_free(&result);
    pml_rows_free(&rows);
}

static void test_flat_rows_keep_their_distances(void)
{
    assert_flat(PML_MAP_PCA, 0.08);
    assert_flat(PML_MAP_MDS, 0.08);
    assert_flat(PML_MAP_SAMMON, 0.08);
    assert_flat(PML_MAP_ISOMAP, 0.15); /* paths are longer than straight lines */
}

static void test_mds_is_pca(void)
{
    struct pml_rows rows = draw_groups(150, 20, 5, 0.5, 4);
    struct pml_map_result pca = mapped(&rows, (struct pml_map_options){.method = PML_MAP_PCA});
    struct pml_map_result mds = mapped(&rows, (struct pml_map_options){.method = PML_MAP_MDS});
    for (size_t i = 0; i < rows.count; i++)
        TEST_ASSERT_DOUBLE_WITHIN(1e-4, distance(pca.places, 0, i), distance(mds.places, 0, i));
    pml_map_free(&pca);
    pml_map_free(&mds);
    pml_rows_free(&rows);
}

static void test_the_stress_of_sammon_never_rises(void)
{
    struct pml_rows rows = draw_groups(180, 24, 4, 0.7, 6);
    struct pml_map_result result = mapped(&rows, (struct pml_map_options){.method = PML_MAP_SAMMON, .iterations = 120});
    TEST_ASSERT_TRUE(result.steps > 20);
    for (size_t i = 1; i < result.steps; i++)
        TEST_ASSERT_TRUE(result.costs[i] <= result.costs[i - 1] * (1.0 + 1e-9));
    TEST_ASSERT_TRUE(result.cost < 0.8 * result.costs[0]);
    pml_map_free(&result);
    pml_rows_free(&rows);
}

/* Rows along one and a half turns of a circle that rises: isomap lays them along a line. */
static void test_isomap_unrolls(void)
{
    enum { COUNT = 240 };
    float *values = calloc(COUNT * 4, sizeof *values);
    for (size_t i = 0; i < COUNT; i++) {
        const double turn = 9.4 * (double)i / (double)COUNT;
        values[4 * i] = (float)cos(turn);
        values[4 * i + 1] = (float)sin(turn);
        values[4 * i + 2] = (float)(1.6 * (double)i / (double)COUNT - 0.8);
        values[4 * i + 3] = 0.5f;
    }
    struct pml_rows rows = quantised(values, COUNT, 4);
    struct pml_map_result result = mapped(&rows, (struct pml_map_options){.method = PML_MAP_ISOMAP, .neighbours = 4});
    const float sign = result.places[0] < result.places[2 * (COUNT - 1)] ? 1.0f : -1.0f;
    size_t turned = 0;
    for (size_t i = 5; i < COUNT; i++)
        turned += sign * (result.places[2 * i] - result.places[2 * (i - 5)]) <= 0.0f;
    TEST_ASSERT_TRUE(turned <= 5);
    free(values);
    pml_map_free(&result);
    pml_rows_free(&rows);
}

/* Groups that overlap a little: every method keeps them apart as well as it can. */
static void test_groups_stay_together(void)
{
    if (getenv("PML_TEST_QUICK"))
        TEST_IGNORE_MESSAGE("takes minutes under emulation");
    static const double most[PML_MAP_METHODS] = {
        [PML_MAP_PCA] = 0.5,       [PML_MAP_MDS] = 0.5,       [PML_MAP_SAMMON] = 0.5,  [PML_MAP_ISOMAP] = 0.4,
        [PML_MAP_LLE] = 0.4,       [PML_MAP_LAPLACIAN] = 0.4, [PML_MAP_SNE] = 0.1,     [PML_MAP_SSNE] = 0.1,
        [PML_MAP_DIFFUSION] = 0.4, [PML_MAP_TSNE] = 0.02,     [PML_MAP_LANDMARK] = 0.1};
    enum { COUNT = 600, GROUPS = 8 };
    struct pml_rows rows = draw_groups(COUNT, 24, GROUPS, 0.6, 11);
    for (int method = 0; method < PML_MAP_METHODS; method++) {
        if (!pml_map_available((pml_map_method)method))
            continue;
        struct pml_map_result result = mapped(&rows, (struct pml_map_options){.method = (pml_map_method)method});
        const double found = mixed(result.places, COUNT, GROUPS);
        TEST_ASSERT_TRUE_MESSAGE(found <= most[method], pml_map_traits[method].name);
        pml_map_free(&result);
    }
    pml_rows_free(&rows);
}

/* A fifth of the steps under emulation. */
static size_t steps(size_t all)
{
    return getenv("PML_TEST_QUICK") ? all / 5 : all;
}

static void test_the_seed_decides_and_threads_do_not(void)
{
    struct pml_rows rows = draw_groups(620, 16, 5, 0.5, 13);
    for (int method = 0; method < PML_MAP_METHODS; method++) {
        if (!pml_map_available((pml_map_method)method))
            continue;
        struct pml_map_options options = {
            .method = (pml_map_method)method, .seed = 3, .threads = 1, .iterations = steps(30)};
        struct pml_map_result one = mapped(&rows, options);
        options.threads = 3;
        struct pml_map_result same = mapped(&rows, options);
        TEST_ASSERT_EQUAL_MEMORY_MESSAGE(one.places, same.places, 2 * rows.count * sizeof *one.places,
                                         pml_map_traits[method].name);
        if (method == PML_MAP_TSNE || method == PML_MAP_LANDMARK) {
            options.seed = 4;
            struct pml_map_result other = mapped(&rows, options);
            TEST_ASSERT_TRUE(memcmp(one.places, other.places, 2 * rows.count * sizeof *one.places) != 0);
            pml_map_free(&other);
        }
        pml_map_free(&one);
        pml_map_free(&same);
    }
    pml_rows_free(&rows);
}

/* Copies, in every number: half of the rows are one row, or all are. */
static void test_copies(void)
{
    for (size_t step = 1; step <= 2; step++) {
        struct pml_rows rows = draw_groups(520, 10, 3, 0.4, 17);
        size_t copies;
        for (size_t i = 0; i < rows.count; i += step) {
            memcpy(rows.values + i * 10, rows.values, 10);
            pml_rows_measure(&rows, i);
        }
        TEST_ASSERT_EQUAL(PML_DONE, pml_map_copies(&rows, &copies));
        TEST_ASSERT_EQUAL((rows.count + step - 1) / step - 1, copies);
        for (int method = 0; method < PML_MAP_METHODS; method++) {
            if (!pml_map_available((pml_map_method)method))
                continue;
            struct pml_map_result result =
                mapped(&rows, (struct pml_map_options){.method = (pml_map_method)method, .iterations = steps(20)});
            pml_map_free(&result);
        }
        pml_rows_free(&rows);
    }
}

/* Whether the boxes around groups 'a' and 'b' of a map have nothing in common. */
static bool apart(const float *places, size_t count, size_t groups, size_t a, size_t b)
{
    for (size_t axis = 0; axis < 2; axis++) {
        float least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};
        for (size_t i = 0; i < count; i++)
            if (i % groups == a || i % groups == b) {
                const size_t side = i % groups == b;
                least[side] = fminf(least[side], places[2 * i + axis]);
                most[side] = fmaxf(most[side], places[2 * i + axis]);
            }
        if (most[0] < least[1] || most[1] < least[0])
            return true;
    }
    return false;
}

/* Groups that no neighbour joins: their maps lie side by side, and none on another. */
static void test_components_lie_side_by_side(void)
{
    enum { COUNT = 120, GROUPS = 4 };
    struct pml_rows rows = draw_groups(COUNT, 30, GROUPS, 0.05, 19);
    for (int method = 0; method < PML_MAP_METHODS; method++) {
        if (!pml_map_traits[method].graph || !pml_map_available((pml_map_method)method))
            continue;
        struct pml_map_result result = mapped(&rows, (struct pml_map_options){.method = (pml_map_method)method});
        TEST_ASSERT_EQUAL(GROUPS, result.components);
        for (size_t a = 0; a < GROUPS; a++)
            for (size_t b = 0; b < a; b++)
                TEST_ASSERT_TRUE_MESSAGE(apart(result.places, COUNT, GROUPS, a, b), pml_map_traits[method].name);
        pml_map_free(&result);
    }
    pml_rows_free(&rows);
}

static void assert_refused(size_t count, struct pml_map_options options, const char *first, const char *second)
{
    struct pml_rows rows = draw_groups(count, 3, 2, 0.5, 1);
    struct pml_map_result result;
    struct pml_message message = {""};
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_map(&rows, &options, &result, &message));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(message.text, first), message.text);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(message.text, second), message.text);
    pml_map_free(&result);
    pml_rows_free(&rows);
}

static void test_limits_name_what_to_use(void)
{
    for (int method = 0; method < PML_MAP_METHODS; method++)
        if (pml_map_traits[method].most < 20000 && pml_map_available((pml_map_method)method))
            assert_refused(pml_map_traits[method].most + 1, (struct pml_map_options){.method = (pml_map_method)method},
                           pml_map_traits[method].instead, "at most");
    assert_refused(499, (struct pml_map_options){.method = PML_MAP_LANDMARK}, "tsne", "500");
    assert_refused(4, (struct pml_map_options){.method = PML_MAP_PCA}, "at least 5", "Give more");
    assert_refused(50, (struct pml_map_options){.method = PML_MAP_TSNE, .perplexity = 30.0}, "at least 91 rows",
                   "--perplexity 16.3");
}

static void test_few_rows(void)
{
    for (size_t count = 5; count <= 12; count += 7) {
        struct pml_rows rows = draw_groups(count, 6, 2, 0.3, 23);
        for (int method = 0; method < PML_MAP_LANDMARK; method++) {
            if (!pml_map_available((pml_map_method)method))
                continue;
            struct pml_map_result result = mapped(&rows, (struct pml_map_options){.method = (pml_map_method)method});
            TEST_ASSERT_TRUE(result.perplexity <= (double)(count - 1) / 3.0 + 1e-9);
            pml_map_free(&result);
        }
        pml_rows_free(&rows);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_flat_rows_keep_their_distances);
    RUN_TEST(test_mds_is_pca);
    RUN_TEST(test_the_stress_of_sammon_never_rises);
    RUN_TEST(test_isomap_unrolls);
    RUN_TEST(test_groups_stay_together);
    RUN_TEST(test_the_seed_decides_and_threads_do_not);
    RUN_TEST(test_copies);
    RUN_TEST(test_components_lie_side_by_side);
    RUN_TEST(test_limits_name_what_to_use);
    RUN_TEST(test_few_rows);
    return UNITY_END();
}
