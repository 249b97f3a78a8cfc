/* SPDX-License-Identifier: Apache-2.0
 * The Gaussian sampler, where test_sampler.c does not look: far tails, symmetry value by value, the quadratic logarithm
 * of the histogram, dependence at a distance, between coordinates and between releases, and the words a deviate takes.
 *
 * DRAWS deviates, four times as many under PML_TEST_LONG. 27 limits, each crossed by a sound sampler with a probability
 * of at most about 2e-8: in all less than 1e-6; and seeds are fixed. Chance of finding a defect with DRAWS deviates:
 *
 *   scale wrong by 0.3 %               the slope lies 9.5 standard errors off, the limit is 5.7       0.9999
 *   50.2 % of the signs positive       8.9 standard errors                                            0.999
 *   magnitudes cut off, not rounded    twice the zeros, 22 standard errors, the limit is 7            1 - 1e-9 and better
 *   no deviate beyond 4 sigma          317 expected, 18 standard errors, the limit is 7               1 - 1e-9 and better
 *   a word too many in one of ten      14 standard errors                                             1 - 1e-9 and better
 *
 * (In 10^6 deviates a scale wrong by 0.3 % is 4.2 standard errors, for the best of all statistics: no test with so few
 * false alarms finds it there.) */
#include "base/random.h"
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

enum { DRAWS = 5000000, SHIFT = 12, RELEASE = 200, COORDINATES = 8, LAGS = 8, BINS = 32 };
#define SIGMA (1 << SHIFT)

struct sample {
    int32_t *values; /* RELEASE of each key */
    size_t count;
    double words, words_squared; /* sums of what each deviate took */
};

static struct sample allocate(void)
{
    size_t count = rounds(DRAWS) < 4 * (size_t)DRAWS ? rounds(DRAWS) : 4 * (size_t)DRAWS; /* 80 MB */
    struct sample s = {.count = count / RELEASE * RELEASE};
    s.values = malloc(s.count * sizeof *s.values);
    TEST_ASSERT_NOT_NULL(s.values);
    return s;
}

static struct sample sound; /* drawn once for all tests */

static void draw_sound(void)
{
    sound = allocate();
    for (size_t i = 0; i < sound.count; i += RELEASE) {
        uint8_t key[32] = "battery";
        pml_random random;
        double before = 0;
        store_le64(key + 8, i);
        pml_random_start(&random, key);
        for (size_t j = 0; j < RELEASE; j++) {
            pml_gaussian_draw(&random, SHIFT, sound.values + i + j, 1);
            double now = 16.0 * random.counter - 16.0 + random.used, words = now - before;
            sound.words += words;
            sound.words_squared += words * words;
            before = now;
        }
    }
}

/* ---- the statistics, as shares of their limits ---- */

/* P(|round(σN)| > last) */
static double beyond(double last)
{
    return erfc((last + 0.5) / SIGMA * sqrt(0.5));
}

/* A count of a small mean: the smaller of P(≤ seen) and P(≥ seen) must exceed 1e-8. */
static double share_of_rare(double seen, double mean)
{
    double at_most = 0, at_least = 0;
    for (double n = 0; n < seen + 200; n++) {
        double probability = exp(n * log(mean) - mean - lgamma(n + 1));
        at_most += n <= seen ? probability : 0;
        at_least += n >= seen ? probability : 0;
    }
    return log(at_most < at_least ? at_most : at_least) / log(1e-8);
}

static double share_of_far_tails(const struct sample *s)
{
    static const double sigmas[] = {4.0, 4.5, 5.0};
    double worst = 0;
    for (size_t t = 0; t < sizeof sigmas / sizeof sigmas[0]; t++) {
        double last = sigmas[t] * SIGMA, seen = 0, mean = (double)s->count * beyond(last);
        for (size_t i = 0; i < s->count; i++)
            seen += abs(s->values[i]) > last;
        worst = larger(worst,
                       mean > 100 ? share_of_count(seen, (double)s->count, beyond(last)) : share_of_rare(seen, mean));
    }
    return worst;
}

static double share_of_zeros(const struct sample *s)
{
    double seen = 0;
    for (size_t i = 0; i < s->count; i++)
        seen += s->values[i] == 0;
    return share_of_count(seen, (double)s->count, 1.0 - beyond(0));
}

