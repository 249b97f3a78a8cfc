/* SPDX-License-Identifier: Apache-2.0
 * How many cells: as few as small ε can tell apart, else what balances lists and noise. */
#include "support/support.h"
#include "tools/pack/cells_rule.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void test_the_rule(void)
{
    static const struct {
        double epsilon, share;
        unsigned cells;
    } cases[] = {
        {0.5, 0.01, 2},  {1.0, 0.01, 4},  {1.0, 0.1, 3},   {2.0, 0.02, 11}, /* three of these by 1.5·e^ε */
        {4.0, 0.01, 44}, {4.0, 0.05, 16}, {4.0, 0.1, 10},  {6.0, 0.01, 92},     {8.0, 0.01, 193},  {8.0, 0.02, 125},
        {8.0, 0.1, 45},  {2.0, 0.5, 2},   {0.001, 0.5, 2}, {16.0, 1e-6, 65536}, {16.0, 0.07, 114},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        TEST_ASSERT_EQUAL_UINT(cases[i].cells, pml_cells_rule(cases[i].epsilon, cases[i].share));
}

/* Down comes the own answer and those to the fakes: f·(1 + m·fakes) = total. */
static void test_the_rule_for_a_crowd(void)
{
    static const struct {
        double total, fakes, floor;
        size_t rows, slots;
        unsigned cells;
        double share;
    } cases[] = {
        {0.02, 279.2e-6, 10.0, 4125, 1, 587, 0.0171837},
        {0.03, 279.2e-5, 10.0, 4125, 1, 213, 0.0188124},
        {0.02, 279.2e-6, 8.0, 4125, 1, 225, 0.0188178},
        {0.02, 0.0, 10.0, 4125, 1, 783, 0.02}, /* fakes by the relay */
        {0.02, 0.0, 10.0, 2000, 1, 500, 0.02},
        {0.02, 279.2e-6, 10.0, 2000, 1, 500, 0.0175500},
        {0.5, 16.0, 1.0, 4125, 1, 2, 0.0151515},
        {1e-6, 0.0, 16.0, 3, 1, 2, 1e-6},
        {1e-6, 0.0, 16.0, 1u << 24, 1, 65536, 1e-6},
        {0.2, 279.2e-6, 10.0, 40000, 20, 49, 0.1570332}, /* a message names one of 980 symbols */
        {0.2, 0.0, 10.0, 4125, 200, 5, 0.2},             /* a quarter of a slot's rows */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct pml_crowd_cells crowd =
            pml_cells_rule_crowd(cases[i].total, cases[i].fakes, cases[i].floor, cases[i].rows, cases[i].slots);
        TEST_ASSERT_EQUAL_UINT(cases[i].cells, crowd.cells);
        TEST_ASSERT_DOUBLE_WITHIN(1e-7, cases[i].share, crowd.share);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_the_rule);
    RUN_TEST(test_the_rule_for_a_crowd);
    return UNITY_END();
}
