/* SPDX-License-Identifier: Apache-2.0
 * The Gaussian sampler against the exact normal distribution, and the tester against planted defects. */
#include "base/random.h"
#include "base/sha256.h"
#include "draws.h"
#include "stages/stages.h"
#include "statistics.h"
#include "support/support.h"

#include <stdio.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_GAUSSIAN

#define SEEDS 100u

struct sample {
    int32_t *values; /* 2^shift is one standard deviation */
    size_t count;
    uint32_t shift;
};

static struct sample allocate(uint32_t shift)
{
    struct sample s = {.count = rounds(2000000), .shift = shift};
    s.values = malloc(s.count * sizeof *s.values);
    TEST_ASSERT_NOT_NULL(s.values);
    return s;
}

/* Drawn once for all tests; main frees them. */
static struct sample kept[16];

static const struct sample *sample_of(uint32_t shift)
{
    struct sample *s = kept + shift;
    if (s->values)
        return s;
    *s = allocate(shift);
    for (uint32_t i = 0; i < SEEDS; i++) {
        uint8_t name[8], seed[32];
        pml_random random;
        store_le32(name, i);
        store_le32(name + 4, shift);
        pml_sha256(name, sizeof name, seed);
        pml_random_start(&random, seed);
        pml_gaussian_draw(&random, shift, s->values + i * (s->count / SEEDS), s->count / SEEDS);
    }
    return s;
}

/* ---- the statistics ---- */

/* Sums of powers; odd ones tell asymmetry, even ones the scale and the tails. The rounding to integers adds a
 * variance of 1/12 of a unit, far below what the sample can tell. */
static double share_of_moments(const struct sample *s)
{
    const double scale = ldexp(1.0, -(int)s->shift), count = (double)s->count;
    double sum[5] = {0}, positive = 0, nonzero = 0;
    for (size_t i = 0; i < s->count; i++) {
        double x = s->values[i] * scale, power = 1.0;
        for (int p = 1; p <= 4; p++)
            sum[p] += power *= x;
        positive += s->values[i] > 0;
        nonzero += s->values[i] != 0;
    }
    double mean = sum[1] / sqrt(count);
    double variance = (sum[2] - count) / sqrt(2.0 * count);
    double skew = (sum[3] - 3.0 * sum[1]) / sqrt(6.0 * count);                /* the third Hermite polynomial */
    double peak = (sum[4] - 6.0 * sum[2] + 3.0 * count) / sqrt(24.0 * count); /* the fourth */
    double sign = (2.0 * positive - nonzero) / sqrt(nonzero);
    double worst = larger(share_of_normal(mean), share_of_normal(variance));
    worst = larger(worst, larger(share_of_normal(skew), share_of_normal(peak)));
    return larger(worst, share_of_normal(sign));
}

/* P(v ≤ last) for the integer nearest to 2^shift · N */
static double cumulative(const struct sample *s, int64_t last)
{
    return 0.5 * erfc(-ldexp((double)last + 0.5, -(int)s->shift) * sqrt(0.5));
}

/* χ² over bins of `width` integers, the middle one around 0, to ±`reach` standard deviations, and two open ends. */
static double share_of_bins(const struct sample *s, int64_t width, int64_t reach)
{
    int64_t side = (reach << s->shift) / width;
    size_t bins = (size_t)(2 * side + 3);
    double *seen = calloc(bins, sizeof *seen), *expected = calloc(bins, sizeof *expected);
    TEST_ASSERT_TRUE(seen && expected);
    for (size_t i = 0; i < s->count; i++) {
        int64_t low = s->values[i] + width / 2;
        int64_t bin = (low >= 0 ? low / width : -((width - 1 - low) / width)) + side + 1;
        seen[bin < 0 ? 0 : bin >= (int64_t)bins ? bins - 1 : (size_t)bin] += 1.0;
    }
    double before = 0.0;
    for (size_t i = 0; i < bins; i++) {
        int64_t last = ((int64_t)i - side) * width - width / 2 - 1;
        double now = i + 1 < bins ? cumulative(s, last) : 1.0;
        expected[i] = (now - before) * (double)s->count;
        before = now;
    }
    double share = share_of_chi_square(seen, expected, bins);
    free(seen);
    free(expected);
    return share;
}

