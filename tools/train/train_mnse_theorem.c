/* SPDX-License-Identifier: Apache-2.0
 * The constants of the theorem of mnse: rows are told apart when 6·L·δ + 2·√d·ε + 2·R + 2·η ≤ γ for some δ, ε > 0. R
 * is how far rows of a class may be mapped that were at most 2δ apart, so R ≤ 2·L·δ, and the condition holds for all
 * δ < (γ − 2·η)/(10·L), with ε small enough; when γ ≤ 2·η it holds for none. */
#include "tools/algebra/algebra.h"
#include "train_mnse.h"

#include <math.h>
#include <stdlib.h>

/* √2·e^(−1/2)·√p·|C|/width bounds how much faster a sum of p kernels can change than its argument. */
static double lipschitz(const struct pml_kernel_side *side, const struct pml_matrix *coefficients)
{
    double square = 0.0;
    for (size_t i = 0; i < coefficients->rows * coefficients->columns; i++)
        square += coefficients->values[i] * coefficients->values[i];
    return sqrt(2.0) * exp(-0.5) * sqrt((double)coefficients->rows * square) / side->width;
}

static double squared_distance(const double *left, const double *right, size_t count)
{
    double square = 0.0;
    for (size_t i = 0; i < count; i++)
        square += (left[i] - right[i]) * (left[i] - right[i]);
    return square;
}

static void compare(const struct pml_matrix *mapped, const struct pml_classes *classes,
                    struct pml_train_theorem *theorem)
{
    const size_t rows = mapped[0].rows, outputs = mapped[0].columns;
    double most = 0.0, least = INFINITY;
    for (size_t i = 0; i < rows; i++) {
        most = fmax(most, squared_distance(pml_matrix_row(&mapped[0], i), pml_matrix_row(&mapped[1], i), outputs));
        for (size_t j = 0; j < rows; j++) {
            if (classes->of[i] == classes->of[j])
                continue;
            for (size_t pair = 0; pair < 3; pair++) { /* first to first, first to second, second to second */
                const double *left = pml_matrix_row(&mapped[pair / 2], i);
                const double *right = pml_matrix_row(&mapped[(pair + 1) / 2], j);
                least = fmin(least, squared_distance(left, right, outputs));
            }
        }
    }
    theorem->eta = sqrt(most);
    theorem->gamma = sqrt(least);
}

pml_outcome pml_mnse_theorem(const struct pml_kernel_side *sides, const struct pml_classes *classes,
                             const struct pml_matrix *coefficients, struct pml_train_theorem *theorem)
{
    const size_t centres = sides[0].kernels.columns;
    struct pml_matrix mapped[PML_TRAIN_MODALITIES] = {0};
    pml_outcome outcome = PML_DONE;
    for (size_t v = 0; v < PML_TRAIN_MODALITIES && outcome == PML_DONE; v++) {
        const struct pml_matrix own = {pml_matrix_row(coefficients, v * centres), centres, coefficients->columns};
        outcome = pml_matrix_allocate(&mapped[v], sides[v].kernels.rows, own.columns);
        if (outcome == PML_DONE) {
            pml_multiply(&sides[v].kernels, PML_PLAIN, &own, PML_PLAIN, 1.0, 0.0, &mapped[v]);
            theorem->lipschitz = fmax(theorem->lipschitz, lipschitz(&sides[v], &own));
        }
    }
    if (outcome == PML_DONE) {
        compare(mapped, classes, theorem);
        theorem->delta = fmax(0.0, theorem->gamma - 2.0 * theorem->eta) / (10.0 * theorem->lipschitz);
    }
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
        pml_matrix_free(&mapped[v]);
    return outcome;
}
