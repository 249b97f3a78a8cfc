/* SPDX-License-Identifier: Apache-2.0
 * Exact integer arithmetic against wider integers, and quantising against its definition. */
#define __ARM_ARCH_6M__ 1 /* the products of halves, which no other machine runs */
#include "base/exact.h"
#include "draws.h"
#include "stages/stages.h"
#include "support/support.h"

#include <float.h>
#include <math.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- products ---- */

static void check_products(uint32_t a, uint32_t b)
{
    TEST_ASSERT_EQUAL_UINT64((uint64_t)a * b, multiply(a, b));
    TEST_ASSERT_EQUAL_INT64((int64_t)(int32_t)a * (int64_t)b, multiply_signed((int32_t)a, b));
}

static void test_products_of_halves_are_the_whole_product(void)
{
    const uint32_t edges[] = {0,          1,          2,          0xFFFF,     0x10000,    0x10001,
                              0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFF0000, 0xFFFE0001, 0xFFFFFFFF};
    uint64_t state = 8;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        for (size_t j = 0; j < sizeof edges / sizeof edges[0]; j++)
            check_products(edges[i], edges[j]);
    for (size_t i = 0; i < rounds(300000); i++)
        check_products((uint32_t)draw64(&state), (uint32_t)(draw64(&state) >> 32));
}

/* ---- roots ---- */

static void check_sqrt(uint64_t v)
{
    uint64_t root = pml_sqrt_floor(v);
    TEST_ASSERT_TRUE(root * root <= v);
    TEST_ASSERT_TRUE((root + 1) * (root + 1) - 1 >= v); /* 2^64 − 1 for the largest root */
}

static void test_sqrt_floor_is_the_floor_of_the_root(void)
{
    uint64_t state = 1;
    for (uint64_t v = 0; v < 70000; v++)
        check_sqrt(v);
    for (size_t i = 0; i < rounds(200000); i++) {
        uint64_t root = 1 + draw_below(&state, 0xFFFFFFFF);
        check_sqrt(root * root);
        check_sqrt(root * root - 1);
        check_sqrt(draw64(&state) >> draw_below(&state, 64));
    }
    check_sqrt(~(uint64_t)0);
    check_sqrt((uint64_t)0xFFFFFFFF * 0xFFFFFFFF);
    check_sqrt((uint64_t)0xFFFFFFFF * 0xFFFFFFFF - 1);
}

static void check_inverse_sqrt(uint32_t norm2)
{
    uint64_t r = pml_inverse_sqrt(norm2), limit = ((uint64_t)1 << 60) / norm2;
    TEST_ASSERT_TRUE(r * r <= limit);
    TEST_ASSERT_TRUE((r + 1) * (r + 1) > limit);
}

static void test_inverse_sqrt_is_the_largest_that_fits(void)
{
    const uint32_t largest = (uint32_t)1 << 26; /* of rows; lengths of decoded sketches go up to 2^32 */
    uint64_t state = 2;
    TEST_ASSERT_EQUAL_UINT32(0, pml_inverse_sqrt(0));
    TEST_ASSERT_EQUAL_UINT32((uint32_t)1 << 30, pml_inverse_sqrt(1));
    TEST_ASSERT_EQUAL_UINT32((uint32_t)1 << 17, pml_inverse_sqrt(largest));
    for (uint32_t norm2 = 1; norm2 <= 1 << 16; norm2++)
        check_inverse_sqrt(norm2);
    for (unsigned half = 8; half <= 15; half++) { /* powers of four divide 2^60 without a rest */
        check_inverse_sqrt(((uint32_t)1 << 2 * half) - 1);
        check_inverse_sqrt((uint32_t)1 << 2 * half);
        check_inverse_sqrt(((uint32_t)1 << 2 * half) + 1);
    }
    for (size_t i = 0; i < rounds(500000); i++) {
        check_inverse_sqrt(1 + (uint32_t)draw_below(&state, largest));
        check_inverse_sqrt((uint32_t)draw64(&state) | 1);
    }
    check_inverse_sqrt(UINT32_MAX);
    for (uint32_t root = 1; root <= 65535; root++) {
        check_inverse_sqrt(root * root);
        if (root > 1)
            check_inverse_sqrt(root * root - 1);
    }
}

