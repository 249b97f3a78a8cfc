/* SPDX-License-Identifier: Apache-2.0
 * The parts of maps: the tree that pushes points apart, graphs of neighbours, affinities, eigenvectors. */
#include "map_support.h"

#include "tools/map/map_affinity.h"
#include "tools/map/map_descent.h"
#include "tools/map/map_graph.h"
#include "tools/map/map_lanczos.h"
#include "tools/map/map_shelves.h"
#include "tools/map/map_tree.h"

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- tree ---- */

enum { POINTS = 1500 };
static float places[2 * POINTS], push[2 * POINTS];

/* Every pair, as pml_map_tree_push is defined. Returns the sum of all q. */
static double push_exactly(double *exact)
{
    double sum = 0.0;
    for (size_t i = 0; i < POINTS; i++) {
        exact[2 * i] = exact[2 * i + 1] = 0.0;
        for (size_t j = 0; j < POINTS; j++) {
            const double dx = (double)places[2 * i] - (double)places[2 * j];
            const double dy = (double)places[2 * i + 1] - (double)places[2 * j + 1],
                         q = 1.0 / (1.0 + dx * dx + dy * dy);
            exact[2 * i] += q * q * dx;
            exact[2 * i + 1] += q * q * dy;
            sum += q;
        }
    }
    return sum;
}

/* How far the tree's pushes are from the true ones, of their size; and its sum from the true one. */
static void assert_pushes(float theta, double near, double near_sum)
{
    static double exact[2 * POINTS];
    struct pml_map_tree tree;
    double sum = 0.0, apart = 0.0, size = 0.0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_tree_allocate(&tree, POINTS, theta));
    pml_map_tree_fill(&tree, places);
    for (size_t group = 0; group < pml_map_tree_groups(&tree); group++)
        sum += pml_map_tree_push(&tree, group, push);
    const double exact_sum = push_exactly(exact);
    for (size_t i = 0; i < 2 * POINTS; i++) {
        apart += ((double)push[i] - exact[i]) * ((double)push[i] - exact[i]);
        size += exact[i] * exact[i];
    }
    TEST_ASSERT_TRUE(sqrt(apart) <= near * sqrt(size));
    TEST_ASSERT_DOUBLE_WITHIN(near_sum * exact_sum, exact_sum, sum);
    pml_map_tree_free(&tree);
}

static void draw_places(double spread, size_t islands)
{
    struct pml_generator generator = pml_generator_start(5, 1);
    for (size_t i = 0; i < 2 * POINTS; i++)
        places[i] =
            (float)(spread * draw_normal(&generator) + 12.0 * (double)(i / 2 % islands) * (i % 2 == 0 ? 1.0 : -0.5));
}

static void test_the_tree_pushes_like_all_pairs(void)
{
    draw_places(3.0, 4);
    assert_pushes(0.5f, 2e-2, 1e-2);
    assert_pushes(1e-6f, 1e-5, 1e-5); /* takes nothing together */
    draw_places(1e-4, 1);             /* as a descent begins */
    assert_pushes(0.5f, 2e-2, 1e-5);
}

static void test_points_on_one_place(void)
{
    draw_places(2.0, 1);
    for (size_t i = 0; i < POINTS; i += 2)
        places[2 * i] = places[2 * i + 1] = 1.0f;
    assert_pushes(0.5f, 2e-2, 2e-3);
    for (size_t i = 0; i < 2 * POINTS; i++)
        places[i] = 7.0f;
    assert_pushes(0.5f, 0.0, 1e-6);
}

/* ---- graphs ---- */

static void test_neighbours_are_the_nearest(void)
{
    struct pml_rows rows = draw_groups(90, 12, 3, 0.4, 2);
    struct pml_map_sparse lists = {0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_neighbours(&rows, 7, 2, NULL, &lists));
    for (size_t i = 0; i < rows.count; i++) {
        size_t nearer = 0;
        const double last = pml_map_square(&rows, i, lists.ends[7 * i + 6]);
        for (size_t j = 0; j < rows.count; j++)
            nearer += j != i && pml_map_square(&rows, i, j) < last - 1e-6;
        TEST_ASSERT_TRUE(nearer <= 6);
        for (size_t e = 7 * i; e < 7 * i + 7; e++) {
            double dot = 0.0, left = 0.0, right = 0.0;
            for (size_t k = 0; k < 12; k++) {
                const double a = rows.values[i * 12 + k], b = rows.values[(size_t)lists.ends[e] * 12 + k];
                dot += a * b, left += a * a, right += b * b;
            }
            TEST_ASSERT_DOUBLE_WITHIN(1e-6, 2.0 - 2.0 * dot / sqrt(left * right), (double)lists.values[e]);
        }
    }
    pml_map_sparse_free(&lists);
    pml_rows_free(&rows);
}

