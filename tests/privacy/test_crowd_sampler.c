/* SPDX-License-Identifier: Apache-2.0
 * What a bundle draws (SPEC 5.16): the Poisson law of the clusters, uniform symbols and sizes, their independence, a
 * uniform cover, and an order in which every message is as likely in every place.
 *
 * BUNDLES bundles for each policy. 52 limits, each crossed by a sound sampler with a probability of at most about 2e-8: in
 * all less than 1e-6; and seeds are fixed. Chance of finding a defect with BUNDLES bundles, as standard errors over the
 * limit of 5.7 or 7:
 *
 *   mean of the clusters wrong by 1 %         κ = 2: 0.01·√(2·BUNDLES) = 8.9 of 5.7            0.999
 *   sizes 0 … v−1, or 1 … v−1                 the mean off by ½ and more: hundreds             1 − 1e-9 and better
 *   symbols below S−1, or the cover fixed     a bin of thousands is empty                      1 − 1e-9 and better
 *   the own message first in 1 % more         bundles of 8: 19 of 7                            1 − 1e-9 and better
 *   a cut at 15 instead of 63, κ = 4          P(K > 15) = 4.9e-6: test_the_cut has a rate that shows it */
#include "draws.h"
#include "statistics.h"
#include "support/support.h"

#include "stages/bundle.h"

#include <stdio.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_CROWD

enum { BUNDLES = 400000, SYMBOLS = 24, COPIES = 8, MOST = 24 };

static pml_random random_of(const char *name, uint64_t index)
{
    uint8_t key[32] = {0};
    pml_random random;
    memcpy(key, name, strlen(name));
    store_le64(key + 16, index);
    pml_random_start(&random, key);
    return random;
}

static uint32_t rate_of(double mean)
{
    return (uint32_t)(mean * 0x1p29);
}

static uint32_t clusters_of(const struct bundle *bundle)
{
    uint32_t count = 0;
    for (uint32_t i = PML_CROWD_OWN_MAX; i < BUNDLE_ENTRIES; i++)
        count += bundle->left[i] > 0;
    return count;
}

static double poisson(double mean, double n)
{
    return exp(n * log(mean) - mean - lgamma(n + 1));
}

/* The last bins are put together where less than ten are expected. */
static double share_of_law(const double *seen, double mean, double count)
{
    double observed[MOST + 1] = {0}, expected[MOST + 1] = {0}, rest = count;
    size_t bins = 0;
    for (size_t n = 0; n <= MOST; n++) {
        const double here = count * poisson(mean, (double)n);
        if (bins == 0 || (here >= 10 && rest - here >= 10))
            bins = n + 1;
        rest -= here;
    }
    for (size_t n = 0; n < 64; n++)
        observed[n < bins ? n : bins] += seen[n];
    rest = count;
    for (size_t n = 0; n < bins; n++)
        rest -= expected[n] = count * poisson(mean, (double)n);
    expected[bins] = rest;
    return share_of_chi_square(observed, expected, bins + 1);
}

static void test_the_number_of_clusters_is_poisson(void)
{
    static const double means[] = {0.05, 0.5, 2.0, 4.0};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        const size_t count = rounds(BUNDLES);
        double seen[64] = {0}, sum = 0;
        for (size_t i = 0; i < count; i++) {
            pml_random random = random_of("clusters", i * 4 + m);
            struct bundle bundle;
            pml_bundle_draw(&random, rate_of(means[m]), SYMBOLS, 1, &bundle);
            TEST_ASSERT_EQUAL_UINT32(bundle.total, clusters_of(&bundle));
            seen[bundle.total]++;
            sum += bundle.total;
        }
        const double law = share_of_law(seen, means[m], (double)count),
                     mean = share_of_normal((sum - (double)count * means[m]) / sqrt((double)count * means[m]));
        printf("    mean %.2f: law %.2f, mean %.2f of their limits\n", means[m], law, mean);
        TEST_ASSERT_TRUE(law < 1.0 && mean < 1.0);
    }
}

/* With no clusters there are none; and none beyond the cut, whose bound a rate that no policy has would cross. */
static void test_the_cut(void)
{
    uint32_t most = 0;
    for (size_t i = 0; i < rounds(2000); i++) {
        pml_random random = random_of("cut", i);
        struct bundle bundle;
        pml_bundle_draw(&random, 0, SYMBOLS, COPIES, &bundle);
        TEST_ASSERT_EQUAL_UINT32(0, bundle.total);
        pml_bundle_draw(&random, rate_of(7.5), SYMBOLS, 1, &bundle); /* P(K > 15) = 0.5 %, P(K > 63) < 1e-36 */
        most = bundle.total > most ? bundle.total : most;
        TEST_ASSERT_TRUE(bundle.total <= PML_CROWD_CLUSTERS_CUT);
    }
    TEST_ASSERT_TRUE(most > 15);
}