static void test_inverse_norm_takes_the_sum_of_squares(void)
{
    uint64_t state = 3;
    int8_t row[PML_FEATURES_MAX];
    for (size_t i = 0; i < rounds(2000); i++) {
        size_t count = 1 + draw_size(&state, i < 10 ? PML_FEATURES_MAX : 64);
        uint32_t norm2 = 0;
        for (size_t j = 0; j < count; j++) {
            row[j] = (int8_t)draw_between(&state, -127, 127);
            norm2 += (uint32_t)(row[j] * row[j]);
        }
        TEST_ASSERT_EQUAL_UINT32(pml_inverse_sqrt(norm2), pml_inverse_norm(row, count));
    }
    memset(row, 127, sizeof row);
    check_inverse_sqrt(127 * 127 * PML_FEATURES_MAX);
    TEST_ASSERT_EQUAL_UINT32(pml_inverse_sqrt(127 * 127 * PML_FEATURES_MAX), pml_inverse_norm(row, sizeof row));
    memset(row, 0, sizeof row);
    TEST_ASSERT_EQUAL_UINT32(0, pml_inverse_norm(row, sizeof row));
}

/* ---- ratios ---- */

static void check_scale(uint64_t value, uint64_t max)
{
    uint64_t exact = (254 * value + max) / (2 * max); /* max < 2^55 */
    TEST_ASSERT_EQUAL_UINT32((uint32_t)exact, pml_scale_127(value, max));
}

static void test_scale_127_rounds_the_exact_ratio(void)
{
    const uint64_t largest = ((uint64_t)1 << 55) - 1;
    uint64_t state = 4;
    for (uint64_t max = 1; max <= 600; max++)
        for (uint64_t value = 0; value <= max; value++)
            check_scale(value, max);
    for (size_t i = 0; i < rounds(300000); i++) {
        uint64_t max = 1 + (draw_below(&state, largest) >> draw_below(&state, 54));
        uint64_t tie = (2 * draw_below(&state, 127) + 1) * (max / 254); /* half a unit, when 254 divides max */
        check_scale(draw_below(&state, max + 1), max);
        check_scale(max, max);
        for (uint64_t near = tie > 1 ? tie - 1 : 0; near <= tie + 1 && near <= max / 254 * 254; near++)
            check_scale(near, max < 254 ? max : max / 254 * 254);
    }
    check_scale(largest, largest);
    check_scale(0, largest);
    check_scale(largest / 2, largest);
}

/* ⌊a/b⌋ and ⌈a/b⌉ without C's division of negatives */
static int64_t floor_of(int64_t a, int64_t b)
{
    uint64_t size = 0 - (uint64_t)a;
    return a >= 0 ? a / b : (int64_t)(0 - (size / (uint64_t)b + (size % (uint64_t)b != 0)));
}

static int64_t ceil_of(int64_t a, int64_t b)
{
    return a > 0 ? (a - 1) / b + 1 : (int64_t)(0 - (0 - (uint64_t)a) / (uint64_t)b);
}

static void check_divide(int64_t a, int64_t b)
{
    TEST_ASSERT_EQUAL_INT64(floor_of(a, b), divide_floor(a, b));
    TEST_ASSERT_EQUAL_INT64(ceil_of(a, b), divide_ceil(a, b));
    if (a < (int64_t)1 << 61 && a > -((int64_t)1 << 61) && b < (int64_t)1 << 61)
        TEST_ASSERT_EQUAL_INT64(floor_of(2 * a + b, 2 * b), divide_round(a, b));
}

