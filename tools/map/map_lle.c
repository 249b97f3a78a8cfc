/* SPDX-License-Identifier: Apache-2.0
 * Locally linear embedding (Roweis and Saul 2000): every row is written as a mixture of its neighbours, and the places are
 * those that the same mixtures describe best. */
#include "map_graph.h"
#include "map_methods.h"

#include "tools/algebra/algebra.h"

#include <math.h>
#include <stdlib.h>

#define EASE 1e-3 /* of the trace, added to the diagonal: neighbours may be more than dimensions */

/* Weights of the neighbours of a row, of sum 1. Their differences to the row have the products
 * ⟨x_a − x, x_b − x⟩ = (d(a)² + d(b)² − d(a, b)²)/2. */
static pml_outcome mix_row(const struct pml_rows *rows, size_t row, const uint32_t *near, size_t count,
                           struct pml_matrix *products, struct pml_matrix *mixture)
{
    double sum = 0.0, trace = 0.0;
    for (size_t a = 0; a < count; a++) {
        mixture->values[a] = 1.0;
        for (size_t b = 0; b < count; b++)
            pml_matrix_row(products, a)[b] =
                0.5 * (pml_map_square(rows, row, near[a]) + pml_map_square(rows, row, near[b]) -
                       pml_map_square(rows, near[a], near[b]));
        trace += pml_matrix_row(products, a)[a];
    }
    for (size_t a = 0; a < count; a++)
        pml_matrix_row(products, a)[a] += trace > 0.0 ? EASE * trace : EASE;
    pml_outcome outcome = pml_solve(products, mixture);
    for (size_t a = 0; a < count; a++)
        sum += mixture->values[a];
    for (size_t a = 0; a < count; a++)
        mixture->values[a] /= sum;
    return outcome;
}

/* Adds (e − w)·(e − w)ᵀ of a row, where e is 1 for the row itself. */
static void add_row(struct pml_matrix *matrix, size_t row, const uint32_t *near, const double *mixture, size_t count)
{
    pml_matrix_row(matrix, row)[row] += 1.0;
    for (size_t a = 0; a < count; a++) {
        pml_matrix_row(matrix, row)[near[a]] -= mixture[a];
        pml_matrix_row(matrix, near[a])[row] -= mixture[a];
        for (size_t b = 0; b < count; b++)
            pml_matrix_row(matrix, near[a])[near[b]] += mixture[a] * mixture[b];
    }
}

pml_outcome pml_map_lle(const struct pml_map_job *job, struct pml_message *message)
{
    const size_t n = job->rows->count, count = job->options->neighbours;
    struct pml_map_sparse lists = {0};
    struct pml_matrix matrix = {0}, products = {0}, mixture = {0}, vectors = {0};
    struct pml_progress told;
    const struct pml_progress *progress = pml_map_stage(job->options, "mixtures", &told);
    double values[3];
    pml_outcome outcome = pml_map_job_neighbours(job, &lists);
    if (outcome == PML_DONE &&
        (pml_matrix_allocate(&matrix, n, n) != PML_DONE || pml_matrix_allocate(&products, count, count) != PML_DONE ||
         pml_matrix_allocate(&mixture, count, 1) != PML_DONE || pml_matrix_allocate(&vectors, 3, n) != PML_DONE))
        outcome = PML_NO_MEMORY;
    for (size_t i = 0; outcome == PML_DONE && i < n; i++) {
        outcome = mix_row(job->rows, i, lists.ends + i * count, count, &products, &mixture);
        add_row(&matrix, i, lists.ends + i * count, mixture.values, count);
        pml_progress_tell(progress, (double)(i + 1) / (double)n);
    }
    if (outcome == PML_DONE)
        outcome = pml_eigen(&matrix, NULL, PML_SMALLEST, values, &vectors);
    if (outcome == PML_REFUSED)
        pml_say(message, "lle did not settle on these rows. Use laplacian.");
    for (size_t i = 0; outcome == PML_DONE && i < n; i++)
        for (size_t axis = 0; axis < 2; axis++)
            job->places[2 * i + axis] = pml_matrix_row(&vectors, axis + 1)[i];
    pml_map_sparse_free(&lists);
    pml_matrix_free(&matrix);
    pml_matrix_free(&products);
    pml_matrix_free(&mixture);
    pml_matrix_free(&vectors);
    return outcome;
}
