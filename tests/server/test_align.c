/* SPDX-License-Identifier: Apache-2.0
 * The similarity between two sets of points: it is found where there is one, and is the best where there is none. */
#include "privacy/draws.h"
#include "server/embedding/align.h"
#include "support/support.h"

#include <math.h>

#define K PML_DIMENSIONS_MAX
#define POINTS 60u

void setUp(void)
{
}

void tearDown(void)
{
}

static uint64_t state = 20;

static double draw(void) /* −1 … 1 */
{
    return (double)draw_between(&state, -1000000000, 1000000000) * 1e-9;
}

static void draw_points(double *points, size_t count, unsigned k)
{
    for (size_t i = 0; i < count * k; i++)
        points[i] = draw();
}

/* A rotation of every pair of axes by some angle; then, perhaps, one axis mirrored. */
static void turn_pairs(double *rotation, unsigned k, double most)
{
    for (unsigned p = 0; p + 1 < k; p++)
        for (unsigned q = p + 1; q < k; q++) {
            double angle = most * draw();
            for (unsigned r = 0; r < k; r++) {
                double x = rotation[r * k + p], y = rotation[r * k + q];
                rotation[r * k + p] = cos(angle) * x - sin(angle) * y;
                rotation[r * k + q] = sin(angle) * x + cos(angle) * y;
            }
        }
}

static struct pml_similarity draw_similarity(unsigned k, bool mirrored, double scale, double shift)
{
    struct pml_similarity s = {.dimensions = k, .scale = scale};
    for (unsigned i = 0; i < k; i++) {
        s.rotation[i * k + i] = i == 0 && mirrored ? -1.0 : 1.0;
        s.shift[i] = shift * draw();
    }
    turn_pairs(s.rotation, k, 3.14);
    return s;
}

static double residual(const struct pml_similarity *s, const double *from, const double *to, size_t count)
{
    double moved[POINTS * K], sum = 0.0;
    memcpy(moved, from, count * s->dimensions * sizeof *moved);
    pml_similarity_apply(s, moved, count);
    for (size_t i = 0; i < count * s->dimensions; i++)
        sum += (moved[i] - to[i]) * (moved[i] - to[i]);
    return sum;
}

/* Of an orthogonal matrix: rotations of two rows at a time, which leave it alone, make it triangular. */
static double determinant(const double *rotation, unsigned k)
{
    double m[K * K], product = 1.0;
    memcpy(m, rotation, k * k * sizeof *m);
    for (unsigned c = 0; c < k; c++)
        for (unsigned r = c + 1; r < k; r++) {
            double length = hypot(m[c * k + c], m[r * k + c]);
            double cosine = length > 0.0 ? m[c * k + c] / length : 1.0,
                   sine = length > 0.0 ? m[r * k + c] / length : 0.0;
            for (unsigned i = 0; i < k; i++) {
                double x = m[c * k + i], y = m[r * k + i];
                m[c * k + i] = cosine * x + sine * y;
                m[r * k + i] = cosine * y - sine * x;
            }
        }
    for (unsigned i = 0; i < k; i++)
        product *= m[i * k + i];
    return product;
}

static void assert_orthogonal(const struct pml_similarity *s)
{
    const unsigned k = s->dimensions;
    for (unsigned a = 0; a < k; a++)
        for (unsigned b = 0; b < k; b++) {
            double sum = 0.0;
            for (unsigned i = 0; i < k; i++)
                sum += s->rotation[a * k + i] * s->rotation[b * k + i];
            TEST_ASSERT_DOUBLE_WITHIN(1e-13, a == b, sum);
        }
}

static void assert_identity(const struct pml_similarity *s, double within)
{
    for (unsigned r = 0; r < s->dimensions; r++)
        for (unsigned c = 0; c < s->dimensions; c++)
            TEST_ASSERT_DOUBLE_WITHIN(within, r == c, s->rotation[r * s->dimensions + c]);
}

/* ---- there is one ---- */