static void test_division_rounds_down_up_and_to_nearest(void)
{
    uint64_t state = 5;
    for (int64_t a = -300; a <= 300; a++)
        for (int64_t b = 1; b <= 60; b++)
            check_divide(a, b);
    for (size_t i = 0; i < rounds(300000); i++) {
        int64_t a = (int64_t)draw64(&state) >> draw_below(&state, 63);
        int64_t b = 1 + (int64_t)(draw64(&state) >> (2 + draw_below(&state, 61)));
        check_divide(a, b);
    }
    const int64_t edges[] = {INT64_MAX, INT64_MIN, INT64_MIN + 1, ((int64_t)1 << 61) - 1, 1 - ((int64_t)1 << 61)};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        for (int64_t b = 1; b < 10; b++)
            check_divide(edges[i], b);
    TEST_ASSERT_EQUAL_INT64(-1, divide_round(-3, 2)); /* a half goes up, also below zero */
    TEST_ASSERT_EQUAL_INT64(2, divide_round(3, 2));
}

/* ---- quantise ---- */

/* |x| as a 24-bit integer and an exponent, from the C library's own decomposition */
static uint64_t mantissa_and_exponent(float x, int *exponent)
{
    double mantissa = frexp(fabs((double)x), exponent);
    return (uint64_t)ldexp(mantissa, 24);
}

static int8_t quantised(float x, float max)
{
    int exponent, top;
    uint64_t value = mantissa_and_exponent(x, &exponent), limit = mantissa_and_exponent(max, &top);
    if (value == 0 || top - exponent > 30) /* less than 2^-29 of the maximum */
        return 0;
    limit <<= top - exponent;
    int size = (int)((254 * value + limit) / (2 * limit));
    return (int8_t)(signbit(x) ? -size : size);
}

static void check_quantise(const float *x, size_t count)
{
    int8_t q[64];
    float max = 0;
    TEST_ASSERT_TRUE(count <= sizeof q);
    for (size_t i = 0; i < count; i++)
        max = fabsf(x[i]) > max ? fabsf(x[i]) : max;
    TEST_ASSERT_EQUAL(PML_OK, pml_quantise(x, count, q));
    for (size_t i = 0; i < count; i++)
        TEST_ASSERT_EQUAL_INT8(quantised(x[i], max), q[i]);
}

