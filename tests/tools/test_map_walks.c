/* SPDX-License-Identifier: Apache-2.0
 * Walks end at landmarks as often as the exact solution says. */
#include "map_support.h"

#include "tools/map/map_walks.h"

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_LAPACKE
#include "tools/algebra/algebra.h"

enum { ROWS = 300, LANDMARKS = 12, WALKS = 20000 };

/* Of WALKS walks, the share that ends at a landmark is within 5 standard deviations of its chance. */
static void test_walks_end_as_the_exact_solution_says(void)
{
    static uint32_t ends[WALKS];
    struct pml_rows rows = draw_groups(ROWS, 8, 3, 0.8, 3);
    struct pml_map_walks walks;
    struct pml_matrix chances;
    TEST_ASSERT_TRUE(pml_algebra_start());
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_walks_make(&walks, &rows, 6, LANDMARKS, 9, 2, NULL));
    TEST_ASSERT_TRUE(walks.count >= LANDMARKS && walks.count < ROWS / 2);
    TEST_ASSERT_EQUAL(PML_DONE, pml_matrix_allocate(&chances, ROWS, walks.count));
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_walks_solve(&walks, &chances));
    for (size_t row = 0; row < ROWS; row += 29) {
        double sum = 0.0;
        pml_map_walks_take(&walks, row, WALKS, ends);
        for (size_t l = 0; l < walks.count; l++) {
            const double chance = pml_matrix_row(&chances, row)[l];
            size_t count = 0;
            for (size_t i = 0; i < WALKS; i++)
                count += ends[i] == l;
            sum += chance;
            TEST_ASSERT_DOUBLE_WITHIN(5.0 * sqrt(chance * (1.0 - chance) / WALKS) + 2e-4, chance,
                                      (double)count / WALKS);
        }
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1.0, sum);
    }
    /* From a landmark too: it may end where it began, but only after a step. */
    const size_t own = walks.landmarks[0];
    TEST_ASSERT_TRUE(pml_matrix_row(&chances, own)[0] < 1.0);
    pml_matrix_free(&chances);
    pml_map_walks_free(&walks);
    pml_rows_free(&rows);
}
#else
static void test_walks_end_as_the_exact_solution_says(void)
{
    TEST_IGNORE_MESSAGE("this build has no LAPACKE");
}
#endif

/* Every component has landmarks, however few were asked for: else walks would never end. */
static void test_every_component_has_landmarks(void)
{
    struct pml_rows rows = draw_groups(90, 16, 6, 0.02, 5);
    struct pml_map_walks walks;
    uint32_t ends[50];
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_walks_make(&walks, &rows, 4, 1, 9, 1, NULL));
    TEST_ASSERT_EQUAL(12, walks.count);
    for (size_t row = 0; row < 90; row++) {
        pml_map_walks_take(&walks, row, 50, ends);
        for (size_t i = 0; i < 50; i++)
            TEST_ASSERT_EQUAL(row % 6, walks.landmarks[ends[i]] % 6);
    }
    pml_map_walks_free(&walks);
    pml_rows_free(&rows);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_walks_end_as_the_exact_solution_says);
    RUN_TEST(test_every_component_has_landmarks);
    return UNITY_END();
}
