/* SPDX-License-Identifier: Apache-2.0
 * Groups of rows that are known. */
#include "tools/groups/group_measures.h"

#include "common/generator.h"
#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 96, COLUMNS = 3 };

static const pml_laplacian laplacians[] = {PML_LAPLACIAN_PLAIN, PML_LAPLACIAN_WALK, PML_LAPLACIAN_SYMMETRIC};

void setUp(void)
{
    TEST_ASSERT_TRUE(pml_groups_has_arpack());
}

void tearDown(void)
{
}

static float values[NODES * COLUMNS];
static int32_t classes[NODES];

/* Two circles around one axis: no centre tells them apart, but their neighbours do. */
static struct pml_features draw_circles(void)
{
    struct pml_generator generator = {5};
    for (size_t i = 0; i < NODES; i++) {
        const double angle = 6.283185307179586 * (double)(i / 2) / (NODES / 2), radius = i % 2 == 0 ? 0.5 : 1.2;
        const double noise = pml_generator_normal(&generator, 1000) * 0.02 / 1000.0;
        classes[i] = (int32_t)(i % 2) * 5 - 2;
        values[i * COLUMNS] = (float)((radius + noise) * cos(angle));
        values[i * COLUMNS + 1] = (float)((radius + noise) * sin(angle));
        values[i * COLUMNS + 2] = 1.0f;
    }
    return (struct pml_features){values, NODES, COLUMNS};
}

static struct pml_groups_options options_of(pml_groups_method method, size_t count)
{
    return (struct pml_groups_options){.method = method,
                                       .count = count,
                                       .laplacian = PML_LAPLACIAN_WALK,
                                       .neighbours = 6,
                                       .rounds = 5,
                                       .remove = 0.1,
                                       .threads = 1};
}

static double nmi_of(const struct pml_groups_options *options, const struct pml_features *features)
{
    struct pml_groups_result result;
    struct pml_message message = {""};
    double nmi = 0.0;
    TEST_ASSERT_EQUAL_INT_MESSAGE(PML_DONE, pml_groups_find(options, features, &result, &message), message.text);
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_group_nmi(result.groups, classes, features->rows, &nmi));
    for (size_t g = 1; g < options->count; g++)
        TEST_ASSERT_TRUE(result.sizes[g] <= result.sizes[g - 1] && result.sizes[g] > 0);
    pml_groups_free(&result);
    return nmi;
}

static void test_circles_need_a_graph(void)
{
    const struct pml_features features = draw_circles();
    struct pml_groups_options options = options_of(PML_GROUPS_KMEANS, 2);
    TEST_ASSERT_TRUE(nmi_of(&options, &features) < 0.3);
    for (size_t l = 0; l < 3; l++)
        for (options.method = PML_GROUPS_SPECTRAL; options.method <= PML_GROUPS_RSC; options.method++) {
            options.laplacian = laplacians[l];
            TEST_ASSERT_DOUBLE_WITHIN(1e-12, 1.0, nmi_of(&options, &features));
        }
}

/* Random edges between circles: without them, the sum of the smallest eigenvalues is less, round by round, and the one
 * that is reported is that of the graph without the edges that are reported. */
