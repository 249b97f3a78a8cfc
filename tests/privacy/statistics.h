/* SPDX-License-Identifier: Apache-2.0
 * Statistics as shares of their limits: above 1 the sample is refuted. Each limit is crossed by a sound sample with a
 * probability of at most about 2e-8, so that fifty of them together raise a false alarm once in a million; and since
 * seeds are fixed, a test that passed once passes always. */
#ifndef TEST_STATISTICS_H
#define TEST_STATISTICS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define NORMAL_LIMIT 5.7  /* P(|N| > 5.7) = 1.2e-8 */
#define POISSON_LIMIT 7.0 /* the same for counts of a hundred and more, whose upper tail is heavier */

/* A standard normal statistic. */
static inline double share_of_normal(double z)
{
    return fabs(z) / NORMAL_LIMIT;
}

/* How often something of this probability happened in `count` trials. */
static inline double share_of_count(double seen, double count, double probability)
{
    double expected = count * probability;
    return fabs(seen - expected) / sqrt(expected * (1.0 - probability)) / POISSON_LIMIT;
}

/* A χ² of this many degrees of freedom; the limit is Wilson and Hilferty's approximation (1931) at N = 5.7, good to a
 * few percent of the limit for bins of ten and more. */
static inline double share_of_square_sum(double sum, double freedom)
{
    double part = 2.0 / (9.0 * freedom);
    return sum / (freedom * pow(1.0 - part + NORMAL_LIMIT * sqrt(part), 3.0));
}

/* Pearson's χ² over bins that sum up to everything. */
static inline double share_of_chi_square(const double *seen, const double *expected, size_t bins)
{
    double sum = 0.0;
    for (size_t i = 0; i < bins; i++)
        sum += (seen[i] - expected[i]) * (seen[i] - expected[i]) / expected[i];
    return share_of_square_sum(sum, (double)(bins - 1));
}

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

#endif
