/* SPDX-License-Identifier: Apache-2.0
 * Thin clusters join others as the plain definition says: no centre shows what a single row is. */
#define _POSIX_C_SOURCE 200809L
#include "common/rows_support.h"
#include "tools/pack/thin_clusters.h"

#include <stdbool.h>

enum { ROWS_MAX = 400, CLUSTERS_MAX = 200, COLUMNS_MAX = 16 };

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- the definition, in sets ---- */

struct sets {
    const struct pml_rows *rows;
    size_t least, count;
    bool member[CLUSTERS_MAX][ROWS_MAX];
    int8_t centres[CLUSTERS_MAX][COLUMNS_MAX];
};

static size_t size_of(const struct sets *sets, size_t cluster)
{
    size_t size = 0;
    for (size_t i = 0; i < sets->rows->count; i++)
        size += sets->member[cluster][i];
    return size;
}

static bool is_thin(struct sets *sets, size_t cluster)
{
    const size_t columns = sets->rows->columns;
    uint32_t members[ROWS_MAX];
    size_t count = 0, different = 0;
    for (uint32_t i = 0; i < sets->rows->count; i++) {
        if (!sets->member[cluster][i])
            continue;
        bool first = true;
        for (size_t j = 0; j < count; j++)
            first = first &&
                    memcmp(sets->rows->values + i * columns, sets->rows->values + members[j] * columns, columns) != 0;
        members[count++] = i;
        different += first;
    }
    return pml_rows_mean(sets->rows, members, NULL, count, sets->centres[cluster]) != PML_DONE ||
           different < sets->least;
}

static void join_nearest(struct sets *sets, size_t cluster)
{
    const size_t columns = sets->rows->columns;
    size_t nearest = sets->count;
    int64_t most = 0;
    for (size_t other = 0; other < sets->count; other++) {
        int64_t score = pml_dot(sets->centres[cluster], sets->centres[other], columns) *
                        (int64_t)pml_inverse_norm(sets->centres[other], columns);
        if (other != cluster && size_of(sets, other) > 0 && (nearest == sets->count || score > most))
            nearest = other, most = score;
    }
    for (size_t i = 0; i < sets->rows->count; i++) {
        sets->member[nearest][i] |= sets->member[cluster][i];
        sets->member[cluster][i] = false;
    }
    is_thin(sets, nearest); /* moves its centre */
}

static size_t thicken_plainly(struct sets *sets)
{
    size_t left = 0;
    for (size_t c = 0; c < sets->count; c++)
        left += size_of(sets, c) > 0;
    for (bool joined = true; joined;) {
        joined = false;
        for (size_t c = 0; c < sets->count; c++)
            if (size_of(sets, c) > 0 && is_thin(sets, c) && left > 1) {
                join_nearest(sets, c);
                joined = true;
                left--;
            }
    }
    return left;
}

/* ---- against it ---- */

static struct pml_kmeans cluster(const struct pml_rows *rows, size_t count, unsigned threads)
{
    struct pml_kmeans made = {.centres = malloc(count * rows->columns),
                              .clusters = malloc(rows->count * sizeof(uint32_t))};
    TEST_ASSERT_TRUE(made.centres && made.clusters);
    TEST_ASSERT_EQUAL(PML_DONE, pml_kmeans(rows, count, 4, threads, NULL, &made));
    return made;
}

static void free_clusters(struct pml_kmeans *made)
{
    free(made->centres);
    free(made->clusters);
}

