/* SPDX-License-Identifier: Apache-2.0
 * What the builder computes with rows: neighbours against brute force, clusters, generators, whatever the threads. */
#define _POSIX_C_SOURCE 200809L
#include "common/generator.h"
#include "common/rows/kmeans.h"
#include "common/rows/knn.h"
#include "common/rows_support.h"

#include <math.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* Rows of few small values: many of them are equal, and many scores are. */
static struct pml_rows with_ties(uint64_t seed, size_t count, size_t columns)
{
    float *values = malloc(count * columns * sizeof *values);
    TEST_ASSERT_NOT_NULL(values);
    for (size_t i = 0; i < count * columns; i++)
        values[i] = i % columns == 0 ? 1.0f : (float)draw_between(&seed, -1, 1);
    struct pml_rows rows = quantised(values, count, columns);
    free(values);
    return rows;
}

/* ---- neighbours ---- */

static int64_t score_of(const struct pml_rows *rows, size_t query, size_t row)
{
    int64_t dot = 0;
    for (size_t i = 0; i < rows->columns; i++)
        dot += rows->values[query * rows->columns + i] * rows->values[row * rows->columns + i];
    return dot * pml_inverse_norm(rows->values + row * rows->columns, rows->columns);
}

/* Each entry is the best of all that neither come before it in the list nor are the row itself. */
static void check_list(const struct pml_rows *rows, size_t query, const uint32_t *list, unsigned neighbours)
{
    bool *taken = calloc(rows->count, sizeof *taken);
    TEST_ASSERT_NOT_NULL(taken);
    taken[query] = true;
    for (unsigned k = 0; k < neighbours; k++) {
        size_t best = rows->count;
        for (size_t i = 0; i < rows->count; i++)
            if (!taken[i] && (best == rows->count || score_of(rows, query, i) > score_of(rows, query, best)))
                best = i;
        TEST_ASSERT_EQUAL_UINT32(best, list[k]);
        taken[best] = true;
    }
    free(taken);
}

static void check_neighbours(struct pml_rows rows, unsigned neighbours)
{
    uint32_t *lists = malloc(rows.count * neighbours * sizeof *lists), *again = malloc(rows.count * neighbours * 4);
    TEST_ASSERT_TRUE(lists && again);
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&rows, neighbours, 1, NULL, lists));
    for (size_t i = 0; i < rows.count; i += 1 + rows.count / 40)
        check_list(&rows, i, lists + i * neighbours, neighbours);
    for (unsigned threads = 2; threads <= 7; threads += 5) {
        TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&rows, neighbours, threads, NULL, again));
        TEST_ASSERT_EQUAL_MEMORY(lists, again, rows.count * neighbours * sizeof *lists);
    }
    free(lists);
    free(again);
    pml_rows_free(&rows);
}

static void test_neighbours_are_those_of_brute_force(void)
{
    check_neighbours(drawn(1, 2, 1, 1), 1);
    check_neighbours(drawn(2, 63, 17, 3), 5);
    check_neighbours(drawn(3, 64, 16, 3), 63);
    check_neighbours(drawn(4, 65, 33, 3), 64);
    check_neighbours(drawn(5, 301, 40, 7), 10);
    check_neighbours(drawn(6, 9, 4096, 2), 3);
}

static void test_ties_go_to_the_smaller_index(void)
{
    check_neighbours(with_ties(1, 200, 3), 10);
    check_neighbours(with_ties(2, 130, 5), 20);
    check_neighbours(with_ties(3, 100, 1), 4);
}

