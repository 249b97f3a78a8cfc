/* SPDX-License-Identifier: Apache-2.0
 * Dense matrices by BLAS and LAPACK, on one thread: more would add in another order, and give other bytes. Only in
 * builds with LAPACKE. */
#ifndef PML_ALGEBRA_H
#define PML_ALGEBRA_H

#include "matrix.h"

#include <stdbool.h>

/* Loads the libraries; call it before anything else here. Returns whether they are there. Not for several threads at
 * once. */
bool pml_algebra_start(void);

typedef enum pml_turn { PML_PLAIN, PML_TURNED } pml_turn; /* turned: the transpose */

/* out = factor·left·right + keep·out */
void pml_multiply(const struct pml_matrix *left, pml_turn left_turn, const struct pml_matrix *right,
                  pml_turn right_turn, double factor, double keep, struct pml_matrix *out);

typedef enum pml_end { PML_LARGEST, PML_SMALLEST } pml_end;

/* Solves left·v = value·right·v for `vectors->rows` vectors at one end of the values, the extreme one first, each with
 * vᵀ·right·v = 1 and its largest entry positive, one per row. `right` may be NULL for the identity. Both matrices are
 * symmetric and are overwritten. Returns PML_DONE, PML_NO_MEMORY, or PML_REFUSED when `right` is singular or nothing
 * converges. */
pml_outcome pml_eigen(struct pml_matrix *left, struct pml_matrix *right, pml_end end, double *values,
                      struct pml_matrix *vectors);

/* Solves matrix·X = sides for a symmetric positive definite matrix. Both are overwritten: sides becomes X. Returns
 * PML_DONE, PML_NO_MEMORY, or PML_REFUSED when the matrix is singular. */
pml_outcome pml_solve(struct pml_matrix *matrix, struct pml_matrix *sides);

/* Adds `share` of the mean of the diagonal to each of its entries. */
void pml_lift_diagonal(struct pml_matrix *matrix, double share);

double pml_trace(const struct pml_matrix *matrix);

#endif
