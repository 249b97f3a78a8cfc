/* SPDX-License-Identifier: Apache-2.0
 * Neighbours of rows, and sparse matrices made of them. */
#ifndef PML_MAP_GRAPH_H
#define PML_MAP_GRAPH_H

#include "common/rows/rows.h"

#include <stdbool.h>

/* The row i has the entries starts[i] … starts[i+1]−1. */
struct pml_map_sparse {
    size_t count;
    size_t *starts;
    uint32_t *ends; /* columns, ascending in a row where it says so */
    float *values;
};

pml_outcome pml_map_sparse_allocate(struct pml_map_sparse *sparse, size_t count, size_t entries);
void pml_map_sparse_free(struct pml_map_sparse *sparse); /* a zeroed struct may be freed */

/* 1 − cosine of two rows, times 2: the square of their distance, never negative, 0 for equal rows. */
double pml_map_square(const struct pml_rows *rows, size_t left, size_t right);

/* The same of one row and all rows. `dots` has room for all rows. */
void pml_map_squares(const struct pml_rows *rows, size_t row, int32_t *dots, double *squares);

#define PML_MAP_EXACT 200000u /* rows whose neighbours are exact: all that t-SNE takes */

/* The nearest rows of each row, nearest first, with the squares of their distances. neighbours < rows->count. Of more than
 * PML_MAP_EXACT rows those in far clusters are missed: few of rows in clear clusters, most of rows without any. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_map_neighbours(const struct pml_rows *rows, unsigned neighbours, unsigned threads,
                               const struct pml_progress *progress, struct pml_map_sparse *lists);

/* The symmetric matrix with an entry wherever one of the two rows lists the other; columns ascend. The entry is the sum of
 * both values, or with `either` the one value there is. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_map_symmetric(const struct pml_map_sparse *lists, bool either, struct pml_map_sparse *out);

/* The component of each row of a symmetric matrix, numbered in the order of their first rows. Returns PML_DONE or
 * PML_NO_MEMORY. */
pml_outcome pml_map_components(const struct pml_map_sparse *graph, uint32_t *components, size_t *count);

/* Rows sorted by a number below `count` that each has: those of number c are members[starts[c]] … members[starts[c+1]−1],
 * ascending. `starts` has room for count + 2. */
void pml_map_members(const uint32_t *numbers, size_t rows, size_t count, uint32_t *members, size_t *starts);

#endif