static void test_the_largest_values_do_not_overflow(void)
{
    static float values[5 * 4096];
    for (size_t i = 0; i < 5 * 4096; i++)
        values[i] = i / 4096 == 3 ? -1.0f : 1.0f;
    struct pml_rows rows = quantised(values, 5, 4096);
    uint32_t lists[5 * 4];
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&rows, 4, 1, NULL, lists));
    for (size_t i = 0; i < 3; i++)
        TEST_ASSERT_EQUAL_UINT32(3, lists[4 * i + 3]);
    TEST_ASSERT_EQUAL_UINT32(4096u * 127 * 127, rows.squared[3]);
    TEST_ASSERT_EQUAL_INT32(-4096 * 127 * 127, pml_dot(rows.values, rows.values + 3 * 4096, 4096));
    pml_rows_free(&rows);
}

static void test_a_bandwidth_is_found_among_equal_rows(void)
{
    float values[8 * 2] = {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1};
    uint32_t lists[8];
    double bandwidth;
    struct pml_rows rows = quantised(values, 8, 2);
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&rows, 1, 1, NULL, lists));
    TEST_ASSERT_TRUE(pml_knn_bandwidth(&rows, 1, lists, &bandwidth) == PML_DONE &&
                     bandwidth == sqrt(2.0)); /* seven distances are exactly 0 */
    pml_rows_free(&rows);
    rows = quantised(values, 7, 2);
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&rows, 1, 1, NULL, lists));
    TEST_ASSERT_TRUE(pml_knn_bandwidth(&rows, 1, lists, &bandwidth) == PML_DONE && bandwidth == 0.0);
    pml_rows_free(&rows);
}

static void test_the_first_bad_row_is_found(void)
{
    static float values[1000 * 2];
    struct pml_rows rows;
    size_t bad;
    for (size_t i = 0; i < 2000; i++)
        values[i] = 1.0f;
    values[2 * 999] = NAN;
    values[2 * 300] = values[2 * 300 + 1] = 0.0f;
    values[2 * 301] = INFINITY;
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_allocate(&rows, 1000, 2));
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_quantise(&rows, values, 2, NULL, &bad));
    TEST_ASSERT_EQUAL_UINT64(300, bad);
    pml_rows_free(&rows);
}

/* ---- clusters ---- */

static struct pml_kmeans run_kmeans(const struct pml_rows *rows, size_t clusters, uint64_t seed, unsigned threads)
{
    struct pml_kmeans result = {malloc(clusters * rows->columns), malloc(rows->count * sizeof(uint32_t)), 0};
    TEST_ASSERT_TRUE(result.centres && result.clusters);
    TEST_ASSERT_EQUAL(PML_DONE, pml_kmeans(rows, clusters, seed, threads, NULL, &result));
    return result;
}

static void free_kmeans(struct pml_kmeans *result)
{
    free(result->centres);
    free(result->clusters);
}

/* Each row belongs to the first-ranked of the final centres (SPEC 5.3). */
static void check_clusters(const struct pml_rows *rows, size_t clusters, const struct pml_kmeans *result)
{
    for (size_t i = 0; i < rows->count; i++) {
        size_t nearest = 0;
        int64_t best = INT64_MIN;
        for (size_t c = 0; c < clusters; c++) {
            const int8_t *centre = result->centres + c * rows->columns;
            int64_t score = (int64_t)pml_dot(rows->values + i * rows->columns, centre, rows->columns) *
                            pml_inverse_norm(centre, rows->columns);
            if (score > best) {
                best = score;
                nearest = c;
            }
        }
        TEST_ASSERT_EQUAL_UINT32(nearest, result->clusters[i]);
    }
}

static void test_clusters_do_not_depend_on_threads(void)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct pml_rows rows = drawn(seed, 500, 24, 9);
        struct pml_kmeans one = run_kmeans(&rows, 12, seed, 1), two = run_kmeans(&rows, 12, seed, 2);
        TEST_ASSERT_EQUAL_MEMORY(one.centres, two.centres, 12 * 24);
        TEST_ASSERT_EQUAL_MEMORY(one.clusters, two.clusters, 500 * sizeof *one.clusters);
        TEST_ASSERT_EQUAL_UINT64(12, one.distinct);
        check_clusters(&rows, 12, &one);
        free_kmeans(&one);
        free_kmeans(&two);
        pml_rows_free(&rows);
    }
}

