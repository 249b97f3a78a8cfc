/* SPDX-License-Identifier: Apache-2.0
 * How many cells: half, one or two lists' worth, as f·e^ε says. */
#include "cells_rule.h"
#include "support.h"

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
        {1.0, 0.05, 10},   {4.0, 0.05, 20},     {8.0, 0.05, 40}, {4.0, 0.01, 50}, /* 0.55 */
        {5.0, 0.01, 100},  {8.0, 0.01, 200},    {2.0, 0.5, 2},   {0.001, 0.5, 2},
        {7.37, 0.01, 100}, {7.38, 0.01, 200}, /* 15.9 and 16.03 */
        {4.38, 0.01, 50},  {4.39, 0.01, 100}, /* 0.798 and 0.806 */
        {4.0, 0.03, 33},   {16.0, 1e-6, 65536},
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