static void check_recovery(unsigned k, bool mirrored, double scale, double shift)
{
    double from[POINTS * K], to[POINTS * K];
    const struct pml_similarity right = draw_similarity(k, mirrored, scale, shift);
    struct pml_similarity found;
    draw_points(from, POINTS, k);
    memcpy(to, from, sizeof to);
    pml_similarity_apply(&right, to, POINTS);
    pml_align(from, to, POINTS, k, true, &found);
    assert_orthogonal(&found);
    TEST_ASSERT_EQUAL_UINT(k, found.dimensions);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6 * scale, scale, found.scale);
    for (unsigned i = 0; i < k * k; i++)
        TEST_ASSERT_DOUBLE_WITHIN(1e-6, right.rotation[i], found.rotation[i]);
    for (unsigned i = 0; i < k; i++)
        TEST_ASSERT_DOUBLE_WITHIN(1e-6 * scale, right.shift[i], found.shift[i]);
    if (!mirrored) { /* proper rotations are enough then */
        pml_align(from, to, POINTS, k, false, &found);
        TEST_ASSERT_TRUE(residual(&found, from, to, POINTS) <= 1e-12 * scale * scale);
    }
}

static void test_random_similarities_are_recovered(void)
{
    const double scales[] = {1e-3, 0.1, 1.0, 40.0, 1e3};
    for (unsigned k = 1; k <= K; k++)
        for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++)
            for (int mirrored = 0; mirrored < 2; mirrored++) {
                check_recovery(k, mirrored, scales[i], 0.0);
                check_recovery(k, mirrored, scales[i], 1000.0);
            }
}

/* Coordinates of very different extent: singular values over ten decades. */
static void test_flat_clouds_are_recovered(void)
{
    double from[POINTS * 3], to[POINTS * 3];
    const struct pml_similarity right = draw_similarity(3, true, 2.0, 1.0);
    struct pml_similarity found;
    draw_points(from, POINTS, 3);
    for (size_t i = 0; i < POINTS; i++) {
        from[3 * i + 1] *= 1e-3;
        from[3 * i + 2] *= 1e-5;
    }
    memcpy(to, from, sizeof to);
    pml_similarity_apply(&right, to, POINTS);
    pml_align(from, to, POINTS, 3, true, &found);
    for (unsigned i = 0; i < 9; i++)
        TEST_ASSERT_DOUBLE_WITHIN(1e-6, right.rotation[i], found.rotation[i]);
}

static void test_the_ends_of_the_range_are_numbers(void)
{
    const double sizes[] = {1e-150, 1e-30, 1e38, 1e150};
    double from[POINTS * 2], to[POINTS * 2];
    for (size_t a = 0; a < 4; a++)
        for (size_t b = 0; b < 4; b++) {
            struct pml_similarity found;
            draw_points(from, POINTS, 2);
            for (size_t i = 0; i < POINTS * 2; i++) {
                to[i] = from[i] * sizes[b];
                from[i] *= sizes[a];
            }
            pml_align(from, to, POINTS, 2, true, &found);
            assert_identity(&found, 1e-6);
            TEST_ASSERT_DOUBLE_WITHIN(1e-6, 1.0, found.scale / (sizes[b] / sizes[a]));
        }
}

/* ---- there is none: the best ---- */

/* `to` is a similar cloud with noise. */
static void draw_noisy(unsigned k, bool mirrored, double noise, double *from, double *to)
{
    const struct pml_similarity near = draw_similarity(k, mirrored, 1.7, 3.0);
    draw_points(from, POINTS, k);
    memcpy(to, from, POINTS * k * sizeof *to);
    pml_similarity_apply(&near, to, POINTS);
    for (size_t i = 0; i < POINTS * k; i++)
        to[i] += noise * draw();
}

static void check_optimum(unsigned k, bool mirrored, bool reflections)
{
    double from[POINTS * K], to[POINTS * K];
    struct pml_similarity best;
    draw_noisy(k, mirrored, 0.5, from, to);
    pml_align(from, to, POINTS, k, reflections, &best);
    assert_orthogonal(&best);
    if (!reflections)
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1.0, determinant(best.rotation, k));
    const double least = residual(&best, from, to, POINTS);
    for (size_t i = 0; i < rounds(200); i++) {
        const double size = pow(10.0, -1.0 - 5.0 * fabs(draw()));
        struct pml_similarity other = best;
        other.scale *= 1.0 + size * draw();
        turn_pairs(other.rotation, k, size);
        for (unsigned c = 0; c < k; c++)
            other.shift[c] += size * draw();
        TEST_ASSERT_TRUE(residual(&other, from, to, POINTS) >= least * (1.0 - 1e-12));
    }
}

static void test_no_neighbour_is_better(void)
{
    for (unsigned k = 1; k <= K; k++)
        for (int which = 0; which < 4; which++)
            check_optimum(k, which & 1, which & 2);
}