/* Equal scores, and iterations that run out. */
static void test_clusters_are_the_nearest_in_hard_cases(void)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        size_t columns = (size_t)(2 + seed % 3), clusters = (size_t)(20 + 10 * seed);
        struct pml_rows rows = seed % 2 == 0 ? with_ties(seed, 300, 6) : drawn(seed, 2000, columns, 2000);
        struct pml_kmeans result = run_kmeans(&rows, clusters, seed, 2);
        check_clusters(&rows, clusters, &result);
        free_kmeans(&result);
        pml_rows_free(&rows);
    }
}

/* With this seed a centre loses all its rows on the way, which is rare, and starts again elsewhere. */
static void test_no_cluster_stays_empty(void)
{
    static const float values[18 * 2] = {-5, 12,  -9, -8,  -3, 6,  1, 8,  17,  -10, -7,  -20, 11, 20, 17, -6, 7,  8,
                                         3,  -12, 21, -12, -9, 16, 7, 14, -13, 16,  -19, -14, 7,  2,  15, 2,  -5, 18};
    struct pml_rows rows = quantised(values, 18, 2);
    struct pml_kmeans result = run_kmeans(&rows, 4, 41, 1);
    unsigned used = 0;
    for (size_t i = 0; i < 18; i++)
        used |= 1u << result.clusters[i];
    TEST_ASSERT_EQUAL_HEX(0xF, used);
    check_clusters(&rows, 4, &result);
    free_kmeans(&result);
    pml_rows_free(&rows);
}

static void test_separate_clusters_are_found(void)
{
    struct pml_rows rows = drawn(8, 300, 64, 5);
    unsigned right = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct pml_kmeans result = run_kmeans(&rows, 5, seed, 1);
        bool all = true;
        for (size_t i = 5; i < 300; i++)
            all = all && result.clusters[i] == result.clusters[i % 5];
        right += all;
        free_kmeans(&result);
    }
    TEST_ASSERT_TRUE(right >= 5); /* k-means may stop elsewhere, but not mostly */
    pml_rows_free(&rows);
}

static void hear(void *context, const char *stage, double done)
{
    double *heard = context;
    TEST_ASSERT_EQUAL_STRING("clusters", stage);
    TEST_ASSERT_TRUE(done >= heard[0] && done <= 1.0);
    heard[1] += done < 0.5;
    heard[0] = done;
}

static void test_the_start_tells_of_progress(void)
{
    struct pml_rows rows = drawn(3, 200, 8, 5);
    uint32_t clusters[200];
    int8_t centres[50 * 8];
    double heard[2] = {0.0, 0.0}; /* how far, how often in the first half */
    struct pml_progress progress = {hear, heard, "clusters"};
    struct pml_kmeans result = {.centres = centres, .clusters = clusters};
    TEST_ASSERT_EQUAL(PML_DONE, pml_kmeans(&rows, 50, 1, 2, &progress, &result));
    TEST_ASSERT_TRUE(heard[1] == 49.0);
    pml_rows_free(&rows);
}

static void test_centres_repeat_when_rows_do(void)
{
    float values[7 * 2] = {1, 0, 0, 1, 2, 0, 3, 3, 0, 5, 1, 1, 4, 0}; /* three directions */
    struct pml_rows rows = quantised(values, 7, 2);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct pml_kmeans result = run_kmeans(&rows, 8, seed, 2);
        TEST_ASSERT_EQUAL_UINT64(3, result.distinct);
        for (size_t c = 3; c < 8; c++)
            TEST_ASSERT_EQUAL_MEMORY(result.centres + c % 3 * 2, result.centres + c * 2, 2);
        for (size_t i = 0; i < 7; i++)
            TEST_ASSERT_EQUAL_MEMORY(rows.values + 2 * i, result.centres + 2 * result.clusters[i], 2);
        check_clusters(&rows, 8, &result);
        free_kmeans(&result);
    }
    pml_rows_free(&rows);
}

