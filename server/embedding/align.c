/* SPDX-License-Identifier: Apache-2.0
 * The similarity that carries one set of points onto another with the least squares (SPEC 6.4). It cannot fail: where the
 * points leave the rotation free, it is the one nearest to none. */
#include "align.h"

#include <math.h>
#include <string.h>

#define K PML_DIMENSIONS_MAX
#define NEGLIGIBLE 0x1p-40
#define SWEEPS_MAX 64

/* Column c of a matrix is m[c]. */
typedef double matrix[K][K];

/* M = Σ values[i] · left[i] right[i]ᵀ, both orthonormal, values descending. */
struct decomposition {
    matrix left, right;
    double values[K];
    unsigned rank; /* values that are not negligible */
};

static double dot(const double *a, const double *b, unsigned size)
{
    double sum = 0.0;
    for (unsigned i = 0; i < size; i++)
        sum += a[i] * b[i];
    return sum;
}

/* ---- singular values by one-sided Jacobi rotations ---- */

static void rotate(double *a, double *b, unsigned size, double cosine, double sine)
{
    for (unsigned i = 0; i < size; i++) {
        double x = a[i], y = b[i];
        a[i] = cosine * x - sine * y;
        b[i] = sine * x + cosine * y;
    }
}

/* Makes two columns orthogonal; false when they are. */
static bool orthogonalise(struct decomposition *d, unsigned size, unsigned p, unsigned q)
{
    double *a = d->left[p], *b = d->left[q];
    double aa = dot(a, a, size), bb = dot(b, b, size), ab = dot(a, b, size);
    if (fabs(ab) <= 0x1p-52 * sqrt(aa) * sqrt(bb))
        return false;
    double zeta = (bb - aa) / (2.0 * ab);
    double tangent = copysign(1.0, zeta) / (fabs(zeta) + hypot(1.0, zeta));
    double cosine = 1.0 / hypot(1.0, tangent);
    rotate(a, b, size, cosine, cosine * tangent);
    rotate(d->right[p], d->right[q], size, cosine, cosine * tangent);
    return true;
}

static void swap_columns(matrix m, unsigned p, unsigned q)
{
    double held[K];
    memcpy(held, m[p], sizeof held);
    memcpy(m[p], m[q], sizeof held);
    memcpy(m[q], held, sizeof held);
}

/* Sorts the columns by length and makes those of the rank unit vectors. */
static void measure(struct decomposition *d, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        d->values[i] = sqrt(dot(d->left[i], d->left[i], size));
    for (unsigned i = 0; i < size; i++) {
        unsigned largest = i;
        for (unsigned j = i + 1; j < size; j++)
            if (d->values[j] > d->values[largest])
                largest = j;
        double value = d->values[largest];
        d->values[largest] = d->values[i];
        d->values[i] = value;
        swap_columns(d->left, i, largest);
        swap_columns(d->right, i, largest);
    }
    d->rank = 0;
    while (d->rank < size && d->values[d->rank] > NEGLIGIBLE * d->values[0]) {
        for (unsigned i = 0; i < size; i++)
            d->left[d->rank][i] /= d->values[d->rank];
        d->rank++;
    }
}

/* Column `at` becomes a unit vector orthogonal to those before it. Some axis keeps at least 1/size of its square. */
static void complete(matrix m, unsigned size, unsigned at)
{
    double *column = m[at], left_over = 0.0;
    for (unsigned axis = 0; axis < size && left_over < 0.5 / size; axis++) {
        memset(column, 0, size * sizeof *column);
        column[axis] = 1.0;
        for (unsigned twice = 0; twice < 2; twice++) /* the second time removes what rounding left */
            for (unsigned c = 0; c < at; c++) {
                double share = dot(m[c], column, size);
                for (unsigned i = 0; i < size; i++)
                    column[i] -= share * m[c][i];
            }
        left_over = dot(column, column, size);
    }
    for (unsigned i = 0; i < size; i++)
        column[i] /= sqrt(left_over);
}

/* d->left holds the matrix. */
static void decompose(struct decomposition *d, unsigned size)
{
    memset(d->right, 0, sizeof d->right);
    for (unsigned i = 0; i < size; i++)
        d->right[i][i] = 1.0;
    bool turned = true;
    for (unsigned sweep = 0; turned && sweep < SWEEPS_MAX; sweep++) {
        turned = false;
        for (unsigned p = 0; p + 1 < size; p++)
            for (unsigned q = p + 1; q < size; q++)
                turned |= orthogonalise(d, size, p, q);
    }
    measure(d, size);
    for (unsigned i = d->rank; i < size; i++)
        complete(d->left, size, i);
}

/* ---- rotation ---- */

/* Replaces the columns of m from `first` on by their combinations with the columns of `factors`. */
static void combine(matrix m, unsigned size, unsigned first, matrix factors)
{
    matrix result;
    for (unsigned c = 0; c < size - first; c++)
        for (unsigned r = 0; r < size; r++) {
            result[c][r] = 0.0;
            for (unsigned i = 0; i < size - first; i++)
                result[c][r] += m[first + i][r] * factors[c][i];
        }
    for (unsigned c = 0; c < size - first; c++)
        memcpy(m[first + c], result[c], size * sizeof m[0][0]);
}

/* Pairs the columns beyond the rank, which are any bases of two spaces, so that Σ left rightᵀ is nearest to the
 * identity: that is the same problem again, with the product of the bases. */
