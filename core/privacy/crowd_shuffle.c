/* SPDX-License-Identifier: Apache-2.0
 * Mixing without clusters: theorem B of PRIVACY. In: public parameters. Out: upper bounds of δ and ε. */
#include "base/elementary.h"
#include "base/exact.h"

#define CUT 52.0
#define TAIL 2e-22 /* 6e^-52: two tails of B, two of s, one of k, and room for rounding */
#define BUCKETS 24
#define ROUNDING 0x1p-53
#define PAIR_MAX 0x1p20 /* mean of s above which uniform messages are not counted */

/* B, the uniform messages of the others: `chance[i]` for at least `least + i·width`. */
typedef struct blanket {
    double least, width;
    double chance[BUCKETS];
    double told; /* 1−γ, rounded up */
} blanket;

/* ⌊v⌋, and 0 for what is below 0. From 2^53 on every double is whole. */
static double floor_of(double v)
{
    return !(v < 0x1p53) ? v : v > 0.0 ? (double)(uint64_t)v : 0.0;
}

static double root(double v)
{
    return (double)(pml_sqrt_floor((uint64_t)(v * 0x1p20)) + (uint64_t)1) * 0x1p-10;
}

/* Around its mean a binomial number has all but e^-CUT on either side. */
static double below(double mean)
{
    return floor_of(mean - root(2.0 * CUT * mean) - 2.0);
}

static double above(double mean, double most)
{
    double end = mean + CUT / 3.0 + root(CUT * CUT / 9.0 + 2.0 * CUT * mean) + 3.0;
    return end < most ? floor_of(end) : most;
}

static bool in_range(const pml_shuffle *shuffle)
{
    return shuffle->clients >= 1 && shuffle->clients <= PML_CROWD_CLIENTS_MAX &&
           shuffle->fakes <= PML_CROWD_CLIENTS_MAX && shuffle->cells >= 2 && shuffle->cells <= 1048576u &&
           shuffle->floor >= 0x1p-16 && shuffle->floor <= 16.0;
}

/* Binomial weights, upward from the least number, as multiples of the first. */
static void make_blanket(const pml_shuffle *shuffle, blanket *b)
{
    double power = pml_exp(shuffle->floor), n = (double)shuffle->clients - 1.0;
    double gamma = shuffle->cells / (power + shuffle->cells - 1.0) * (1.0 - 0x1p-46);
    b->told = 1.0 - gamma * (1.0 - 0x1p-46);
    double low = below(n * gamma), high = above(n * gamma, n), odds = gamma / (1.0 - gamma), weight = 1.0, sum = 0.0;
    b->least = low;
    b->width = floor_of((high - low) / BUCKETS) + 1.0;
    for (int i = 0; i < BUCKETS; i++)
        b->chance[i] = 0.0;
    double next = low + b->width; /* where the next bucket begins; `high` is in the last one */
    int at = 0;
    for (double x = low; x <= high; x += 1.0) {
        if (x >= next && at < BUCKETS - 1)
            at++, next += b->width;
        b->chance[at] += weight;
        sum += weight;
        weight *= (n - x) / (x + 1.0) * odds;
        if (weight > 0x1p500) {
            weight *= 0x1p-500;
            sum *= 0x1p-500;
            for (int i = 0; i < BUCKETS; i++)
                b->chance[i] *= 0x1p-500;
        }
    }
    for (int i = 0; i < BUCKETS; i++)
        b->chance[i] *= (1.0 + 0x1p-28) / sum;
    b->least += (double)shuffle->fakes;
}

/* ---- one size of the blanket ---- */

/* What is told when s messages lie in the two cells: T = P(at least k of them in the first) and b = P(exactly k), for
 * k = ⌊(e^ε(s+c) − c)/(1 + e^ε)⌋ + 1, from which on the first cell's excess is positive. */
typedef struct pair {
    double factor; /* e^ε */
    double c;
    double s, k, b, t;
    double error; /* absolute, of t */
    double steps; /* of the recursion; b is within 8 roundings per step */
} pair;

static double threshold(const pair *p, double s)
{
    return floor_of((p->factor * (s + p->c) - p->c) / (1.0 + p->factor)) + 1.0;
}

/* Sums up b(s, ·) from k downward and upward, as multiples of b(s, k), until what is left is below e^-60 of it. */
static void start_pair(pair *p)
{
    double lower = 0.0, upper = 1.0, weight = 1.0;
    for (double j = p->k; j > 0.0; j -= 1.0) {
        weight *= j / (p->s - j + 1.0);
        lower += weight;
        if (weight < lower * 0x1p-100)
            break;
    }
    weight = 1.0;
    for (double j = p->k; j < p->s; j += 1.0) {
        weight *= (p->s - j) / (j + 1.0);
        upper += weight;
        if (weight < upper * 0x1p-100)
            break;
    }
    p->b = 1.0 / (lower + upper);
    p->t = upper * p->b;
    p->steps = 16.0 * root(p->s) + 16.0;
    p->error = p->t * p->steps * 16.0 * ROUNDING;
}