/* A reflection must pay for itself. */
static void test_the_better_handedness_is_taken(void)
{
    for (unsigned k = 2; k <= K; k++)
        for (int mirrored = 0; mirrored < 2; mirrored++) {
            double from[POINTS * K], to[POINTS * K];
            struct pml_similarity any, proper;
            draw_noisy(k, mirrored, 0.1, from, to);
            pml_align(from, to, POINTS, k, true, &any);
            pml_align(from, to, POINTS, k, false, &proper);
            TEST_ASSERT_DOUBLE_WITHIN(1e-9, mirrored ? -1.0 : 1.0, determinant(any.rotation, k));
            TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1.0, determinant(proper.rotation, k));
            double free_choice = residual(&any, from, to, POINTS), forced = residual(&proper, from, to, POINTS);
            TEST_ASSERT_TRUE(mirrored ? forced > 1.01 * free_choice : forced <= free_choice * (1.0 + 1e-9));
        }
}

/* Every angle in turn; for each the best scale (not below 0) and shift are known. */
static double brute_force(const double *from, const double *to)
{
    double a[2] = {0, 0}, b[2] = {0, 0}, best = INFINITY;
    for (size_t i = 0; i < POINTS; i++)
        for (unsigned c = 0; c < 2; c++) {
            a[c] += from[2 * i + c] / POINTS;
            b[c] += to[2 * i + c] / POINTS;
        }
    for (int step = 0; step < 20000; step++) {
        double angle = step * (6.283185307179586 / 20000), u = cos(angle), v = sin(angle), hit = 0.0, squares = 0.0;
        struct pml_similarity s = {.dimensions = 2, .rotation = {u, -v, v, u}};
        for (size_t i = 0; i < POINTS; i++) {
            double x = from[2 * i] - a[0], y = from[2 * i + 1] - a[1];
            hit += (u * x - v * y) * (to[2 * i] - b[0]) + (v * x + u * y) * (to[2 * i + 1] - b[1]);
            squares += x * x + y * y;
        }
        s.scale = fmax(0.0, hit / squares);
        s.shift[0] = b[0] - s.scale * (u * a[0] - v * a[1]);
        s.shift[1] = b[1] - s.scale * (v * a[0] + u * a[1]);
        best = fmin(best, residual(&s, from, to, POINTS));
    }
    return best;
}

static void test_proper_rotations_of_mirrored_points_in_the_plane(void)
{
    for (size_t i = 0; i < 5; i++) {
        double from[POINTS * 2], to[POINTS * 2];
        struct pml_similarity found;
        draw_noisy(2, true, 0.3, from, to);
        for (size_t j = 0; j < POINTS; j++)
            from[2 * j] *= 2.0; /* with one extent in all directions every proper rotation is as bad */
        pml_align(from, to, POINTS, 2, false, &found);
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, 1.0, determinant(found.rotation, 2));
        double least = brute_force(from, to), reached = residual(&found, from, to, POINTS);
        TEST_ASSERT_TRUE(reached <= least * (1.0 + 1e-12) && reached >= least * (1.0 - 1e-6));
    }
}

static void test_a_line_that_may_not_be_mirrored_collapses(void)
{
    const double from[] = {1, 2, 4}, to[] = {-10, -20, -40};
    struct pml_similarity found;
    pml_align(from, to, 3, 1, false, &found);
    TEST_ASSERT_EQUAL_DOUBLE(0.0, found.scale);
    TEST_ASSERT_EQUAL_DOUBLE(1.0, found.rotation[0]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, -70.0 / 3.0, found.shift[0]);
    pml_align(from, to, 3, 1, true, &found);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 10.0, found.scale);
    TEST_ASSERT_EQUAL_DOUBLE(-1.0, found.rotation[0]);
}

/* ---- too little to go by ---- */

static void check_no_extent(const double *from, const double *to, size_t count, unsigned k)
{
    struct pml_similarity found;
    for (int reflections = 0; reflections < 2; reflections++) {
        pml_align(from, to, count, k, reflections, &found);
        TEST_ASSERT_EQUAL_DOUBLE(1.0, found.scale);
        assert_identity(&found, 0.0);
        for (unsigned c = 0; c < k; c++) {
            double shift = 0.0;
            for (size_t i = 0; i < count; i++)
                shift += (to[i * k + c] - from[i * k + c]) / (double)count;
            TEST_ASSERT_DOUBLE_WITHIN(1e-12, shift, found.shift[c]);
        }
    }
}

