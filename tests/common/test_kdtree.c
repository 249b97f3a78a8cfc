/* SPDX-License-Identifier: Apache-2.0
 * The tree finds what a look at every point finds, in the same order. */
#include "common/rows/kdtree.h"
#include "privacy/draws.h"
#include "support/support.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static uint64_t state = 7;

/* The next best after (*square, *index), by looking at all points. */
static void next_nearest(const double *points, size_t count, unsigned k, const double *query, uint32_t except,
                         double *square, uint32_t *index)
{
    double best = -1;
    uint32_t best_index = 0;
    for (uint32_t i = 0; i < count; i++) {
        double sum = 0;
        for (unsigned c = 0; c < k; c++)
            sum += (query[c] - points[i * k + c]) * (query[c] - points[i * k + c]);
        bool later = sum > *square || (sum == *square && (*index == PML_KDTREE_ALL || i > *index));
        if (i != except && later && (best < 0 || sum < best)) {
            best = sum;
            best_index = i;
        }
    }
    *square = best;
    *index = best_index;
}

static void check_query(const struct pml_kdtree *tree, const double *points, size_t count, unsigned k,
                        const double *query, uint32_t except)
{
    uint32_t indices[64], right = PML_KDTREE_ALL;
    double squares[64], square = 0;
    unsigned most = (unsigned)(count - (except < count)), wanted = most < 64 ? most : 64;
    if (wanted > 5)
        wanted = (unsigned)draw_between(&state, 1, wanted);
    pml_kdtree_nearest(tree, query, wanted, except, indices, squares);
    for (unsigned i = 0; i < wanted; i++) {
        next_nearest(points, count, k, query, except, &square, &right);
        TEST_ASSERT_EQUAL_UINT32(right, indices[i]);
        TEST_ASSERT_EQUAL_DOUBLE(square, squares[i]);
    }
}

/* `spread`: coordinates are whole numbers up to it, so a small one makes ties and equal points. */
static void check_points(size_t count, unsigned k, int64_t spread)
{
    double *points = malloc(count * k * sizeof *points), query[16];
    struct pml_kdtree *tree;
    TEST_ASSERT_NOT_NULL(points);
    for (size_t i = 0; i < count * k; i++)
        points[i] = (double)draw_between(&state, -spread, spread) / 3.0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_kdtree_build(&tree, points, count, k));
    for (size_t i = 0; i < rounds(30); i++) {
        uint32_t own = (uint32_t)draw_below(&state, count);
        for (unsigned c = 0; c < k; c++)
            query[c] = (double)draw_between(&state, -spread - 1, spread + 1) / 3.0;
        check_query(tree, points, count, k, query, PML_KDTREE_ALL);
        check_query(tree, points, count, k, points + own * k, own);
    }
    for (unsigned c = 0; c < k; c++)
        query[c] = c % 2 ? 1e14 : -1e14; /* far off, where differences are rounded away */
    check_query(tree, points, count, k, query, PML_KDTREE_ALL);
    pml_kdtree_free(tree);
    free(points);
}

static void test_every_dimension_and_number(void)
{
    const size_t counts[] = {1, 2, 3, 31, 32, 33, 64, 65, 97, 1000};
    const int64_t spreads[] = {0, 1, 3, 1000000};
    for (unsigned k = 1; k <= 16; k += k < 4 ? 1 : 4)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            for (size_t j = 0; j < sizeof spreads / sizeof spreads[0]; j++)
                check_points(counts[i], k, spreads[j]);
}

static void test_none_is_wanted(void)
{
    const double point[2] = {1, 2};
    struct pml_kdtree *tree;
    TEST_ASSERT_EQUAL(PML_DONE, pml_kdtree_build(&tree, point, 1, 2));
    pml_kdtree_nearest(tree, point, 0, 0, NULL, NULL);
    pml_kdtree_free(tree);
    pml_kdtree_free(NULL);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_dimension_and_number);
    RUN_TEST(test_none_is_wanted);
    return UNITY_END();
}
