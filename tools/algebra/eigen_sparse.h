/* SPDX-License-Identifier: Apache-2.0
 * Eigenvectors of large symmetric matrices that are mostly zeros, by ARPACK, on one thread. Only in builds with ARPACK. */
#ifndef PML_EIGEN_SPARSE_H
#define PML_EIGEN_SPARSE_H

#include "common/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A square matrix, row after row: row i has values[starts[i] … starts[i + 1]) in these columns. Owns nothing. */
struct pml_sparse {
    size_t count;
    const size_t *starts; /* count + 1 */
    const uint32_t *columns;
    const double *values;
};

/* Loads ARPACK; call it before anything else here. Returns whether it is there. Not for several threads at once, and
 * neither is what follows: ARPACK keeps its state in static variables. */
bool pml_eigen_sparse_start(void);

/* The `wanted` largest eigenvalues of a symmetric matrix, the largest one first, and a vector of length 1 for each, its
 * largest entry positive: vectors[i·count …] belongs to values[i]. 1 ≤ wanted < count < 2^31. An eigenvalue that occurs
 * several times may be found fewer times; matrices of connected graphs have none at the end. Returns PML_DONE,
 * PML_NO_MEMORY, or PML_REFUSED when nothing converges. */
pml_outcome pml_eigen_sparse(const struct pml_sparse *matrix, size_t wanted, double *values, double *vectors);

/* out = matrix·in for a symmetric matrix that only the caller knows. */
typedef void (*pml_multiply_fn)(const void *context, const double *in, double *out);

/* The same for such a matrix. */
pml_outcome pml_eigen_operator(pml_multiply_fn multiply, const void *context, size_t count, size_t wanted,
                               double *values, double *vectors);

/* out = matrix·in */
void pml_sparse_multiply(const struct pml_sparse *matrix, const double *in, double *out);

#endif
