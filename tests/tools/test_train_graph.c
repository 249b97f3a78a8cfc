/* SPDX-License-Identifier: Apache-2.0
 * Kernel methods of graph embedding: they find what is known to be there, by other means or by
 * construction. */
#include "train_support.h"

#include "tools/train/train_graph.h"
#include "tools/train/train_kernels.h"

#include <string.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static struct trained_rows rows, test;
static struct pml_rows mapped(const struct pml_train_result *result, const struct pml_train_set *set)
{
    struct pml_rows out;
    struct pml_message message = {""};
    pml_front front;
    size_t unmapped = 0;
    TEST_ASSERT_EQUAL(PML_OK, pml_front_open(&front, result->bytes[0], result->sizes[0]));
    TEST_ASSERT_EQUAL(PML_DONE, pml_train_map(&front, set, 0, 1, &out, &unmapped, &message));
    TEST_ASSERT_EQUAL_UINT64(0, unmapped);
    return out;
}

/* ---- kpca, against the centred kernel matrix and power iteration ---- */

enum { SMALL = 40, IN = CROSS_COLUMNS, OUT = 3 };

static void make_gram(double width, double gram[SMALL][SMALL])
{
    struct pml_rows quantised;
    struct pml_message message = {""};
    double means[SMALL] = {0.0}, all = 0.0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_train_rows(&rows.set, 0, 1, &quantised, &message));
    for (size_t i = 0; i < SMALL; i++)
        for (size_t j = 0; j < SMALL; j++) {
            double square = 0.0;
            for (size_t x = 0; x < IN; x++) {
                const double step = quantised.values[i * IN + x] * (quantised.inverse[i] * 0x1p-30) -
                                    quantised.values[j * IN + x] * (quantised.inverse[j] * 0x1p-30);
                square += step * step;
            }
            gram[i][j] = exp(-square / (width * width));
            means[i] += gram[i][j] / SMALL;
            all += gram[i][j] / SMALL / SMALL;
        }
    for (size_t i = 0; i < SMALL; i++)
        for (size_t j = 0; j < SMALL; j++)
            gram[i][j] += all - means[i];
    for (size_t i = 0; i < SMALL; i++)
        for (size_t j = 0; j < SMALL; j++)
            gram[j][i] -= means[i];
    pml_rows_free(&quantised);
}

/* The largest eigenvector times the root of its value, which is what a component maps rows to; it is then taken out. */
static void take_component(double gram[SMALL][SMALL], double *component)
{
    double value = 0.0;
    for (size_t i = 0; i < SMALL; i++)
        component[i] = 1.0 + (double)(i * i % 7);
    for (int step = 0; step < 3000; step++) {
        double next[SMALL] = {0.0}, square = 0.0;
        for (size_t i = 0; i < SMALL; i++) {
            for (size_t j = 0; j < SMALL; j++)
                next[i] += gram[i][j] * component[j];
            square += next[i] * next[i];
        }
        value = sqrt(square);
        for (size_t i = 0; i < SMALL; i++)
            component[i] = next[i] / value;
    }
    for (size_t i = 0; i < SMALL; i++)
        for (size_t j = 0; j < SMALL; j++)
            gram[i][j] -= value * component[i] * component[j];
    for (size_t i = 0; i < SMALL; i++)
        component[i] *= sqrt(value);
}

