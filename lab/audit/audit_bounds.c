/* SPDX-License-Identifier: Apache-2.0
 * In: counts and confidence. Out: bounds of probabilities and of ε, on the safe side: too low for what is claimed. */
#include "audit_bounds.h"

#include <math.h>

#define RISK_MARGIN 1e-4 /* relative; covers lgamma's error, which is 1e-6 for 10^9 trials */
#define CONVERGED 1e-15
#define CAUTION 1.5 /* standard deviations */
#define EPSILON_MAX 256.0
enum { FRACTION_TERMS = 10000000, HALVINGS = 100 };

/* ---- the beta function ---- */

static double away_from_zero(double value)
{
    return fabs(value) < 1e-300 ? 1e-300 : value;
}

/* The continued fraction of I_x(a, b) by Lentz's method; quick for x < (a + 1)/(a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double ratio = 1.0, inverse = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)), fraction = inverse;
    for (int term = 1; term <= FRACTION_TERMS; term++) {
        double m = term, even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        inverse = 1.0 / away_from_zero(1.0 + even * inverse);
        ratio = away_from_zero(1.0 + even / ratio);
        fraction *= inverse * ratio;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        inverse = 1.0 / away_from_zero(1.0 + odd * inverse);
        ratio = away_from_zero(1.0 + odd / ratio);
        fraction *= inverse * ratio;
        if (fabs(inverse * ratio - 1.0) < CONVERGED)
            break;
    }
    return fraction;
}

double audit_incomplete_beta(double a, double b, double x)
{
    if (x <= 0.0)
        return 0.0;
    if (x >= 1.0)
        return 1.0;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1.0) / (a + b + 2.0))
        return front * beta_fraction(a, b, x) / a;
    return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

/* ---- probabilities from counts ---- */

double audit_binomial_lower(uint64_t successes, uint64_t trials, double risk)
{
    if (successes == 0)
        return 0.0;
    double low = 0.0, high = 1.0, a = (double)successes, b = (double)(trials - successes) + 1.0;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = 0.5 * (low + high);
        if (audit_incomplete_beta(a, b, middle) <= risk * (1.0 - RISK_MARGIN)) /* P(at least so many) */
            low = middle;
        else
            high = middle;
    }
    return low;
}

double audit_binomial_upper(uint64_t successes, uint64_t trials, double risk)
{
    return successes >= trials ? 1.0 : 1.0 - audit_binomial_lower(trials - successes, trials, risk);
}

/* The lower (side −1) or upper (side 1) end of Wilson's interval. */
static double wilson(double share, double trials, double z, double side)
{
    double part = z * z / trials, spread = z * sqrt(share * (1.0 - share) / trials + part / (4.0 * trials));
    return fmin(1.0, fmax(0.0, (share + 0.5 * part + side * spread) / (1.0 + part)));
}

double audit_promised_lower(uint64_t successes, uint64_t trials, double later, double risk)
{
    double share = wilson((double)successes / (double)trials, (double)trials, CAUTION, -1.0);
    return wilson(share, later, -audit_normal_quantile(risk), -1.0);
}

double audit_promised_upper(uint64_t successes, uint64_t trials, double later, double risk)
{
    double share = wilson((double)successes / (double)trials, (double)trials, CAUTION, 1.0);
    return wilson(share, later, -audit_normal_quantile(risk), 1.0);
}

/* ---- the normal distribution ---- */

double audit_normal_cdf(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

double audit_normal_quantile(double probability)
{
    if (probability <= 0.0)
        return -INFINITY;
    if (probability >= 1.0)
        return INFINITY;
    if (probability > 0.5)
        return -audit_normal_quantile(1.0 - probability);
    double low = -40.0, high = 1.0;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = 0.5 * (low + high);
        if (audit_normal_cdf(middle) < probability)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

/* ---- ε ---- */

double audit_ratio_epsilon(double likely, double unlikely, double delta)
{
    return likely > delta && unlikely > 0.0 ? log((likely - delta) / unlikely) : -INFINITY;
}

double audit_gaussian_shift(double likely, double unlikely)
{
    if (!(likely > 0.0 && likely < 1.0 && unlikely > 0.0 && unlikely < 1.0))
        return -INFINITY;
    return audit_normal_quantile(likely) - audit_normal_quantile(unlikely);
}

/* A lower bound of δ(ε) of the Gaussian mechanism (PRIVACY.md, theorem 4). */
static double least_delta(double mu, double epsilon)
{
    double plus = audit_normal_cdf(0.5 * mu - epsilon / mu);
    double minus = exp(epsilon) * audit_normal_cdf(-0.5 * mu - epsilon / mu);
    return plus - minus - 1e-11 * plus;
}

double audit_gaussian_epsilon(double mu, double delta)
{
    if (!(mu > 0.0) || !(least_delta(mu, 0.0) > delta))
        return 0.0;
    double low = 0.0, high = EPSILON_MAX;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = 0.5 * (low + high);
        if (least_delta(mu, middle) > delta)
            low = middle;
        else
            high = middle;
    }
    return low;
}
