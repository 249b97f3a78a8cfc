/* SPDX-License-Identifier: Apache-2.0
 * The exponential of integers (SPEC 5.5): against the reference, near the real one, never growing. */
#include "base/exponential.h"
#include "golden/vectors.h"
#include "support/support.h"

#include <math.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_GAUSSIAN || PML_WITH_FRONT

static void test_the_exponential_is_the_reference(void)
{
    for (size_t i = 0; i < GOLDEN_EXPONENTIAL_COUNT; i++)
        TEST_ASSERT_EQUAL_UINT32(golden_exponentials[i].value, pml_exp31(golden_exponentials[i].x));
}

/* In steps that meet every binade many times, and one by one around the powers of two of the result. */
static void test_the_exponential_never_grows_and_is_near(void)
{
    const double half = 0x1p58 / 3098164009.0;
    uint32_t last = pml_exp31(0);
    TEST_ASSERT_EQUAL_UINT32(1u << 31, last);
    for (uint64_t x = 0; x < (uint64_t)1 << 32; x += 32749) {
        const uint32_t value = pml_exp31((uint32_t)x);
        TEST_ASSERT_TRUE(value <= last);
        TEST_ASSERT_TRUE(fabs(value - 0x1p31 * exp(-(double)x * 0x1p-27)) <= 8.0);
        last = value;
    }
    TEST_ASSERT_EQUAL_UINT32(0, pml_exp31(UINT32_MAX));
    for (int n = 1; n < 46; n++) {
        const uint32_t at = (uint32_t)(n * half);
        last = pml_exp31(at - 1000);
        for (uint32_t x = at - 1000; x < at + 1000; x++) {
            TEST_ASSERT_TRUE(pml_exp31(x) <= last);
            last = pml_exp31(x);
            TEST_ASSERT_TRUE(fabs(last - 0x1p31 * exp(-(double)x * 0x1p-27)) <= 8.0);
        }
    }
}

/* λ(1 − cosine) is at most 2^17; from 32 on the argument stays at its most. */
static void test_a_kernel_is_bounded_whatever_its_bandwidth(void)
{
    const int64_t one = (int64_t)1 << 60;
    TEST_ASSERT_EQUAL_UINT32(1u << 31, pml_kernel31(one, UINT32_MAX));
    TEST_ASSERT_EQUAL_UINT32(0, pml_kernel31(-one, UINT32_MAX));
    for (uint64_t lambda = 1; lambda <= UINT32_MAX; lambda = lambda * 3 / 2 + 1) {
        uint32_t last = 1u << 31;
        for (int64_t step = -64; step <= 64; step++) {
            const uint32_t value = pml_kernel31(-step * (one / 64), (uint32_t)lambda);
            const double exact = 0x1p31 * exp(-(double)lambda / 65536.0 * (1.0 + (double)step / 64.0));
            TEST_ASSERT_TRUE(value <= last && fabs(value - exact) <= 9.0 + exact * (double)lambda * 0x1p-46);
            last = value;
        }
    }
}

#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_GAUSSIAN || PML_WITH_FRONT
    RUN_TEST(test_the_exponential_is_the_reference);
    RUN_TEST(test_the_exponential_never_grows_and_is_near);
    RUN_TEST(test_a_kernel_is_bounded_whatever_its_bandwidth);
#endif
    return UNITY_END();
}