static void test_symmetric_matrices(void)
{
    /* 0 → 1 (2), 0 → 2 (3), 1 → 0 (5), 2 → 1 (7) */
    size_t starts[] = {0, 2, 3, 4};
    uint32_t ends[] = {1, 2, 0, 1};
    float values[] = {2, 3, 5, 7};
    const struct pml_map_sparse lists = {3, starts, ends, values};
    uint32_t expected_ends[] = {1, 2, 0, 2, 0, 1};
    float summed[] = {7, 3, 7, 7, 3, 7};
    struct pml_map_sparse sum = {0}, either = {0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_symmetric(&lists, false, &sum));
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_symmetric(&lists, true, &either));
    TEST_ASSERT_EQUAL(6, sum.starts[3]);
    TEST_ASSERT_EQUAL_UINT32_ARRAY(expected_ends, sum.ends, 6);
    TEST_ASSERT_EQUAL_UINT32_ARRAY(expected_ends, either.ends, 6);
    TEST_ASSERT_EQUAL_FLOAT_ARRAY(summed, sum.values, 6);
    TEST_ASSERT_EQUAL_FLOAT(3.0f, either.values[1]);
    pml_map_sparse_free(&sum);
    pml_map_sparse_free(&either);
}

static void test_components(void)
{
    size_t starts[] = {0, 1, 2, 3, 4, 4};
    uint32_t ends[] = {2, 3, 0, 1}, components[5], expected[] = {0, 1, 0, 1, 2};
    float values[] = {1, 1, 1, 1};
    const struct pml_map_sparse graph = {5, starts, ends, values};
    size_t count;
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_components(&graph, components, &count));
    TEST_ASSERT_EQUAL(3, count);
    TEST_ASSERT_EQUAL_UINT32_ARRAY(expected, components, 5);
}

static void test_parts_lie_apart(void)
{
    double shelved[24] = {0, 0, 1, 1, 2, 0, 0, 2, -5, -5, -6, -5, -5, -8, 1e6, 1e6, 1e6, 1e6, 3, 3, 3, 4, 4, 3};
    const size_t starts[] = {0, 4, 7, 9, 12};
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_shelves(shelved, starts, 4));
    for (size_t a = 0; a < 4; a++)
        for (size_t b = 0; b < a; b++) {
            double box[2][4] = {{1e9, 1e9, -1e9, -1e9}, {1e9, 1e9, -1e9, -1e9}};
            for (size_t side = 0; side < 2; side++)
                for (size_t i = starts[side ? a : b]; i < starts[(side ? a : b) + 1]; i++)
                    for (size_t axis = 0; axis < 2; axis++) {
                        box[side][axis] = fmin(box[side][axis], shelved[2 * i + axis]);
                        box[side][axis + 2] = fmax(box[side][axis + 2], shelved[2 * i + axis]);
                    }
            TEST_ASSERT_TRUE(box[0][2] < box[1][0] || box[1][2] < box[0][0] || box[0][3] < box[1][1] ||
                             box[1][3] < box[0][1]);
        }
}

/* ---- affinities ---- */

static void test_affinities_have_the_perplexity(void)
{
    struct pml_generator generator = pml_generator_start(4, 1);
    double squares[100], shares[100];
    for (size_t i = 0; i < 100; i++)
        squares[i] = fabs(draw_normal(&generator)) + 0.2;
    for (double perplexity = 2.0; perplexity < 60.0; perplexity *= 2.5) {
        double entropy = 0.0, sum = 0.0;
        pml_map_affinities(squares, 100, perplexity, shares);
        for (size_t i = 0; i < 100; i++) {
            sum += shares[i];
            entropy -= shares[i] > 0.0 ? shares[i] * log(shares[i]) : 0.0;
        }
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1.0, sum);
        TEST_ASSERT_DOUBLE_WITHIN(1e-3 * perplexity, perplexity, exp(entropy));
    }
    for (size_t i = 0; i < 100; i++)
        squares[i] = 0.0; /* copies share alike */
    pml_map_affinities(squares, 100, 30.0, shares);
    for (size_t i = 0; i < 100; i++)
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.01, shares[i]);
}