static void test_the_trace_falls_and_the_best_is_kept(void)
{
    const struct pml_features features = draw_circles();
    for (size_t l = 0; l < 3; l++) {
        struct pml_groups_options options = options_of(PML_GROUPS_RSC, 2);
        struct pml_groups_result result;
        struct pml_spectrum spectrum;
        uint8_t *removed;
        options.laplacian = laplacians[l];
        options.noise = 0.05;
        TEST_ASSERT_EQUAL_INT(PML_DONE, pml_groups_find(&options, &features, &result, NULL));
        TEST_ASSERT_TRUE(result.rounds >= 2 && result.rounds <= options.rounds + 1);
        for (size_t i = 1; i < result.rounds; i++)
            TEST_ASSERT_TRUE(result.traces[i] < result.traces[i - 1]);
        TEST_ASSERT_TRUE(result.removed > 0 && result.removed <= (size_t)(0.1 * (double)result.graph.count));
        TEST_ASSERT_EQUAL_UINT64(result.removed, result.suspected);
        removed = calloc(result.graph.count, 1);
        TEST_ASSERT_NOT_NULL(removed);
        for (size_t i = 0; i < result.suspected; i++) {
            removed[result.suspects[i].edge] = 1;
            TEST_ASSERT_TRUE(i == 0 || result.suspects[i].score <= result.suspects[i - 1].score);
        }
        TEST_ASSERT_EQUAL_INT(PML_DONE, pml_spectrum_find(&result.graph, removed, laplacians[l], 2, &spectrum, NULL));
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, result.traces[result.rounds - 1], pml_spectrum_trace(&spectrum));
        const struct pml_group_cross cross = pml_group_cross(&result, classes);
        TEST_ASSERT_TRUE(cross.first > 0.8 && cross.first > 5.0 * cross.all && cross.suspects > cross.all);
        free(removed);
        pml_spectrum_free(&spectrum);
        pml_groups_free(&result);
    }
}

static double evenness(const size_t *sizes, size_t count, size_t rows)
{
    double entropy = 0.0;
    for (size_t g = 0; g < count; g++)
        entropy -= (double)sizes[g] / (double)rows * log((double)sizes[g] / (double)rows);
    return exp(entropy);
}

/* Rows without any groups: removing edges cuts off a few of them. Such a round is seen, and not kept. */
static void test_a_collapse_is_seen_and_not_kept(void)
{
    enum { MANY = 200, WANTED = 4 };
    static float many[MANY * COLUMNS];
    const struct pml_features features = {many, MANY, COLUMNS};
    struct pml_generator generator = {7};
    size_t collapses = 0;
    for (size_t draw = 0; draw < 8; draw++) {
        struct pml_groups_options options = options_of(PML_GROUPS_SPECTRAL, WANTED);
        struct pml_groups_result plain, robust;
        for (size_t i = 0; i < MANY * COLUMNS; i++)
            many[i] = (float)pml_generator_normal(&generator, 1000);
        options.rounds = PML_GROUPS_ROUNDS;
        TEST_ASSERT_EQUAL_INT(PML_DONE, pml_groups_find(&options, &features, &plain, NULL));
        options.method = PML_GROUPS_RSC;
        TEST_ASSERT_EQUAL_INT(PML_DONE, pml_groups_find(&options, &features, &robust, NULL));
        collapses += robust.collapsed;
        TEST_ASSERT_TRUE(evenness(robust.sizes, WANTED, MANY) >= 0.9 * evenness(plain.sizes, WANTED, MANY));
        TEST_ASSERT_TRUE(robust.suspected > 0);
        if (robust.rounds == 1)
            TEST_ASSERT_EQUAL_INT32_ARRAY(plain.groups, robust.groups, MANY);
        pml_groups_free(&plain);
        pml_groups_free(&robust);
    }
    TEST_ASSERT_TRUE(collapses >= 2);
}

static void test_threads_change_nothing(void)
{
    const struct pml_features features = draw_circles();
    struct pml_groups_options options = options_of(PML_GROUPS_RSC, 6);
    struct pml_groups_result one, three;
    options.noise = 0.1;
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_groups_find(&options, &features, &one, NULL));
    options.threads = 3;
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_groups_find(&options, &features, &three, NULL));
    TEST_ASSERT_EQUAL_INT32_ARRAY(one.groups, three.groups, NODES);
    TEST_ASSERT_EQUAL_MEMORY(one.traces, three.traces, sizeof one.traces);
    pml_groups_free(&one);
    pml_groups_free(&three);
}

