/* SPDX-License-Identifier: Apache-2.0
 * A dense matrix of doubles. */
#ifndef PML_MATRIX_H
#define PML_MATRIX_H

#include "common/message.h"

#include <stddef.h>

/* rows × columns doubles, row after row. */
struct pml_matrix {
    double *values;
    size_t rows, columns;
};

static inline double *pml_matrix_row(const struct pml_matrix *matrix, size_t row)
{
    return matrix->values + row * matrix->columns;
}

/* Makes a matrix of zeros. Returns PML_DONE or PML_NO_MEMORY. A zeroed struct may be freed. */
pml_outcome pml_matrix_allocate(struct pml_matrix *matrix, size_t rows, size_t columns);
void pml_matrix_free(struct pml_matrix *matrix);

#endif