static void test_kpca_is_that_of_the_centred_kernel_matrix(void)
{
    static double gram[SMALL][SMALL];
    double components[OUT][SMALL], dots[OUT] = {0.0}, worst = 1.0;
    draw_classes(&rows, SMALL, IN, 0, 3, 0.2, 4);
    rows.set.labels = NULL;
    struct pml_train_result result = trained(PML_TRAIN_KPCA, &rows.set, OUT, SMALL); /* every row is a centre */
    make_gram(result.widths[0], gram);
    for (size_t k = 0; k < OUT; k++)
        take_component(gram, components[k]);
    struct pml_rows found = mapped(&result, &rows.set);
    for (size_t k = 0; k < OUT; k++)
        for (size_t i = 0; i < SMALL; i++)
            dots[k] += found.values[i * OUT + k] * components[k][i];
    for (size_t i = 0; i < SMALL; i++) { /* up to the sign of each component */
        double dot = 0.0, square = 0.0;
        for (size_t k = 0; k < OUT; k++) {
            dot += found.values[i * OUT + k] * (found.inverse[i] * 0x1p-30) * components[k][i] *
                   (dots[k] < 0.0 ? -1.0 : 1.0);
            square += components[k][i] * components[k][i];
        }
        worst = fmin(worst, dot / sqrt(square));
    }
    TEST_ASSERT_TRUE(worst > 0.99);
    pml_rows_free(&found);
    pml_train_free(&result);
}

/* ---- kda and kmfa, where no line separates ---- */

static struct pml_train_measures measured(const struct pml_train_result *result)
{
    struct pml_train_measures measures;
    struct pml_message message = {""};
    TEST_ASSERT_EQUAL(PML_DONE, pml_train_measure(result, &rows.set, &test.set, 2, &measures, &message));
    return measures;
}

static void test_classes_are_separated_where_no_line_does(void)
{
    draw_cross(&rows, 300, 1);
    draw_cross(&test, 200, 2);
    struct pml_train_result line = trained(PML_TRAIN_LDA, &rows.set, 1, 0);
    TEST_ASSERT_TRUE(measured(&line).nn_accuracy < 0.75);
    pml_train_free(&line);
    for (int method = PML_TRAIN_KDA; method <= PML_TRAIN_KMFA; method++) {
        struct pml_train_result result = trained((pml_train_method)method, &rows.set, 1, 40);
        TEST_ASSERT_TRUE(measured(&result).nn_accuracy > 0.97);
        TEST_ASSERT_TRUE(result.ridge > 0.0 && result.uncertainty == 0.0);
        pml_train_free(&result);
    }
}

/* The vote is counted again, class by class. */
static void test_the_vote_is_that_of_the_five_nearest(void)
{
    size_t right = 0;
    draw_classes(&rows, 200, IN, 0, 4, 0.9, 6);
    draw_classes(&test, 150, IN, 0, 4, 0.9, 6);
    struct pml_train_result result = trained(PML_TRAIN_KDA, &rows.set, 3, 30);
    struct pml_rows known = mapped(&result, &rows.set), asked = mapped(&result, &test.set);
    for (size_t q = 0; q < asked.count; q++) {
        size_t votes[8] = {0}, firsts[8], winner = 0;
        bool used[ROWS_MAX] = {false};
        for (size_t place = 0; place < 5; place++) {
            size_t nearest = SIZE_MAX;
            int64_t best = INT64_MIN;
            for (size_t i = 0; i < known.count; i++) {
                const int64_t score =
                    (int64_t)pml_dot(asked.values + q * 3, known.values + i * 3, 3) * known.inverse[i];
                if (!used[i] && score > best) {
                    best = score;
                    nearest = i;
                }
            }
            used[nearest] = true;
            const size_t class = (size_t)(rows.labels[nearest] + 7) / 5;
            firsts[class] = votes[class]++ == 0 ? place : firsts[class];
        }
        for (size_t c = 0; c < 8; c++)
            if (votes[c] > votes[winner] || (votes[c] == votes[winner] && votes[c] > 0 && firsts[c] < firsts[winner]))
                winner = c;
        right += (size_t)(test.labels[q] + 7) / 5 == winner;
    }
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, (double)right / 150.0, measured(&result).nn_accuracy);
    TEST_ASSERT_TRUE(right < 145); /* hard enough that votes are divided */
    pml_rows_free(&known);
    pml_rows_free(&asked);
    pml_train_free(&result);
}

/* ---- the graphs of kmfa, against their definition ---- */

enum { COUNT = 60, NEAR = 3, MARGIN = 7 };

