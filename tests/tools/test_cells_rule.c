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

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_the_rule);
    return UNITY_END();
}
