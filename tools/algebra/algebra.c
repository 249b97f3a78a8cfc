/* SPDX-License-Identifier: Apache-2.0
 * Calls BLAS and LAPACK. */
#include "algebra.h"
#include "library.h"

#include <cblas.h>
#include <lapacke.h>

#include <math.h>
#include <stdlib.h>

static struct {
    void (*dgemm)(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, double, const double *, int,
                  const double *, int, double, double *, int);
    lapack_int (*dposv)(int, char, lapack_int, lapack_int, double *, lapack_int, double *, lapack_int);
    lapack_int (*dpotrf)(int, char, lapack_int, double *, lapack_int);
    lapack_int (*dsygst)(int, lapack_int, char, lapack_int, double *, lapack_int, const double *, lapack_int);
    lapack_int (*dsyevr)(int, char, char, char, lapack_int, double *, lapack_int, double, double, lapack_int,
                         lapack_int, double, lapack_int *, double *, double *, lapack_int, lapack_int *);
    lapack_int (*dtrtrs)(int, char, char, char, lapack_int, lapack_int, const double *, lapack_int, double *,
                         lapack_int);
} calls;

bool pml_algebra_start(void)
{
    static const char *const lapacke[] = {"liblapacke.so.3", "liblapacke.so", "liblapacke.dylib", NULL};
    static const char *const blas[] = {"libopenblas.so.0", "libcblas.so.3",     "libblas.so.3",
                                       "libopenblas.so",   "libopenblas.dylib", NULL};
    if (calls.dtrtrs)
        return true;
    return pml_library_find(blas, "cblas_dgemm", &calls.dgemm) &&
           pml_library_find(lapacke, "LAPACKE_dposv", &calls.dposv) &&
           pml_library_find(lapacke, "LAPACKE_dpotrf", &calls.dpotrf) &&
           pml_library_find(lapacke, "LAPACKE_dsygst", &calls.dsygst) &&
           pml_library_find(lapacke, "LAPACKE_dsyevr", &calls.dsyevr) &&
           pml_library_find(lapacke, "LAPACKE_dtrtrs", &calls.dtrtrs);
}

void pml_multiply(const struct pml_matrix *left, pml_turn left_turn, const struct pml_matrix *right,
                  pml_turn right_turn, double factor, double keep, struct pml_matrix *out)
{
    const size_t inner = left_turn == PML_PLAIN ? left->columns : left->rows;
    calls.dgemm(CblasRowMajor, left_turn == PML_PLAIN ? CblasNoTrans : CblasTrans,
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
        calls.dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)matrix->rows, (lapack_int)sides->columns, matrix->values,
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

/* Vectors in the columns of `found`, ascending, as LAPACK leaves them. Symmetric matrices look the same in either
 * order of storage, so they are passed as columns and need no copy. */
static lapack_int find_vectors(struct pml_matrix *left, struct pml_matrix *right, pml_end end, lapack_int wanted,
                               double *values, double *found, lapack_int *support)
{
    const lapack_int size = (lapack_int)left->rows;
    const lapack_int first = end == PML_LARGEST ? size - wanted + 1 : 1;
    lapack_int count = 0, info = 0;
    if (right) {
        info = calls.dpotrf(LAPACK_COL_MAJOR, 'L', size, right->values, size);
        if (info == 0)
            info = calls.dsygst(LAPACK_COL_MAJOR, 1, 'L', size, left->values, size, right->values, size);
    }
    if (info == 0)
        info = calls.dsyevr(LAPACK_COL_MAJOR, 'V', 'I', 'L', size, left->values, size, 0.0, 0.0, first,
                            first + wanted - 1, 0.0, &count, values, found, size, support);
    if (info == 0 && right)
        info = calls.dtrtrs(LAPACK_COL_MAJOR, 'L', 'T', 'N', size, wanted, right->values, size, found, size);
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