/* Any finite float, by its bits; `spread` exponents at and below 2^top. */
static float draw_float(uint64_t *state, unsigned top, unsigned spread)
{
    uint32_t exponent = top - (uint32_t)draw_below(state, spread < top + 1 ? spread : top + 1);
    uint32_t bits = (uint32_t)draw64(state) & 0x807FFFFF;
    bits |= exponent << 23;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void test_quantise_follows_its_definition(void)
{
    uint64_t state = 6;
    for (size_t i = 0; i < rounds(60000); i++) {
        float x[64];
        size_t count = 1 + draw_size(&state, 64);
        unsigned top = i % 4 == 0 ? (unsigned)draw_below(&state, 3) : (unsigned)draw_below(&state, 255);
        unsigned spread = 1u << draw_below(&state, 9);
        for (size_t j = 0; j < count; j++)
            x[j] = draw_below(&state, 20) == 0 ? -0.0f : draw_float(&state, top, spread);
        x[draw_below(&state, count)] = draw_float(&state, top > 0 ? top : 1, 1);
        check_quantise(x, count);
    }
}

static void test_quantise_takes_extreme_floats(void)
{
    const float tiny = nextafterf(0.0f, 1.0f);
    const float cases[][4] = {
        {FLT_MAX, -FLT_MAX, FLT_MAX / 2, tiny},
        {tiny, -tiny, 0.0f, -0.0f},
        {3 * tiny, 2 * tiny, -tiny, -0.0f},
        {FLT_MIN, -tiny, FLT_MIN / 254, FLT_MIN - tiny},
        {1.0f, 1.0f / 254, 0.5f / 127, -1.5f / 127},
        {254.0f, 1.0f, -1.0f, 3.0f},
        {-254.0f, 253.0f, nextafterf(1.0f, 0.0f), -nextafterf(1.0f, 2.0f)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_quantise(cases[i], 4);
}

/* Where one value goes over into the next: the nearest float, and those beside it. */
static void test_quantise_rounds_at_every_border(void)
{
    uint64_t state = 9;
    for (size_t i = 0; i < rounds(3000); i++) {
        float max = fabsf(draw_float(&state, i % 4 == 0 ? 1 : 254, 255));
        if (max < FLT_MIN)
            max += FLT_MIN / 1024;
        for (int t = 1; t <= 127; t++) {
            float border = (float)((t - 0.5) / 127 * (double)max);
            const float x[] = {max, border, nextafterf(border, 0.0f), -nextafterf(border, max)};
            check_quantise(x, 4);
        }
    }
}

static void test_quantise_does_not_see_a_power_of_two(void)
{
    uint64_t state = 7;
    for (size_t i = 0; i < rounds(300); i++) {
        float x[16], scaled[16];
        int8_t q[16], again[16];
        for (size_t j = 0; j < 16; j++)
            x[j] = draw_float(&state, 127, 10); /* 2^-9 … 2 */
        TEST_ASSERT_EQUAL(PML_OK, pml_quantise(x, 16, q));
        for (int power = -117; power <= 127; power++) {
            for (size_t j = 0; j < 16; j++)
                scaled[j] = ldexpf(x[j], power);
            TEST_ASSERT_EQUAL(PML_OK, pml_quantise(scaled, 16, again));
            TEST_ASSERT_EQUAL_INT8_ARRAY(q, again, 16);
        }
    }
}

/* The stage itself answers a public row instead of refusing: the first unit vector. */
static void check_default_row(const float *x, size_t count)
{
    int8_t q[16];
    TEST_ASSERT_TRUE(count <= sizeof q);
    memset(q, 1, sizeof q);
    TEST_ASSERT_EQUAL_HEX64(0, pml_quantise_row(x, count, q, &pml_kernels_portable));
    TEST_ASSERT_EQUAL_INT8(127, q[0]);
    TEST_ASSERT_TRUE(is_zero(q + 1, count - 1));
}

static void test_quantise_refuses_what_is_not_finite_or_zero(void)
{
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    const float zero[8] = {0.0f, -0.0f};
    int8_t q[9];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        for (size_t at = 0; at < 8; at++) {
            float x[8] = {1.0f, -2.0f, 3.0f, 0.0f, FLT_MAX, -5.0f, 6.0f, 7.0f};
            x[at] = bad[i];
            memset(q, 1, sizeof q);
            TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, pml_quantise(x, 8, q));
            TEST_ASSERT_TRUE(is_zero(q, 8));
            TEST_ASSERT_EQUAL_INT8(1, q[8]);
            check_default_row(x, 8);
        }
    memset(q, 1, sizeof q);
    TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, pml_quantise(zero, 8, q));
    TEST_ASSERT_TRUE(is_zero(q, 8));
    check_default_row(zero, 8);
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_quantise(NULL, 8, q));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_quantise(zero, 8, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_quantise(zero, 0, q));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_quantise(zero, PML_FEATURES_MAX + 1, q));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_products_of_halves_are_the_whole_product);
    RUN_TEST(test_sqrt_floor_is_the_floor_of_the_root);
    RUN_TEST(test_inverse_sqrt_is_the_largest_that_fits);
    RUN_TEST(test_inverse_norm_takes_the_sum_of_squares);
    RUN_TEST(test_scale_127_rounds_the_exact_ratio);
    RUN_TEST(test_division_rounds_down_up_and_to_nearest);
    RUN_TEST(test_quantise_follows_its_definition);
    RUN_TEST(test_quantise_takes_extreme_floats);
    RUN_TEST(test_quantise_rounds_at_every_border);
    RUN_TEST(test_quantise_does_not_see_a_power_of_two);
    RUN_TEST(test_quantise_refuses_what_is_not_finite_or_zero);
    return UNITY_END();
}