static void settle_free_part(struct decomposition *d, unsigned size)
{
    struct decomposition free_part;
    const unsigned first = d->rank, count = size - first;
    for (unsigned c = 0; c < count; c++)
        for (unsigned r = 0; r < count; r++)
            free_part.left[c][r] = dot(d->left[first + r], d->right[first + c], size);
    decompose(&free_part, count);
    combine(d->left, size, first, free_part.left);
    combine(d->right, size, first, free_part.right);
}

static void multiply(const struct decomposition *d, unsigned size, double *rotation)
{
    for (unsigned r = 0; r < size; r++)
        for (unsigned c = 0; c < size; c++) {
            double sum = 0.0;
            for (unsigned i = 0; i < size; i++)
                sum += d->left[i][r] * d->right[i][c];
            rotation[r * size + c] = sum;
        }
}

/* Whether an orthogonal matrix has determinant −1, by elimination with row pivots. */
static bool is_reflection(const double *rotation, unsigned size)
{
    double m[K * K];
    bool negative = false;
    memcpy(m, rotation, (size_t)size * size * sizeof *m);
    for (unsigned c = 0; c < size; c++) {
        unsigned pivot = c;
        for (unsigned r = c + 1; r < size; r++)
            if (fabs(m[r * size + c]) > fabs(m[pivot * size + c]))
                pivot = r;
        negative ^= (pivot != c) ^ (m[pivot * size + c] < 0.0);
        for (unsigned i = 0; i < size && pivot != c; i++) {
            double held = m[c * size + i];
            m[c * size + i] = m[pivot * size + i];
            m[pivot * size + i] = held;
        }
        for (unsigned r = c + 1; r < size; r++) {
            double factor = m[r * size + c] / m[c * size + c];
            for (unsigned i = c; i < size; i++)
                m[r * size + i] -= factor * m[c * size + i];
        }
    }
    return negative;
}

/* ---- points ---- */

struct cloud {
    double mean[K];
    double extent; /* the largest difference of a coordinate from its mean; 0 when it is negligible */
};

static struct cloud survey(const double *points, size_t count, unsigned size)
{
    struct cloud cloud = {{0}, 0.0};
    double largest = 0.0;
    for (size_t i = 0; i < count; i++)
        for (unsigned c = 0; c < size; c++)
            cloud.mean[c] += points[i * size + c] / (double)count;
    for (size_t i = 0; i < count; i++)
        for (unsigned c = 0; c < size; c++) {
            cloud.extent = fmax(cloud.extent, fabs(points[i * size + c] - cloud.mean[c]));
            largest = fmax(largest, fabs(points[i * size + c]));
        }
    if (cloud.extent <= NEGLIGIBLE * largest)
        cloud.extent = 0.0;
    return cloud;
}

/* Σ b aᵀ into `covariance`, and Σ ‖a‖², of centred points divided by their extents: nothing overflows. */
static double correlate(const double *from, const struct cloud *a, const double *to, const struct cloud *b,
                        size_t count, unsigned size, matrix covariance)
{
    double squares = 0.0;
    memset(covariance, 0, sizeof(matrix));
    for (size_t i = 0; i < count; i++)
        for (unsigned c = 0; c < size; c++) {
            double x = (from[i * size + c] - a->mean[c]) / a->extent;
            squares += x * x;
            for (unsigned r = 0; r < size; r++)
                covariance[c][r] += x * ((to[i * size + r] - b->mean[r]) / b->extent);
        }
    return squares;
}

static void turn(const struct pml_similarity *similarity, const double *point, double *out)
{
    const unsigned size = similarity->dimensions;
    for (unsigned r = 0; r < size; r++)
        out[r] = similarity->scale * dot(similarity->rotation + (size_t)r * size, point, size);
}

void pml_align(const double *from, const double *to, size_t count, unsigned dimensions, bool reflections,
               struct pml_similarity *similarity)
{
    const struct cloud a = survey(from, count, dimensions), b = survey(to, count, dimensions);
    *similarity = (struct pml_similarity){.dimensions = dimensions, .scale = 1.0};
    if (a.extent > 0.0 && b.extent > 0.0) {
        struct decomposition d;
        double squares = correlate(from, &a, to, &b, count, dimensions, d.left), reached = 0.0;
        decompose(&d, dimensions);
        settle_free_part(&d, dimensions);
        multiply(&d, dimensions, similarity->rotation);
        if (!reflections && is_reflection(similarity->rotation, dimensions)) {
            /* Turning the least singular pair round costs least. */
            for (unsigned i = 0; i < dimensions; i++)
                d.left[dimensions - 1][i] = -d.left[dimensions - 1][i];
            d.values[dimensions - 1] = -d.values[dimensions - 1];
            multiply(&d, dimensions, similarity->rotation);
        }
        for (unsigned i = 0; i < dimensions; i++)
            reached += d.values[i];
        similarity->scale = fmax(reached, 0.0) / squares * (b.extent / a.extent);
    } else {
        for (unsigned i = 0; i < dimensions; i++)
            similarity->rotation[i * dimensions + i] = 1.0;
    }
    turn(similarity, a.mean, similarity->shift);
    for (unsigned i = 0; i < dimensions; i++)
        similarity->shift[i] = b.mean[i] - similarity->shift[i];
}

void pml_similarity_apply(const struct pml_similarity *similarity, double *points, size_t count)
{
    const unsigned size = similarity->dimensions;
    for (size_t i = 0; i < count; i++) {
        double turned[K];
        turn(similarity, points + i * size, turned);
        for (unsigned c = 0; c < size; c++)
            points[i * size + c] = turned[c] + similarity->shift[c];
    }
}