/* Returns whether thickening leaves a thin cluster; checks that it is the same as in sets, and for any number of threads. */
static bool check_against_sets(const struct pml_rows *rows, size_t least, size_t count)
{
    static struct sets sets;
    struct pml_kmeans made = cluster(rows, count, 2), again = cluster(rows, count, 1);
    memset(&sets, 0, sizeof sets);
    sets.rows = rows, sets.least = least, sets.count = count;
    for (size_t c = 0; c < count; c++)
        memcpy(sets.centres[c], made.centres + c * rows->columns, rows->columns);
    for (size_t i = 0; i < rows->count; i++)
        sets.member[made.clusters[i]][i] = true;
    const size_t left = thicken_plainly(&sets);
    bool thin, thin_again;
    TEST_ASSERT_EQUAL(PML_DONE, pml_clusters_thicken(rows, rows->count, least, count, 3, &made, &thin));
    TEST_ASSERT_EQUAL(PML_DONE, pml_clusters_thicken(rows, rows->count, least, count, 1, &again, &thin_again));
    TEST_ASSERT_EQUAL(thin, thin_again);
    TEST_ASSERT_EQUAL_UINT64(left, made.distinct);
    TEST_ASSERT_EQUAL_MEMORY(made.centres, again.centres, left * rows->columns);
    TEST_ASSERT_EQUAL_MEMORY(made.clusters, again.clusters, rows->count * sizeof(uint32_t));
    for (size_t c = 0, next = 0; c < count; c++)
        if (size_of(&sets, c) > 0) {
            TEST_ASSERT_TRUE(left == 1 || size_of(&sets, c) >= least);
            TEST_ASSERT_EQUAL_MEMORY(sets.centres[c], made.centres + next++ * rows->columns, rows->columns);
        }
    free_clusters(&made);
    free_clusters(&again);
    return thin;
}

