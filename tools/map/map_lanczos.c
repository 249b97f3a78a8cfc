/* SPDX-License-Identifier: Apache-2.0
 * Lanczos' steps, each vector made orthogonal to all before it. */
#include "map_lanczos.h"
#include "map_methods.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 160u  /* at most */
#define LOOK 8u     /* steps between two looks whether it is enough */
#define ENOUGH 1e-9 /* of the first value: what a pair may miss its equation by */

struct lanczos {
    size_t size, steps;
    double *basis;                         /* steps × size */
    double diagonal[STEPS], beside[STEPS]; /* of the small matrix; beside[i] joins i and i+1 */
    double turned[STEPS * STEPS];          /* its vectors, in columns */
    double values[STEPS];
};

static double dot(const double *left, const double *right, size_t size)
{
    double sum = 0.0;
    for (size_t i = 0; i < size; i++)
        sum += left[i] * right[i];
    return sum;
}

/* ---- the small matrix ---- */

/* Turns rows and columns p and q so that the entry between them becomes 0 (Jacobi). */
static void rotate(double *matrix, double *vectors, size_t size, size_t p, size_t q)
{
    const double between = matrix[p * size + q];
    const double slope = (matrix[q * size + q] - matrix[p * size + p]) / (2.0 * between);
    const double t = (slope >= 0.0 ? 1.0 : -1.0) / (fabs(slope) + sqrt(slope * slope + 1.0));
    const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (size_t k = 0; k < size; k++) {
        const double a = matrix[k * size + p], b = matrix[k * size + q];
        matrix[k * size + p] = c * a - s * b;
        matrix[k * size + q] = s * a + c * b;
    }
    for (size_t k = 0; k < size; k++) {
        const double a = matrix[p * size + k], b = matrix[q * size + k];
        matrix[p * size + k] = c * a - s * b;
        matrix[q * size + k] = s * a + c * b;
        const double u = vectors[k * size + p], v = vectors[k * size + q];
        vectors[k * size + p] = c * u - s * v;
        vectors[k * size + q] = s * u + c * v;
    }
}

static void solve_small(struct lanczos *lanczos, double *matrix)
{
    const size_t m = lanczos->steps;
    double scale = 0.0;
    memset(matrix, 0, m * m * sizeof *matrix);
    memset(lanczos->turned, 0, m * m * sizeof *lanczos->turned);
    for (size_t i = 0; i < m; i++) {
        matrix[i * m + i] = lanczos->diagonal[i];
        lanczos->turned[i * m + i] = 1.0;
        if (i + 1 < m)
            matrix[i * m + i + 1] = matrix[(i + 1) * m + i] = lanczos->beside[i];
        scale = fmax(scale, fmax(fabs(lanczos->diagonal[i]), fabs(lanczos->beside[i])));
    }
    for (int sweep = 0, again = 1; sweep < 60 && again; sweep++) {
        again = 0;
        for (size_t p = 0; p + 1 < m; p++)
            for (size_t q = p + 1; q < m; q++)
                if (fabs(matrix[p * m + q]) > 1e-15 * scale) {
                    rotate(matrix, lanczos->turned, m, p, q);
                    again = 1;
                }
    }
    for (size_t i = 0; i < m; i++)
        lanczos->values[i] = matrix[i * m + i];
}

/* The index of the rank-th largest value. */
static size_t ranked(const struct lanczos *lanczos, size_t rank)
{
    for (size_t i = 0; i < lanczos->steps; i++) {
        size_t before = 0;
        for (size_t j = 0; j < lanczos->steps; j++)
            before += lanczos->values[j] > lanczos->values[i] || (j < i && !(lanczos->values[j] < lanczos->values[i]));
        if (before == rank)
            return i;
    }
    return 0;
}

static bool good_enough(const struct lanczos *lanczos, size_t wanted, double left)
{
    const size_t m = lanczos->steps;
    const double first = fabs(lanczos->values[ranked(lanczos, 0)]);
    for (size_t r = 0; r < wanted; r++)
        if (left * fabs(lanczos->turned[(m - 1) * m + ranked(lanczos, r)]) > ENOUGH * first)
            return false;
    return true;
}