static void test_joint_affinities_are_symmetric(void)
{
    struct pml_rows rows = draw_groups(120, 10, 3, 0.3, 7);
    struct pml_map_sparse joint = {0};
    double sum = 0.0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_joint(&rows, 10.0, 2, NULL, &joint));
    for (size_t i = 0; i < rows.count; i++)
        for (size_t e = joint.starts[i]; e < joint.starts[i + 1]; e++) {
            const size_t j = joint.ends[e];
            size_t back = joint.starts[j];
            while (back < joint.starts[j + 1] && joint.ends[back] != i)
                back++;
            TEST_ASSERT_TRUE(back < joint.starts[j + 1]);
            TEST_ASSERT_EQUAL_FLOAT(joint.values[e], joint.values[back]);
            sum += (double)joint.values[e];
        }
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, 1.0, sum);
    pml_map_sparse_free(&joint);
    pml_rows_free(&rows);
}

/* ---- descent ---- */

/* A ring in which every row also attracts every other one. Exaggerated, that draws all rows together, up to the last bit. */
static void test_rows_that_attract_all_others_spread(void)
{
    enum { RING = 128, ENTRIES = RING * (RING - 1) };
    static size_t starts[RING + 1];
    static uint32_t ends[ENTRIES];
    static float values[ENTRIES];
    static double laid[2 * RING];
    const struct pml_map_sparse joint = {RING, starts, ends, values};
    const struct pml_map_options options = {.threads = 1};
    double divergence;
    for (size_t i = 0, at = 0; i < RING; i++) {
        for (size_t j = 0; j < RING; j++) {
            const size_t apart = (j + RING - i) % RING;
            if (apart == 0)
                continue;
            ends[at] = (uint32_t)j;
            values[at++] = 0.9f / (float)ENTRIES + (apart == 1 || apart == RING - 1 ? 0.05f / (float)RING : 0.0f);
        }
        starts[i + 1] = at;
        laid[2 * i] = 1e-4 * sin((double)(7 * i));
        laid[2 * i + 1] = 1e-4 * cos((double)(11 * i * i));
    }
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_descend(&joint, &options, laid, &divergence));
    for (size_t axis = 0; axis < 2; axis++) {
        double squares = 0.0, sum = 0.0;
        for (size_t i = 0; i < RING; i++) {
            sum += laid[2 * i + axis];
            squares += laid[2 * i + axis] * laid[2 * i + axis];
        }
        TEST_ASSERT_TRUE(sqrt(squares / (double)RING - sum * sum / (double)RING / (double)RING) > 0.1);
    }
}

/* ---- eigenvectors ---- */

static pml_outcome apply_diagonal(void *context, const double *in, double *out)
{
    const double *diagonal = context;
    for (size_t i = 0; i < 200; i++)
        out[i] = diagonal[i] * in[i];
    return PML_DONE;
}

static void test_lanczos_finds_the_largest(void)
{
    double diagonal[200], values[3], vectors[600];
    for (size_t i = 0; i < 200; i++)
        diagonal[i] = 1.0 + sin((double)i);
    diagonal[17] = 5.0;
    diagonal[90] = 4.0;
    diagonal[3] = 3.0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_lanczos(apply_diagonal, diagonal, 200, 3, 1, values, vectors));
    TEST_ASSERT_DOUBLE_WITHIN(1e-8, 5.0, values[0]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-8, 4.0, values[1]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-8, 3.0, values[2]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 1.0, vectors[17]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 1.0, vectors[200 + 90]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 1.0, vectors[400 + 3]);
    memset(diagonal, 0, sizeof diagonal); /* nothing to find */
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_lanczos(apply_diagonal, diagonal, 200, 3, 1, values, vectors));
    TEST_ASSERT_DOUBLE_WITHIN(0.0, 0.0, vectors[17]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_the_tree_pushes_like_all_pairs);
    RUN_TEST(test_points_on_one_place);
    RUN_TEST(test_neighbours_are_the_nearest);
    RUN_TEST(test_symmetric_matrices);
    RUN_TEST(test_components);
    RUN_TEST(test_parts_lie_apart);
    RUN_TEST(test_affinities_have_the_perplexity);
    RUN_TEST(test_joint_affinities_are_symmetric);
    RUN_TEST(test_rows_that_attract_all_others_spread);
    RUN_TEST(test_lanczos_finds_the_largest);
    return UNITY_END();
}
