/* SPDX-License-Identifier: Apache-2.0
 * Φ and the privacy of the Gaussian mechanism. In: public parameters. Out: bounds, rounded outward (PRIVACY.md,
 * calibration). Never sees a query. */
#include "normal.h"
#include "base/elementary.h"

/* Covers Φ's error, the rounding of its argument (|x| ≤ 37 within 2^-51 of the larger operand) and e^ε's. */
#define SLACK 1e-11
#define TINY 1e-290

static double density(double x)
{
    double head = (double)(int64_t)(x * 65536.0) / 65536.0; /* head² is exact */
    return 0x1.9884533d43651p-2 * pml_exp(-0.5 * head * head) * pml_exp(-0.5 * (x - head) * (x + head));
}

double pml_normal_cdf(double x)
{
    if (x < -37.0)
        return 0.0;
    if (x > 37.0)
        return 1.0;
    double size = x < 0 ? -x : x;
    if (size < 2.5) { /* Φ = ½ + φ(x)·(x + x³/3 + x⁵/(3·5) + …) */
        double term = size, sum = size;
        for (int n = 3; n < 200 && term > sum * 0x1p-54; n += 2) { /* from 13 on terms halve */
            term *= size * size / n;
            sum += term;
        }
        double half = density(size) * sum;
        return x < 0 ? 0.5 - half : 0.5 + half;
    }
    double fraction = 0.0; /* Mills' ratio 1/(x + 1/(x + 2/(x + 3/(x + …)))) */
    for (int n = 120; n > 0; n--)
        fraction = n / (size + fraction);
    double tail = density(size) / (size + fraction);
    return x < 0 ? tail : 1.0 - tail;
}

/* Balle and Wang 2018, theorem 8 */
double pml_gaussian_delta(double mu, double epsilon)
{
    double plus = pml_normal_cdf(0.5 * mu - epsilon / mu) * (1.0 + SLACK) + TINY;
    double minus = pml_exp(epsilon) * pml_normal_cdf(-0.5 * mu - epsilon / mu) * (1.0 - SLACK);
    return plus - minus < 1.0 ? plus - minus : 1.0;
}

/* Rounded the other way. */
double pml_gaussian_delta_below(double mu, double epsilon)
{
    double plus = pml_normal_cdf(0.5 * mu - epsilon / mu) * (1.0 - SLACK);
    double minus = (pml_exp(epsilon) * pml_normal_cdf(-0.5 * mu - epsilon / mu) + TINY) * (1.0 + SLACK);
    return plus - minus;
}

static bool in_range(double v, double low, double high)
{
    return v >= low && v <= high; /* false for NaN */
}

/* Halves [low, high] until it is as narrow as doubles allow; `lower` says whether a point belongs to the low end. Either
 * end keeps the side it began on, whatever rounding does in between. */
struct interval {
    double low, high;
};

static struct interval bisect(struct interval i, bool (*lower)(double, double, double), double a, double b)
{
    for (int n = 0; n < 100; n++) {
        double middle = 0.5 * (i.low + i.high);
        if (lower(middle, a, b))
            i.low = middle;
        else
            i.high = middle;
    }
    return i;
}

static bool allows_mu(double mu, double epsilon, double target)
{
    return pml_gaussian_delta(mu, epsilon) <= target;
}

static bool is_below_quantile(double x, double share, double unused)
{
    (void)unused;
    return pml_normal_cdf(x) < share;
}

double pml_gaussian_mu(double epsilon, double delta)
{
    if (!epsilon_in_range(epsilon, PML_BUDGET_EPSILON_MAX) || !delta_in_range(delta))
        return pml_not_a_number();
    struct interval start = {epsilon < 40.0 ? epsilon / 40.0 : 1.0, 64.0}; /* at low, Φ's arguments are below −37 */
    return bisect(start, allows_mu, epsilon, delta * (1.0 - 1e-9)).low;    /* the rest pays for caps (PRIVACY.md) */
}

double pml_gaussian_ratio(double epsilon, double delta)
{
    return 1.0 / pml_gaussian_mu(epsilon, delta) * (1.0 + 0x1p-50);
}

double pml_gaussian_recall_ceiling(double mu, double share)
{
    if (!in_range(mu, 0.0, 64.0) || !in_range(share, 0.0, 1.0))
        return pml_not_a_number();
    if (share == 0.0)
        return 0.0;
    if (share < TINY)
        share = TINY;
    double quantile = bisect((struct interval){-37.0, 37.0}, is_below_quantile, share, 0.0).high;
    double chance = pml_normal_cdf(quantile + mu) * (1.0 + SLACK);
    return chance < 1.0 ? chance : 1.0;
}