/* ---- steps ---- */

/* Takes from the vector its parts along the basis; twice, for what rounding leaves. */
static void clear_basis(const struct lanczos *lanczos, double *vector)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < lanczos->steps; i++) {
            const double *earlier = lanczos->basis + i * lanczos->size, part = dot(vector, earlier, lanczos->size);
            for (size_t k = 0; k < lanczos->size; k++)
                vector[k] -= part * earlier[k];
        }
}

static pml_outcome take_steps(struct lanczos *lanczos, pml_map_apply_fn apply, void *context, size_t wanted,
                              uint64_t seed, double *vector, double *small)
{
    const size_t size = lanczos->size, most = size < STEPS ? size : STEPS;
    struct pml_generator generator = pml_generator_start(seed, PML_MAP_STREAM_START);
    for (size_t k = 0; k < size; k++)
        vector[k] = pml_map_uniform(&generator);
    double left = sqrt(dot(vector, vector, size)), largest = 0.0;
    while (lanczos->steps < most) {
        double *newest = lanczos->basis + lanczos->steps * size;
        for (size_t k = 0; k < size; k++)
            newest[k] = vector[k] / left;
        pml_outcome outcome = apply(context, newest, vector);
        if (outcome != PML_DONE)
            return outcome;
        lanczos->diagonal[lanczos->steps++] = dot(newest, vector, size);
        clear_basis(lanczos, vector);
        left = sqrt(dot(vector, vector, size));
        lanczos->beside[lanczos->steps - 1] = left;
        largest = fmax(largest, fmax(fabs(lanczos->diagonal[lanczos->steps - 1]), left));
        const bool over = lanczos->steps == most || left <= 1e-13 * largest;
        if (over || (lanczos->steps >= wanted + 2 && lanczos->steps % LOOK == 0)) {
            solve_small(lanczos, small);
            if (over || good_enough(lanczos, wanted, left))
                return PML_DONE;
        }
    }
    return PML_DONE;
}

static void take_vector(const struct lanczos *lanczos, size_t column, double *vector)
{
    double largest = 0.0;
    memset(vector, 0, lanczos->size * sizeof *vector);
    for (size_t i = 0; i < lanczos->steps; i++)
        for (size_t k = 0; k < lanczos->size; k++)
            vector[k] += lanczos->turned[i * lanczos->steps + column] * lanczos->basis[i * lanczos->size + k];
    for (size_t k = 0; k < lanczos->size; k++)
        largest = fabs(vector[k]) > fabs(largest) ? vector[k] : largest;
    for (size_t k = 0; k < lanczos->size && largest < 0.0; k++)
        vector[k] = -vector[k];
}

pml_outcome pml_map_lanczos(pml_map_apply_fn apply, void *context, size_t size, size_t wanted, uint64_t seed,
                            double *values, double *vectors)
{
    const size_t most = size < STEPS ? size : STEPS;
    struct lanczos *lanczos = calloc(1, sizeof *lanczos);
    double *basis = malloc(most * size * sizeof *basis), *vector = malloc(size * sizeof *vector);
    double *small = malloc(STEPS * STEPS * sizeof *small);
    pml_outcome outcome = lanczos && basis && vector && small ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        lanczos->size = size;
        lanczos->basis = basis;
        outcome = take_steps(lanczos, apply, context, wanted, seed, vector, small);
    }
    for (size_t r = 0; outcome == PML_DONE && r < wanted; r++) {
        const size_t column = ranked(lanczos, r < lanczos->steps ? r : 0);
        values[r] = r < lanczos->steps ? lanczos->values[column] : 0.0;
        if (r < lanczos->steps && fabs(values[r]) > 1e-12 * fabs(values[0]))
            take_vector(lanczos, column, vectors + r * size);
        else
            memset(vectors + r * size, 0, size * sizeof *vectors);
    }
    free(lanczos);
    free(basis);
    free(vector);
    free(small);
    return outcome;
}