static void test_symbols_sizes_and_cover_are_uniform_and_independent(void)
{
    static double pairs[SYMBOLS * COPIES], covers[SYMBOLS], neighbours[SYMBOLS * SYMBOLS], shares[4];
    static double expected[SYMBOLS * SYMBOLS];
    double clusters = 0, followed = 0;
    const size_t count = rounds(BUNDLES);
    for (size_t i = 0; i < count; i++) {
        pml_random random = random_of("uniform", i);
        struct bundle bundle;
        pml_bundle_draw(&random, rate_of(2.0), SYMBOLS, COPIES, &bundle);
        TEST_ASSERT_EQUAL(0, bundle.left[0]);
        covers[bundle.symbol[0]]++;
        const uint32_t end = PML_CROWD_OWN_MAX + clusters_of(&bundle);
        for (uint32_t c = PML_CROWD_OWN_MAX; c < end; c++) {
            TEST_ASSERT_TRUE(bundle.symbol[c] < SYMBOLS && bundle.left[c] >= 1 && bundle.left[c] <= COPIES);
            pairs[bundle.symbol[c] * COPIES + bundle.left[c] - 1u]++;
            clusters++;
            if (c + 1 < end) {
                neighbours[bundle.symbol[c] * SYMBOLS + bundle.symbol[c + 1]]++;
                followed++;
            }
        }
    }
    for (size_t i = 0; i < SYMBOLS * COPIES; i++)
        expected[i] = clusters / (SYMBOLS * COPIES);
    shares[0] = share_of_chi_square(pairs, expected, SYMBOLS * COPIES);
    for (size_t i = 0; i < SYMBOLS; i++)
        expected[i] = (double)count / (double)SYMBOLS;
    shares[1] = share_of_chi_square(covers, expected, SYMBOLS);
    for (size_t i = 0; i < SYMBOLS * SYMBOLS; i++)
        expected[i] = followed / (SYMBOLS * SYMBOLS);
    shares[2] = share_of_chi_square(neighbours, expected, SYMBOLS * SYMBOLS);
    printf("    symbol and size %.2f, cover %.2f, symbol after symbol %.2f of their limits\n", shares[0], shares[1],
           shares[2]);
    for (size_t i = 0; i < 3; i++)
        TEST_ASSERT_TRUE(shares[i] < 1.0);
}

/* A bundle of two own messages and clusters of 1, 2 and 3: every message in every place equally often. */
static void test_the_order_is_uniform(void)
{
    enum { MESSAGES = 8, KINDS = 5 };
    static const uint8_t sizes[KINDS] = {1, 1, 1, 2, 3};
    double seen[KINDS][MESSAGES] = {{0}}, first_and_second[KINDS][KINDS] = {{0}}, worst = 0;
    const size_t count = rounds(BUNDLES);
    for (size_t i = 0; i < count; i++) {
        pml_random random = random_of("order", i);
        struct bundle bundle;
        uint32_t kinds[MESSAGES];
        memset(&bundle, 0, sizeof bundle);
        pml_bundle_own(&bundle, 2);
        for (uint32_t k = 0; k < KINDS; k++) {
            bundle.symbol[k < 2 ? k : PML_CROWD_OWN_MAX + k - 2] = k;
            if (k >= 2)
                bundle.total += bundle.left[PML_CROWD_OWN_MAX + k - 2] = sizes[k];
        }
        TEST_ASSERT_EQUAL_UINT32(MESSAGES, bundle.total);
        for (uint32_t j = 0; j < MESSAGES; j++) {
            unsigned own;
            kinds[j] = pml_bundle_pick(&random, &bundle, &own);
            TEST_ASSERT_EQUAL(kinds[j] < 2 ? kinds[j] + 1 : 0, own);
            seen[kinds[j]][j]++;
        }
        TEST_ASSERT_EQUAL_UINT32(0, bundle.total);
        TEST_ASSERT_TRUE(is_zero(bundle.left, sizeof bundle.left));
        first_and_second[kinds[0]][kinds[1]]++;
    }
    for (size_t k = 0; k < KINDS; k++)
        for (size_t j = 0; j < MESSAGES; j++)
            worst = larger(worst, share_of_count(seen[k][j], (double)count, sizes[k] / (double)MESSAGES));
    double sum = 0, freedom = -1;
    for (size_t a = 0; a < KINDS; a++)
        for (size_t b = 0; b < KINDS; b++) {
            const double mean = (double)count * sizes[a] * (sizes[b] - (a == b)) / (MESSAGES * (MESSAGES - 1));
            sum += mean > 0 ? (first_and_second[a][b] - mean) * (first_and_second[a][b] - mean) / mean
                            : first_and_second[a][b] * 1e9;
            freedom += mean > 0;
        }
    printf("    places %.2f, first two %.2f of their limits\n", worst, share_of_square_sum(sum, freedom));
    TEST_ASSERT_TRUE(worst < 1.0 && share_of_square_sum(sum, freedom) < 1.0);
}
#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_CROWD
    RUN_TEST(test_the_number_of_clusters_is_poisson);
    RUN_TEST(test_the_cut);
    RUN_TEST(test_symbols_sizes_and_cover_are_uniform_and_independent);
    RUN_TEST(test_the_order_is_uniform);
#endif
    return UNITY_END();
}