static void test_as_many_clusters_as_rows(void)
{
    struct pml_rows rows = drawn(9, 70, 12, 70);
    struct pml_kmeans result = run_kmeans(&rows, 70, 1, 2);
    bool used[70] = {false};
    for (size_t i = 0; i < 70; i++) {
        TEST_ASSERT_FALSE(used[result.clusters[i]]);
        used[result.clusters[i]] = true;
    }
    free_kmeans(&result);
    pml_rows_free(&rows);
}

static void test_opposite_rows_have_no_mean(void)
{
    float values[4] = {1, 2, -1, -2};
    struct pml_rows rows = quantised(values, 2, 2);
    uint32_t both[2] = {0, 1};
    int8_t mean[2] = {5, 6};
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_rows_mean(&rows, both, NULL, 2, mean));
    TEST_ASSERT_EQUAL_INT8(5, mean[0]);
    struct pml_kmeans result = run_kmeans(&rows, 1, 3, 1);
    TEST_ASSERT_EQUAL_UINT64(1, result.distinct);
    free_kmeans(&result);
    pml_rows_free(&rows);
}

/* ---- generator ---- */

static void test_normal_numbers_have_their_deviation(void)
{
    struct pml_generator generator = pml_generator_start(1, 2);
    double sum = 0, squares = 0, fourth = 0;
    const int count = 200000;
    for (int i = 0; i < count; i++) {
        double value = pml_generator_normal(&generator, 8000) / 8000.0;
        sum += value;
        squares += value * value;
        fourth += value * value * value * value;
    }
    TEST_ASSERT_DOUBLE_WITHIN(0.01, 0.0, sum / count);
    TEST_ASSERT_DOUBLE_WITHIN(0.015, 1.0, squares / count);
    TEST_ASSERT_DOUBLE_WITHIN(0.08, 2.9, fourth / count); /* 3 − 1.2/12 */
}

static void test_numbers_stay_below_their_bound_and_streams_differ(void)
{
    struct pml_generator generator = pml_generator_start(1, 0), other = pml_generator_start(1, 1);
    unsigned counts[3] = {0};
    TEST_ASSERT_TRUE(pml_generator_next(&generator) != pml_generator_next(&other));
    for (int i = 0; i < 30000; i++)
        counts[pml_generator_below(&generator, 3)]++;
    for (int i = 0; i < 3; i++)
        TEST_ASSERT_UINT_WITHIN(500, 10000, counts[i]);
    TEST_ASSERT_TRUE(pml_generator_below(&generator, 1) == 0);
    TEST_ASSERT_TRUE(pml_generator_below(&generator, ((uint64_t)1 << 63) + 1) <= (uint64_t)1 << 63);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_neighbours_are_those_of_brute_force);
    RUN_TEST(test_ties_go_to_the_smaller_index);
    RUN_TEST(test_the_largest_values_do_not_overflow);
    RUN_TEST(test_a_bandwidth_is_found_among_equal_rows);
    RUN_TEST(test_the_first_bad_row_is_found);
    RUN_TEST(test_clusters_do_not_depend_on_threads);
    RUN_TEST(test_clusters_are_the_nearest_in_hard_cases);
    RUN_TEST(test_no_cluster_stays_empty);
    RUN_TEST(test_separate_clusters_are_found);
    RUN_TEST(test_the_start_tells_of_progress);
    RUN_TEST(test_centres_repeat_when_rows_do);
    RUN_TEST(test_as_many_clusters_as_rows);
    RUN_TEST(test_opposite_rows_have_no_mean);
    RUN_TEST(test_normal_numbers_have_their_deviation);
    RUN_TEST(test_numbers_stay_below_their_bound_and_streams_differ);
    return UNITY_END();
}