/* Rows between those of one circle belong to it. */
static void test_other_rows_get_the_group_of_their_nearest(void)
{
    enum { OTHERS = 70 };
    const struct pml_features known = draw_circles();
    float other[OTHERS * COLUMNS];
    int32_t out[OTHERS];
    for (size_t i = 0; i < OTHERS; i++) {
        const double angle = 0.01 + 6.283185307179586 * (double)i / OTHERS, radius = i % 3 == 0 ? 0.55 : 1.15;
        other[i * COLUMNS] = (float)(radius * cos(angle));
        other[i * COLUMNS + 1] = (float)(radius * sin(angle));
        other[i * COLUMNS + 2] = 1.0f;
    }
    const struct pml_features features = {other, OTHERS, COLUMNS};
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_groups_assign(&known, classes, &features, 2, NULL, out));
    for (size_t i = 0; i < OTHERS; i++)
        TEST_ASSERT_EQUAL_INT32(classes[i % 3 == 0 ? 0 : 1], out[i]);
    const struct pml_features few = {values, 3, COLUMNS}; /* fewer than vote: inner, outer, inner */
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_groups_assign(&few, classes, &features, 1, NULL, out));
    for (size_t i = 0; i < OTHERS; i++)
        TEST_ASSERT_EQUAL_INT32(classes[0], out[i]);
}

static void refuse(struct pml_groups_options options, size_t rows, const char *why)
{
    const struct pml_features features = {values, rows, COLUMNS};
    struct pml_groups_result result;
    struct pml_message message = {""};
    TEST_ASSERT_EQUAL_INT(PML_REFUSED, pml_groups_find(&options, &features, &result, &message));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(message.text, why), message.text);
    TEST_ASSERT_NULL(result.groups);
}

static void test_what_cannot_be_grouped_is_refused(void)
{
    draw_circles();
    refuse(options_of(PML_GROUPS_KMEANS, 2), 1, "1 rows cannot make 2 groups");
    refuse(options_of(PML_GROUPS_SPECTRAL, 8), 7, "7 rows cannot make 8 groups");
    refuse(options_of(PML_GROUPS_SPECTRAL, 7), 7, "as many groups");
    refuse(options_of(PML_GROUPS_RSC, 2), 6, "6 neighbours");
    for (size_t i = 0; i < 20 * COLUMNS; i++)
        values[i] = values[i % (3 * COLUMNS)]; /* three rows, again and again */
    refuse(options_of(PML_GROUPS_KMEANS, 4), 20, "3 distinct rows");
    struct pml_groups_options few = options_of(PML_GROUPS_SPECTRAL, 2);
    few.neighbours = 2; /* each row has its own copies for neighbours */
    refuse(few, 20, "3 parts");
    values[4] = NAN;
    refuse(options_of(PML_GROUPS_RSC, 2), 20, "row 1 ");
}

static void test_mutual_information(void)
{
    const int32_t one[] = {0, 0, 1, 1, 2, 2}, same[] = {7, 7, -3, -3, 0, 0}, half[] = {0, 1, 0, 1, 0, 1},
                  flat[] = {4, 4, 4, 4, 4, 4}, two[] = {0, 0, 0, 1, 1, 1};
    double nmi;
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_group_nmi(one, same, 6, &nmi));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 1.0, nmi);
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_group_nmi(one, half, 6, &nmi));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.0, nmi);
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_group_nmi(one, flat, 6, &nmi));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.0, nmi);
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_group_nmi(flat, flat, 6, &nmi));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 1.0, nmi);
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_group_nmi(one, two, 6, &nmi));
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 0.515804, nmi); /* (4/3) / (log2 3 + 1) */
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_circles_need_a_graph);
    RUN_TEST(test_the_trace_falls_and_the_best_is_kept);
    RUN_TEST(test_a_collapse_is_seen_and_not_kept);
    RUN_TEST(test_threads_change_nothing);
    RUN_TEST(test_other_rows_get_the_group_of_their_nearest);
    RUN_TEST(test_what_cannot_be_grouped_is_refused);
    RUN_TEST(test_mutual_information);
    return UNITY_END();
}
