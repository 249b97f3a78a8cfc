/* SPDX-License-Identifier: Apache-2.0
 * Makes and frees matrices. */
#include "matrix.h"

#include <stdlib.h>

pml_outcome pml_matrix_allocate(struct pml_matrix *matrix, size_t rows, size_t columns)
{
    *matrix = (struct pml_matrix){calloc(rows * columns + 1, sizeof(double)), rows, columns};
    return matrix->values ? PML_DONE : PML_NO_MEMORY;
}

void pml_matrix_free(struct pml_matrix *matrix)
{
    free(matrix->values);
    *matrix = (struct pml_matrix){0};
}