static double cosine(const struct pml_rows *of, size_t i, size_t j)
{
    return pml_dot(of->values + i * IN, of->values + j * IN, IN) * (of->inverse[i] * 0x1p-30) *
           (of->inverse[j] * 0x1p-30);
}

/* How many rows of the same kind (the class of i, or not) are nearer to i than j is. */
static size_t nearer(const struct pml_rows *of, size_t i, size_t j)
{
    size_t count = 0;
    for (size_t x = 0; x < COUNT; x++)
        count += x != i && rows.labels[x] == rows.labels[i] && cosine(of, i, x) > cosine(of, i, j);
    return count;
}

/* How many pairs of the class of i with other classes are nearer than i and j. */
static size_t nearer_pairs(const struct pml_rows *of, size_t i, size_t j)
{
    size_t count = 0;
    for (size_t a = 0; a < COUNT; a++)
        for (size_t b = 0; b < COUNT; b++)
            count += rows.labels[a] == rows.labels[i] && rows.labels[b] != rows.labels[i] &&
                     cosine(of, a, b) > cosine(of, i, j);
    return count;
}

static void test_graphs_of_kmfa_are_as_defined(void)
{
    struct pml_classes classes;
    struct pml_edges own, other;
    struct pml_rows quantised;
    struct pml_message message = {""};
    draw_classes(&rows, COUNT, IN, 0, 3, 0.6, 11);
    TEST_ASSERT_EQUAL(PML_DONE, pml_train_rows(&rows.set, 0, 1, &quantised, &message));
    TEST_ASSERT_EQUAL(PML_DONE, pml_classes_number(&rows.set, &classes, &message));
    TEST_ASSERT_EQUAL(PML_DONE, pml_edges_marginal(&quantised, &classes, NEAR, MARGIN, 2, &own, &other));
    size_t at_own = 0, at_other = 0;
    for (uint32_t i = 0; i < COUNT; i++)
        for (uint32_t j = i + 1; j < COUNT; j++) {
            const bool same = rows.labels[i] == rows.labels[j];
            if (same && (nearer(&quantised, i, j) < NEAR || nearer(&quantised, j, i) < NEAR)) {
                TEST_ASSERT_TRUE(at_own < own.count && own.edges[at_own].first == i && own.edges[at_own].second == j);
                at_own++;
            }
            if (!same && (nearer_pairs(&quantised, i, j) < MARGIN || nearer_pairs(&quantised, j, i) < MARGIN)) {
                TEST_ASSERT_TRUE(at_other < other.count && other.edges[at_other].first == i &&
                                 other.edges[at_other].second == j);
                at_other++;
            }
        }
    TEST_ASSERT_EQUAL_UINT64(at_own, own.count);
    TEST_ASSERT_EQUAL_UINT64(at_other, other.count);
    TEST_ASSERT_TRUE(other.count >= MARGIN);
    pml_edges_free(&own);
    pml_edges_free(&other);
    pml_classes_free(&classes);
    pml_rows_free(&quantised);
}

static void test_a_given_ridge_is_used(void)
{
    struct pml_train_options options = {
        .method = PML_TRAIN_KDA, .dimensions = 1, .centres = 20, .threads = 1, .ridge = 0.37};
    struct pml_train_result result;
    struct pml_message message = {""};
    draw_cross(&rows, 120, 3);
    TEST_ASSERT_EQUAL(PML_DONE, pml_train(&options, &rows.set, &result, &message));
    TEST_ASSERT_DOUBLE_WITHIN(0.0, 0.37, result.ridge);
    pml_train_free(&result);
}

int main(void)
{
    UNITY_BEGIN();
    if (!pml_train_has_lapack())
        return UNITY_END();
    RUN_TEST(test_kpca_is_that_of_the_centred_kernel_matrix);
    RUN_TEST(test_classes_are_separated_where_no_line_does);
    RUN_TEST(test_the_vote_is_that_of_the_five_nearest);
    RUN_TEST(test_graphs_of_kmfa_are_as_defined);
    RUN_TEST(test_a_given_ridge_is_used);
    return UNITY_END();
}