static void test_thin_clusters_join_as_the_definition_says(void)
{
    static const struct {
        size_t rows, columns, classes, least, clusters;
    } cases[] = {
        {400, 12, 20, 2, 100}, {400, 16, 60, 3, 130}, {300, 3, 40, 5, 60}, {90, 8, 90, 2, 90}, {60, 8, 60, 7, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pml_rows rows = drawn(i, cases[i].rows, cases[i].columns, cases[i].classes);
        TEST_ASSERT_FALSE(check_against_sets(&rows, cases[i].least, cases[i].clusters));
        pml_rows_free(&rows);
    }
}

/* Far from all others: k-means makes each of these a cluster of its own, and its centre is the row. */
static void test_no_centre_is_a_row(void)
{
    enum { ROWS = 120, COLUMNS = 16, CLUSTERS = 60 };
    struct pml_rows rows = drawn(2, ROWS, COLUMNS, ROWS);
    for (size_t least = 1; least <= 2; least++) {
        struct pml_kmeans made = cluster(&rows, CLUSTERS, 1);
        size_t copies = 0;
        bool thin;
        if (least > 1)
            TEST_ASSERT_EQUAL(PML_DONE, pml_clusters_thicken(&rows, rows.count, least, CLUSTERS, 1, &made, &thin));
        for (size_t c = 0; c < made.distinct; c++)
            for (size_t i = 0; i < ROWS; i++)
                copies += memcmp(made.centres + c * COLUMNS, rows.values + i * COLUMNS, COLUMNS) == 0;
        TEST_ASSERT_TRUE(least == 1 ? copies > 0 : copies == 0);
        free_clusters(&made);
    }
    pml_rows_free(&rows);
}

/* Many copies of one row are one row. */
static void test_equal_rows_count_once(void)
{
    float values[9 * 2] = {1, 0, 2, 0, 3, 0, 0, 1, 0, 2, 1, 1, 2, 2, 1.2f, 1, 9, 0};
    struct pml_rows rows = quantised(values, 9, 2);
    TEST_ASSERT_FALSE(check_against_sets(&rows, 2, 4));
    struct pml_kmeans made = cluster(&rows, 4, 1);
    TEST_ASSERT_EQUAL_UINT64(4, made.distinct);
    bool thin;
    TEST_ASSERT_EQUAL(PML_DONE, pml_clusters_thicken(&rows, rows.count, 2, 4, 1, &made, &thin));
    TEST_ASSERT_TRUE(made.distinct <= 2);
    free_clusters(&made);
    pml_rows_free(&rows);
    struct pml_rows equal = quantised(values, 3, 2);
    TEST_ASSERT_TRUE(check_against_sets(&equal, 2, 2));
    pml_rows_free(&equal);
}

/* k-means leaves the centre of rows that cancel out where it began, at a row. */
static void test_rows_that_cancel_out_are_thin(void)
{
    float values[3 * 2] = {1, 2, -1, -2, 2, 1};
    struct pml_rows two = quantised(values, 2, 2), three = quantised(values, 3, 2);
    TEST_ASSERT_TRUE(check_against_sets(&two, 2, 1));
    TEST_ASSERT_FALSE(check_against_sets(&three, 2, 2));
    pml_rows_free(&two);
    pml_rows_free(&three);
}

/* Rows 0 to 3 are public, 4 to 7 of the gallery; 6 and 7 are equal. */
static void test_a_mean_has_enough_rows_of_the_gallery_or_none(void)
{
    float values[8 * 2] = {1, 0, 1, 0.1f, 1, 0.2f, 1, 0, 1, 0.4f, 1, 0.5f, 1, 0.6f, 1, 0.6f};
    static const struct {
        uint32_t members[5];
        size_t count, least, open;
    } cases[] = {
        {{0, 1, 2}, 3, 3, 3},    {{0, 1, 3}, 3, 3, 0},       {{4, 5}, 2, 2, 2},       {{6, 7}, 2, 2, 0},
        {{0, 1, 4, 5}, 4, 2, 4}, {{0, 4, 1, 2}, 4, 2, 3},    {{0, 4, 1, 2}, 4, 4, 0}, {{6, 0, 7, 1}, 4, 2, 2},
        {{6, 0, 7, 3}, 4, 2, 0}, {{0, 1, 2, 4, 5}, 5, 3, 3}, {{0, 4}, 2, 2, 0},       {{4}, 1, 2, 0},
    };
    struct pml_rows rows = quantised(values, 8, 2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t members[5];
        memcpy(members, cases[i].members, sizeof members);
        TEST_ASSERT_EQUAL_UINT64(cases[i].open, pml_rows_open(&rows, 4, members, cases[i].count, cases[i].least));
        for (size_t j = 0; cases[i].open < cases[i].count && j < cases[i].open; j++)
            TEST_ASSERT_TRUE(members[j] < 4);
    }
    pml_rows_free(&rows);
}

/* A row of the gallery among public rows is left out of the mean, and two are not. */
static void test_centres_leave_out_single_rows_of_the_gallery(void)
{
    float values[8 * 2] = {1, 0, 1, 0.1f, 1, 0.2f, -1, 0, -1, 0.1f, 1, 0.9f, -1, 0.9f, -1, 0.8f};
    struct pml_rows rows = quantised(values, 8, 2);
    struct pml_kmeans made = cluster(&rows, 2, 1);
    const uint32_t right[] = {0, 1, 2}, left[] = {3, 4, 6, 7};
    int8_t wanted[2];
    bool thin;
    TEST_ASSERT_EQUAL(PML_DONE, pml_clusters_thicken(&rows, 5, 2, 2, 1, &made, &thin));
    TEST_ASSERT_FALSE(thin);
    TEST_ASSERT_EQUAL_UINT64(2, made.distinct);
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_mean(&rows, right, NULL, 3, wanted));
    TEST_ASSERT_EQUAL_MEMORY(wanted, made.centres + 2 * made.clusters[0], 2);
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_mean(&rows, left, NULL, 4, wanted));
    TEST_ASSERT_EQUAL_MEMORY(wanted, made.centres + 2 * made.clusters[3], 2);
    free_clusters(&made);
    pml_rows_free(&rows);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_mean_has_enough_rows_of_the_gallery_or_none);
    RUN_TEST(test_centres_leave_out_single_rows_of_the_gallery);
    RUN_TEST(test_thin_clusters_join_as_the_definition_says);
    RUN_TEST(test_no_centre_is_a_row);
    RUN_TEST(test_equal_rows_count_once);
    RUN_TEST(test_rows_that_cancel_out_are_thin);
    return UNITY_END();
}