/* As many n as −n: all together, and in 768 bins to three standard deviations; (a − b)²/(a + b) is a χ². */
static double share_of_symmetry(const struct sample *s)
{
    enum { SIZES = 768, WIDTH = SIGMA / 256 };
    static double difference[SIZES], sum[SIZES];
    double signs = 0, nonzero = 0, squares = 0;
    memset(difference, 0, sizeof difference);
    memset(sum, 0, sizeof sum);
    for (size_t i = 0; i < s->count; i++) {
        int32_t v = s->values[i], sign = (v > 0) - (v < 0);
        signs += sign;
        nonzero += v != 0;
        if (abs(v) < SIZES * WIDTH) {
            difference[abs(v) / WIDTH] += sign;
            sum[abs(v) / WIDTH] += v != 0;
        }
    }
    for (size_t i = 0; i < SIZES; i++)
        squares += difference[i] * difference[i] / sum[i];
    return larger(share_of_square_sum(squares, SIZES), share_of_normal(signs / sqrt(nonzero)));
}

/* Fits ln P(n) + n²/2σ² = a + b·x + c·x², x = n²/2σ², to four standard deviations: b and c must be 0. The squares are
 * weighted with the expected counts, and x² is made orthogonal to 1 and x. */
static double share_of_slope(const struct sample *s)
{
    const int width = 4 * SIGMA / BINS;
    double seen[BINS] = {0}, weight[BINS], x[BINS], curve[BINS], total = 0, mean = 0, spread = 0, slant = 0, middle = 0;
    for (size_t i = 0; i < s->count; i++)
        if (abs(s->values[i]) < 4 * SIGMA)
            seen[abs(s->values[i]) / width] += 1;
    for (int i = 0; i < BINS; i++) {
        double low = i * width, high = low + width;
        weight[i] = (double)s->count * ((i == 0 ? 1.0 : beyond(low - 1)) - beyond(high - 1));
        x[i] = (low + high) * (low + high) / (8.0 * SIGMA * SIGMA);
        total += weight[i];
        mean += weight[i] * x[i];
    }
    mean /= total;
    for (int i = 0; i < BINS; i++) {
        spread += weight[i] * (x[i] - mean) * (x[i] - mean);
        slant += weight[i] * (x[i] - mean) * x[i] * x[i];
        middle += weight[i] * x[i] * x[i] / total;
    }
    double slope = 0, bend = 0, bend_spread = 0;
    for (int i = 0; i < BINS; i++) {
        double excess = log((seen[i] + 0.5) / weight[i]); /* + ½ takes away the logarithm's bias */
        curve[i] = x[i] * x[i] - middle - slant / spread * (x[i] - mean);
        slope += weight[i] * (x[i] - mean) * excess;
        bend += weight[i] * curve[i] * excess;
        bend_spread += weight[i] * curve[i] * curve[i];
    }
    return larger(share_of_normal(slope / sqrt(spread)), share_of_normal(bend / sqrt(bend_spread)));
}

/* Sums of products, and of products of what the squares exceed 1 by, in standard errors. */
struct products {
    double plain, squares, count;
};

static void multiply_in(struct products *p, int32_t a, int32_t b)
{
    double x = (double)a / SIGMA, y = (double)b / SIGMA;
    p->plain += x * y;
    p->squares += (x * x - 1.0) * (y * y - 1.0);
    p->count += 1;
}

static double share_of_products(const struct products *p)
{
    return larger(share_of_normal(p->plain / sqrt(p->count)), share_of_normal(p->squares / (2.0 * sqrt(p->count))));
}

/* Lags 2 … 8 within a release (lag 1 is test_sampler's), and one release against the next. */
static double share_of_lags(const struct sample *s)
{
    double worst = 0;
    for (size_t lag = 2; lag <= LAGS + 1; lag++) {
        struct products p = {0};
        size_t distance = lag > LAGS ? RELEASE : lag;
        for (size_t i = 0; i + distance < s->count; i++)
            if (distance == RELEASE || i % RELEASE + distance < RELEASE)
                multiply_in(&p, s->values[i], s->values[i + distance]);
        worst = larger(worst, share_of_products(&p));
    }
    return worst;
}

/* The first coordinates of all releases, every two of them: two χ² over the pairs. */
static double share_of_coordinates(const struct sample *s)
{
    double plain = 0, squares = 0, pairs = COORDINATES * (COORDINATES - 1) / 2.0;
    for (size_t a = 0; a < COORDINATES; a++)
        for (size_t b = 0; b < a; b++) {
            struct products p = {0};
            for (size_t i = 0; i < s->count; i += RELEASE)
                multiply_in(&p, s->values[i + a], s->values[i + b]);
            plain += p.plain * p.plain / p.count;
            squares += p.squares * p.squares / (4.0 * p.count);
        }
    return larger(share_of_square_sum(plain, pairs), share_of_square_sum(squares, pairs));
}

/* ---- words of a deviate, from SPEC 5.12; comparisons that need a second limb, one in 2^32, are left out ----
 *
 * half() takes e^½ words: one, and in half of all cases 2(√e − 1) more, the expected length of a descent below ½. Its
 * calls are independent, so by Wald any number of them, stopped by what they answer, take e^½ each. step(k, x) with
 * q = (2k+x)/(2k+2) draws e^(xq) numbers z, (e^(xq) − 1)/q times f, and once in 2k+2 of these a number p. */