/* Adds to t what is a multiple of b. */
static void move(pair *p, double change)
{
    p->t += change;
    p->error += ROUNDING * (p->t + (change < 0 ? -change : change) * 8.0 * p->steps);
}

/* From s to s − 1, with its k; false when the excess is never positive there, and so nowhere below. */
static bool step_pair(pair *p)
{
    double k = threshold(p, p->s - 1.0);
    p->steps += 1.0;
    for (; p->k > k; p->k -= 1.0) {
        p->b *= p->k / (p->s - p->k + 1.0);
        move(p, p->b);
    }
    if (p->k > p->s - 1.0)
        return false;
    move(p, -p->b * p->k / p->s); /* ½·b(s−1, k−1) */
    p->b *= 2.0 * (p->s - p->k) / p->s;
    p->s -= 1.0;
    return true;
}

/* D(s) of theorem B, rounded up. */
static double excess(const pair *p)
{
    double plus = (1.0 + p->factor) * 0.5 * p->k * p->b * (1.0 + 16.0 * ROUNDING * p->steps);
    double t = p->t - p->error;
    double minus = (p->factor * (1.0 - 0x1p-49) - 1.0) * (0.5 * p->s + p->c) * (1.0 - 0x1p-48) * (t > 0.0 ? t : 0.0);
    double room = (p->s + p->c) * p->b * 0x1p-44; /* for a k that rounding moved */
    return plus - (minus > 0.0 ? minus : 0.0) + room;
}

/* Is P(k or more of s) below e^-CUT by Hoeffding's inequality? */
static bool is_rare(double s, double k)
{
    double over = k - 1.0 - 0.5 * s;
    return over > 0.0 && over * over > 0.5 * CUT * s;
}

/* δ with N messages of uniform cells, the victim's among them. */
static double delta_of(const pml_shuffle *shuffle, double told, double messages, double factor)
{
    double share = 2.0 / shuffle->cells;
    if (messages * share > PAIR_MAX)
        messages = floor_of(PAIR_MAX / share);
    pair p = {.factor = factor, .c = messages / (pml_exp(shuffle->floor) * (1.0 + 0x1p-49) - 1.0)};
    double low = shuffle->cells == 2 ? messages : below(messages * share);
    double weight = 1.0, sum = 0.0, weights = 0.0;
    bool started = false, over = false;
    for (double s = above(messages * share, messages); s >= low; s -= 1.0) {
        if (!started && !is_rare(s, threshold(&p, s)) && s > 0.0) {
            p.s = s;
            p.k = threshold(&p, s);
            over = p.k > s;
            started = true;
            if (!over)
                start_pair(&p);
        } else if (started && !over) {
            over = !step_pair(&p);
        }
        if (started && !over)
            sum += weight * excess(&p);
        weights += weight;
        weight *= s / (messages - s + 1.0) * ((1.0 - share) / share);
    }
    double delta = told * (shuffle->cells / messages) * (sum / weights) * (1.0 + 0x1p-30);
    return delta < 1.0 ? delta : 1.0;
}

static double blanket_delta(const pml_shuffle *shuffle, const blanket *b, double epsilon)
{
    if (epsilon >= shuffle->floor)
        return 0.0;
    double factor = pml_exp(epsilon), delta = TAIL;
    for (int i = 0; i < BUCKETS; i++)
        if (b->chance[i] > 0.0)
            delta += b->chance[i] * delta_of(shuffle, b->told, b->least + i * b->width + 1.0, factor);
    return delta < 1.0 ? delta : 1.0;
}

pml_status pml_shuffle_delta(const pml_shuffle *shuffle, double epsilon, double *delta)
{
    if (!shuffle || !delta)
        return PML_ERROR_ARGUMENT;
    *delta = 1.0;
    if (!in_range(shuffle))
        return PML_ERROR_CROWD;
    if (!(epsilon >= 0.0 && epsilon <= 256.0))
        return PML_ERROR_EPSILON;
    blanket b;
    make_blanket(shuffle, &b);
    *delta = blanket_delta(shuffle, &b, epsilon);
    return PML_OK;
}

pml_status pml_shuffle_epsilon(const pml_shuffle *shuffle, double delta, double *epsilon)
{
    if (!shuffle || !epsilon)
        return PML_ERROR_ARGUMENT;
    *epsilon = pml_infinity();
    if (!in_range(shuffle))
        return PML_ERROR_CROWD;
    if (!(delta >= 0x1p-60 && delta < 1.0))
        return PML_ERROR_DELTA;
    blanket b;
    make_blanket(shuffle, &b);
    double low = 0.0, high = shuffle->floor; /* where δ is 0 */
    while (high - low > shuffle->floor * 0x1p-24) {
        double middle = 0.5 * (low + high);
        if (blanket_delta(shuffle, &b, middle) <= delta)
            high = middle;
        else
            low = middle;
    }
    *epsilon = high;
    return PML_OK;
}