static void test_points_without_extent(void)
{
    double some[POINTS * 3], same[POINTS * 3];
    draw_points(some, POINTS, 3);
    for (size_t i = 0; i < POINTS * 3; i++)
        same[i] = 0.1 * (double)(1 + i % 3); /* the mean of these is not exactly one of them */
    check_no_extent(some, same, POINTS, 3);
    check_no_extent(same, some, POINTS, 3);
    check_no_extent(same, same, POINTS, 3);
    check_no_extent(some, some + 3, 1, 3);
}

/* Points in a subspace of `rank` axes: whatever turns the rest is as good; what is taken turns nothing. */
static void test_what_is_left_free_is_not_turned(void)
{
    for (unsigned k = 2; k <= K; k++)
        for (unsigned rank = 1; rank < k; rank++)
            for (int reflections = 0; reflections < 2; reflections++) {
                double from[POINTS * K], to[POINTS * K];
                struct pml_similarity plane = draw_similarity(rank, false, 1.0, 0.0), found;
                draw_points(from, POINTS, k);
                for (size_t i = 0; i < POINTS; i++) {
                    double moved[K];
                    memcpy(moved, from + i * k, sizeof *moved * rank);
                    pml_similarity_apply(&plane, moved, 1);
                    for (unsigned c = 0; c < k; c++) {
                        from[i * k + c] = c < rank ? from[i * k + c] : 5.0;
                        to[i * k + c] = c < rank ? moved[c] : 7.0;
                    }
                }
                pml_align(from, to, POINTS, k, reflections, &found);
                for (unsigned r = 0; r < k; r++)
                    for (unsigned c = 0; c < k; c++)
                        TEST_ASSERT_DOUBLE_WITHIN(
                            1e-9, r < rank && c < rank ? plane.rotation[r * rank + c] : (double)(r == c),
                            found.rotation[r * k + c]);
                TEST_ASSERT_TRUE(residual(&found, from, to, POINTS) < 1e-18);
            }
}

/* The points are on lines in any direction: they are still carried onto one another, by an orthogonal matrix. */
static void test_collinear_points(void)
{
    for (unsigned k = 2; k <= K; k++)
        for (int reflections = 0; reflections < 2; reflections++) {
            double from[POINTS * K], to[POINTS * K], a[K], b[K], ratio = 0.0;
            struct pml_similarity found;
            draw_points(a, 1, k);
            draw_points(b, 1, k);
            for (size_t i = 0; i < POINTS; i++) {
                double along = draw();
                for (unsigned c = 0; c < k; c++) {
                    from[i * k + c] = 2.0 + along * a[c];
                    to[i * k + c] = 1.0 - along * b[c];
                }
            }
            pml_align(from, to, POINTS, k, reflections, &found);
            assert_orthogonal(&found);
            TEST_ASSERT_TRUE(residual(&found, from, to, POINTS) < 1e-18);
            if (!reflections)
                TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1.0, determinant(found.rotation, k));
            for (unsigned c = 0; c < k; c++)
                ratio += b[c] * b[c];
            for (unsigned c = 0; c < k; c++)
                ratio -= found.scale * found.scale * a[c] * a[c];
            TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.0, ratio);
        }
}

static void test_points_that_have_nothing_in_common(void)
{
    const double from[] = {1, 0, -1, 0, 0, 0, 0, 0}, to[] = {0, 0, 0, 0, 3, 0, -3, 0};
    struct pml_similarity found;
    pml_align(from, to, 4, 2, true, &found);
    TEST_ASSERT_EQUAL_DOUBLE(0.0, found.scale);
    assert_identity(&found, 0.0);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_random_similarities_are_recovered);
    RUN_TEST(test_flat_clouds_are_recovered);
    RUN_TEST(test_the_ends_of_the_range_are_numbers);
    RUN_TEST(test_no_neighbour_is_better);
    RUN_TEST(test_the_better_handedness_is_taken);
    RUN_TEST(test_proper_rotations_of_mirrored_points_in_the_plane);
    RUN_TEST(test_a_line_that_may_not_be_mirrored_collapses);
    RUN_TEST(test_points_without_extent);
    RUN_TEST(test_what_is_left_free_is_not_turned);
    RUN_TEST(test_collinear_points);
    RUN_TEST(test_points_that_have_nothing_in_common);
    return UNITY_END();
}