static double words_of_steps(double k, double x)
{
    double q = (2 * k + x) / (2 * k + 2), grown = exp(x * q), steps = 0;
    double drawn = q > 0 ? (grown - 1) / q : x;
    for (double i = 0; i <= k; i++)
        steps += exp(-x * q * i); /* the i-th is made when those before it succeeded */
    return steps * (grown + drawn * (1 + 1 / (2 * k + 2)));
}

static double words_expected(void)
{
    const double p = exp(-0.5), word = exp(0.5), accepted = (1 - p) * sqrt(acos(-1.0) / 2);
    double words = word / (1 - p);
    for (double k = 0; k < 32; k++) {
        double halves = k * (k - 1), integral = 0;
        for (int i = 0; i <= 1000; i++) /* Simpson */
            integral += (i == 0 || i == 1000 ? 1 : i % 2 == 1 ? 4 : 2) * words_of_steps(k, i / 1000.0) / 3000;
        words += (1 - p) * pow(p, k) * (word * (1 - pow(p, halves)) / (1 - p) + pow(p, halves) * (1 + integral));
    }
    return words / accepted + 1; /* the last word is the sign */
}

static double share_of_words(const struct sample *s)
{
    double count = (double)s->count, mean = s->words / count, variance = s->words_squared / count - mean * mean;
    return share_of_normal((mean - words_expected()) / sqrt(variance / count));
}

/* ---- the sound sample passes ---- */

static void check_sound(const char *name, double share)
{
    printf("    %s %.2f\n", name, share);
    TEST_ASSERT_TRUE_MESSAGE(share <= 1.0, name);
}

static void test_deviates_are_normal_and_independent(void)
{
    check_sound("far tails", share_of_far_tails(&sound));
    check_sound("zeros", share_of_zeros(&sound));
    check_sound("symmetry", share_of_symmetry(&sound));
    check_sound("slope", share_of_slope(&sound));
    check_sound("lags", share_of_lags(&sound));
    check_sound("coordinates", share_of_coordinates(&sound));
}

static void test_a_deviate_takes_the_words_of_theory(void)
{
    printf("    %.4f words, %.4f expected\n", sound.words / (double)sound.count, words_expected());
    check_sound("words", share_of_words(&sound));
}

/* ---- planted defects are found ---- */

static int32_t scaled(size_t i, int32_t v)
{
    (void)i;
    return (int32_t)lround(v * 1.003);
}

/* Half of what was rounded was rounded up. */
static int32_t truncated(size_t i, int32_t v)
{
    uint64_t state = i;
    return (draw64(&state) & 1) != 0 ? v : v - (v > 0) + (v < 0);
}

static int32_t without_tails(size_t i, int32_t v)
{
    (void)i;
    return abs(v) > 4 * SIGMA ? v / 2 : v;
}

static int32_t more_often_positive(size_t i, int32_t v)
{
    return i % 250 == 0 ? abs(v) : v;
}

static int32_t repeats_the_fifth_before(size_t i, int32_t v)
{
    return i % 100 == 99 ? sound.values[i - 5] : v;
}

static int32_t shares_a_coordinate(size_t i, int32_t v)
{
    return i % RELEASE == 3 && i / RELEASE % 8 == 0 ? sound.values[i - 2] : v;
}

static void check_found(int32_t (*defect)(size_t, int32_t), double (*share)(const struct sample *))
{
    struct sample wrong = allocate();
    for (size_t i = 0; i < wrong.count; i++)
        wrong.values[i] = defect(i, sound.values[i]);
    double found = share(&wrong);
    printf("    planted: %.2f\n", found);
    TEST_ASSERT_TRUE(found > 1.0);
    free(wrong.values);
}

static void test_planted_defects_are_found(void)
{
    if (sound.count < DRAWS)
        TEST_IGNORE_MESSAGE("too few deviates");
    check_found(scaled, share_of_slope);
    check_found(truncated, share_of_zeros);
    check_found(without_tails, share_of_far_tails);
    check_found(more_often_positive, share_of_symmetry);
    check_found(repeats_the_fifth_before, share_of_lags);
    check_found(shares_a_coordinate, share_of_coordinates);
    struct sample wasteful = sound; /* takes a word too many in one of ten deviates */
    wasteful.words += 0.1 * (double)sound.count;
    TEST_ASSERT_TRUE(share_of_words(&wasteful) > 1.0);
}
#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_GAUSSIAN
    draw_sound();
    RUN_TEST(test_deviates_are_normal_and_independent);
    RUN_TEST(test_a_deviate_takes_the_words_of_theory);
    RUN_TEST(test_planted_defects_are_found);
    free(sound.values);
#endif
    return UNITY_END();
}