static double share_of_tails(const struct sample *s)
{
    double worst = 0.0;
    for (int64_t sigmas = 2; sigmas <= 4; sigmas++) {
        int64_t last = sigmas << s->shift;
        double above = 0, below = 0, probability = 1.0 - cumulative(s, last);
        for (size_t i = 0; i < s->count; i++) {
            above += s->values[i] > last;
            below += s->values[i] < -last;
        }
        worst = larger(worst, share_of_count(above + below, (double)s->count, 2.0 * probability));
        if (sigmas < 4)
            worst = larger(worst, larger(share_of_count(above, (double)s->count, probability),
                                         share_of_count(below, (double)s->count, probability)));
    }
    return worst;
}

/* Neighbours in the stream: their product, and that of what their squares exceed 1 by. */
static double share_of_dependence(const struct sample *s)
{
    const double scale = ldexp(1.0, -(int)s->shift), pairs = (double)(s->count - 1);
    double product = 0, squares = 0;
    for (size_t i = 0; i + 1 < s->count; i++) {
        double x = s->values[i] * scale, y = s->values[i + 1] * scale;
        product += x * y;
        squares += (x * x - 1.0) * (y * y - 1.0);
    }
    return larger(share_of_normal(product / sqrt(pairs)), share_of_normal(squares / (2.0 * sqrt(pairs))));
}

/* The low bits, which the coarse bins do not see: a smooth density leaves them uniform. */
static double share_of_low_bits(const struct sample *s)
{
    double seen[16] = {0}, expected[16];
    for (size_t i = 0; i < s->count; i++)
        seen[s->values[i] & 15] += 1.0;
    for (size_t i = 0; i < 16; i++)
        expected[i] = (double)s->count / 16.0;
    return share_of_chi_square(seen, expected, 16);
}

struct verdict {
    double moments, bins, integers, tails, dependence, low_bits;
};

static struct verdict judge(const struct sample *s)
{
    struct verdict v = {.moments = share_of_moments(s), .tails = share_of_tails(s)};
    v.dependence = share_of_dependence(s);
    v.bins = share_of_bins(s, s->shift >= 4 ? (int64_t)1 << (s->shift - 4) : 1, 3);
    v.integers = s->shift <= 8 ? share_of_bins(s, 1, 2) : 0.0;
    v.low_bits = s->shift >= 8 ? share_of_low_bits(s) : 0.0;
    return v;
}

static double worst_of(const struct verdict *v)
{
    return larger(larger(larger(v->moments, v->bins), larger(v->integers, v->tails)),
                  larger(v->dependence, v->low_bits));
}

/* ---- sound samples pass ---- */

static void check_sound(uint32_t shift)
{
    struct verdict v = judge(sample_of(shift));
    printf("    s = %2u: moments %.2f, bins %.2f, integers %.2f, tails %.2f, dependence %.2f, low bits %.2f\n",
           (unsigned)shift, v.moments, v.bins, v.integers, v.tails, v.dependence, v.low_bits);
    TEST_ASSERT_TRUE(worst_of(&v) <= 1.0);
}

static void test_deviates_of_shift_8_are_normal(void)
{
    check_sound(8);
}

static void test_deviates_of_shift_12_are_normal(void)
{
    check_sound(12);
}

/* The value is round(2^s · N) of one N: the same words at another s give the same N, so a coarse deviate is the fine
 * one rounded, up to the half unit that the fine one was rounded by. */
