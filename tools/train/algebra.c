/* SPDX-License-Identifier: Apache-2.0
 * Calls BLAS and LAPACK. */
#include "algebra.h"

#include <cblas.h>
#include <lapacke.h>

#include <math.h>
#include <stdlib.h>

void pml_algebra_start(void)
{
#if PML_OPENBLAS
    openblas_set_num_threads(1);
#endif
}

void pml_multiply(const struct pml_matrix *left, pml_turn left_turn, const struct pml_matrix *right,
                  pml_turn right_turn, double factor, double keep, struct pml_matrix *out)
{
    const size_t inner = left_turn == PML_PLAIN ? left->columns : left->rows;
    cblas_dgemm(CblasRowMajor, left_turn == PML_PLAIN ? CblasNoTrans : CblasTrans,
                right_turn == PML_PLAIN ? CblasNoTrans : CblasTrans, (int)out->rows, (int)out->columns, (int)inner,
                factor, left->values, (int)left->columns, right->values, (int)right->columns, keep, out->values,
                (int)out->columns);
}

double pml_trace(const struct pml_matrix *matrix)
{
    double trace = 0.0;
    for (size_t i = 0; i < matrix->rows; i++)
        trace += matrix->values[i * matrix->columns + i];
    return trace;
}

void pml_lift_diagonal(struct pml_matrix *matrix, double share)
{
    const double lift = share * pml_trace(matrix) / (double)matrix->rows;
    for (size_t i = 0; i < matrix->rows; i++)
        matrix->values[i * matrix->columns + i] += lift;
}

pml_outcome pml_solve(struct pml_matrix *matrix, struct pml_matrix *sides)
{
    const lapack_int info =
        LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)matrix->rows, (lapack_int)sides->columns, matrix->values,
                      (lapack_int)matrix->columns, sides->values, (lapack_int)sides->columns);
    if (info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR)
        return PML_NO_MEMORY;
    return info == 0 ? PML_DONE : PML_REFUSED;
}

/* ---- eigenvectors ---- */

static void fix_sign(double *vector, size_t size)
{
    double largest = 0.0;
    for (size_t i = 0; i < size; i++)
        largest = fabs(vector[i]) > fabs(largest) ? vector[i] : largest;
    for (size_t i = 0; i < size && largest < 0.0; i++)
        vector[i] = -vector[i];
}

/* Vectors in the columns of `found`, ascending, as LAPACK leaves them. Symmetric matrices look the same in either order of
 * storage, so they are passed as columns and need no copy. */
static lapack_int find_vectors(struct pml_matrix *left, struct pml_matrix *right, pml_end end, lapack_int wanted,
                               double *values, double *found, lapack_int *support)
{
    const lapack_int size = (lapack_int)left->rows;
    const lapack_int first = end == PML_LARGEST ? size - wanted + 1 : 1;
    lapack_int count = 0, info = 0;
    if (right) {
        info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', size, right->values, size);
        if (info == 0)
            info = LAPACKE_dsygst(LAPACK_COL_MAJOR, 1, 'L', size, left->values, size, right->values, size);
    }
    if (info == 0)
        info = LAPACKE_dsyevr(LAPACK_COL_MAJOR, 'V', 'I', 'L', size, left->values, size, 0.0, 0.0, first,
                              first + wanted - 1, 0.0, &count, values, found, size, support);
    if (info == 0 && right)
        info = LAPACKE_dtrtrs(LAPACK_COL_MAJOR, 'L', 'T', 'N', size, wanted, right->values, size, found, size);
    return info == 0 && count != wanted ? 1 : info;
}

pml_outcome pml_eigen(struct pml_matrix *left, struct pml_matrix *right, pml_end end, double *values,
                      struct pml_matrix *vectors)
{
    const size_t size = left->rows, wanted = vectors->rows;
    double *all = malloc(size * sizeof *all), *found = malloc(size * wanted * sizeof *found);
    lapack_int *support = malloc(2 * size * sizeof *support);
    pml_outcome outcome = PML_NO_MEMORY;
    if (all && found && support) {
        const lapack_int info = find_vectors(left, right, end, (lapack_int)wanted, all, found, support);
        outcome = info == LAPACK_WORK_MEMORY_ERROR ? PML_NO_MEMORY : info == 0 ? PML_DONE : PML_REFUSED;
        for (size_t i = 0; outcome == PML_DONE && i < wanted; i++) {
            const size_t from = end == PML_LARGEST ? wanted - 1 - i : i;
            values[i] = all[from];
            for (size_t j = 0; j < size; j++)
                pml_matrix_row(vectors, i)[j] = found[from * size + j];
            fix_sign(pml_matrix_row(vectors, i), size);
        }
    }
    free(all);
    free(found);
    free(support);
    return outcome;
}
