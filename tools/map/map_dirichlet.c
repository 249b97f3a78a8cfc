/* SPDX-License-Identifier: Apache-2.0
 * Where walks end, exactly: for rows that are no landmarks, the chances are the harmonic functions that are 1 at one landmark
 * and 0 at the others. */
#include "map_walks.h"

#include "tools/algebra/algebra.h"

#include <stdlib.h>

/* Chances of a row from those of its neighbours, a step away. */
static void step_from(const struct pml_map_walks *walks, size_t row, const struct pml_matrix *inner,
                      const uint32_t *place, double *out)
{
    const struct pml_map_sparse *graph = &walks->graph;
    double total = 0.0;
    for (size_t e = graph->starts[row]; e < graph->starts[row + 1]; e++)
        total += (double)graph->values[e];
    for (size_t e = graph->starts[row]; e < graph->starts[row + 1]; e++) {
        const uint32_t end = graph->ends[e];
        const double share = (double)graph->values[e] / total;
        if (walks->number[end] != UINT32_MAX)
            out[walks->number[end]] += share;
        else
            for (size_t l = 0; l < walks->count; l++)
                out[l] += share * pml_matrix_row(inner, place[end])[l];
    }
}

pml_outcome pml_map_walks_solve(const struct pml_map_walks *walks, struct pml_matrix *chances)
{
    const struct pml_map_sparse *graph = &walks->graph;
    const size_t n = graph->count, free_rows = n - walks->count;
    struct pml_matrix laplacian = {0}, inner = {0};
    uint32_t *place = malloc(n * sizeof *place);
    pml_outcome outcome = place && pml_matrix_allocate(&laplacian, free_rows, free_rows) == PML_DONE &&
                                  pml_matrix_allocate(&inner, free_rows, walks->count) == PML_DONE
                              ? PML_DONE
                              : PML_NO_MEMORY;
    for (size_t i = 0, at = 0; outcome == PML_DONE && i < n; i++)
        place[i] = walks->number[i] == UINT32_MAX ? (uint32_t)at++ : UINT32_MAX;
    for (size_t i = 0; outcome == PML_DONE && i < n; i++)
        for (size_t e = graph->starts[i]; place[i] != UINT32_MAX && e < graph->starts[i + 1]; e++) {
            const uint32_t end = graph->ends[e];
            const double weight = (double)graph->values[e];
            pml_matrix_row(&laplacian, place[i])[place[i]] += weight;
            if (place[end] != UINT32_MAX)
                pml_matrix_row(&laplacian, place[i])[place[end]] -= weight;
            else
                pml_matrix_row(&inner, place[i])[walks->number[end]] += weight;
        }
    if (outcome == PML_DONE)
        outcome = pml_solve(&laplacian, &inner);
    for (size_t i = 0; outcome == PML_DONE && i < n; i++)
        step_from(walks, i, &inner, place, pml_matrix_row(chances, i));
    pml_matrix_free(&laplacian);
    pml_matrix_free(&inner);
    free(place);
    return outcome;
}