static void test_deviates_of_all_shifts_are_roundings_of_one_number(void)
{
    for (uint32_t i = 0; i < rounds(20000); i++) {
        uint8_t seed[32] = {0};
        int32_t fine, coarse;
        store_le32(seed, i);
        pml_random random;
        pml_random_start(&random, seed);
        pml_gaussian_draw(&random, 22, &fine, 1);
        for (uint32_t shift = 8; shift < 22; shift++) {
            pml_random_start(&random, seed);
            pml_gaussian_draw(&random, shift, &coarse, 1);
            double exact = ldexp(fine, (int)shift - 22);
            TEST_ASSERT_TRUE(fabs(coarse - exact) <= 0.5 + ldexp(0.5, (int)shift - 22));
            TEST_ASSERT_TRUE(coarse == 0 || (coarse < 0) == (fine < 0));
        }
    }
}

/* ---- planted defects are found ---- */

static void test_a_scale_wrong_by_two_percent_is_found(void)
{
    const struct sample *sound = sample_of(12);
    struct sample wrong = allocate(12);
    for (size_t i = 0; i < wrong.count; i++)
        wrong.values[i] = (int32_t)lround(sound->values[i] * 1.02);
    TEST_ASSERT_TRUE(share_of_moments(&wrong) > 1.0);
    TEST_ASSERT_TRUE(share_of_bins(&wrong, 256, 3) > 1.0);
    free(wrong.values);
}

static void test_truncation_instead_of_rounding_is_found(void)
{
    const struct sample *fine = sample_of(12);
    struct sample rounded = allocate(4), truncated = allocate(4);
    for (size_t i = 0; i < fine->count; i++) {
        rounded.values[i] = (int32_t)lround(fine->values[i] / 256.0);
        truncated.values[i] = fine->values[i] / 256; /* as cutting off a magnitude's digits would */
    }
    TEST_ASSERT_TRUE(share_of_bins(&truncated, 1, 3) > 1.0);
    TEST_ASSERT_TRUE(share_of_bins(&rounded, 1, 3) <= 1.0);
    free(rounded.values);
    free(truncated.values);
}

static int32_t repeats_one_in_25(const int32_t *values, size_t i)
{
    return i % 25 == 1 ? values[i - 1] : values[i];
}

static int32_t has_no_tails(const int32_t *values, size_t i)
{
    return abs(values[i]) > 3 * 4096 ? 0 : values[i];
}

static int32_t loses_one_sign_in_25(const int32_t *values, size_t i)
{
    return i % 25 == 0 ? abs(values[i]) : values[i];
}

static int32_t sticks_one_last_bit_in_10(const int32_t *values, size_t i)
{
    return i % 10 == 0 ? values[i] & ~1 : values[i];
}

static void check_found(int32_t (*defect)(const int32_t *, size_t), double (*share)(const struct sample *))
{
    const struct sample *sound = sample_of(12);
    struct sample wrong = allocate(12);
    for (size_t i = 0; i < wrong.count; i++)
        wrong.values[i] = defect(sound->values, i);
    TEST_ASSERT_TRUE(share(sound) <= 1.0);
    TEST_ASSERT_TRUE(share(&wrong) > 1.0);
    free(wrong.values);
}

static void test_other_planted_defects_are_found(void)
{
    check_found(repeats_one_in_25, share_of_dependence);
    check_found(has_no_tails, share_of_tails);
    check_found(loses_one_sign_in_25, share_of_moments);
    check_found(sticks_one_last_bit_in_10, share_of_low_bits);
}
#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_deviates_of_shift_8_are_normal);
    RUN_TEST(test_deviates_of_shift_12_are_normal);
    RUN_TEST(test_deviates_of_all_shifts_are_roundings_of_one_number);
    RUN_TEST(test_a_scale_wrong_by_two_percent_is_found);
    RUN_TEST(test_truncation_instead_of_rounding_is_found);
    RUN_TEST(test_other_planted_defects_are_found);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        free(kept[i].values);
#endif
    return UNITY_END();
}
