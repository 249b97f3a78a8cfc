/* SPDX-License-Identifier: Apache-2.0
 * The smallest eigenvalues of the Laplacian of a graph, and their eigenvectors. Only in builds with ARPACK. */
#ifndef PML_SPECTRUM_H
#define PML_SPECTRUM_H

#include "group_graph.h"

typedef enum pml_laplacian {
    PML_LAPLACIAN_PLAIN,    /* L = D − A */
    PML_LAPLACIAN_WALK,     /* D⁻¹·L, whose eigenvectors h have hᵀ·D·h = 1 */
    PML_LAPLACIAN_SYMMETRIC /* D^−½·L·D^−½ */
} pml_laplacian;

struct pml_spectrum {
    size_t count, nodes;
    size_t components; /* of the graph */
    double *values;    /* `count`, ascending; the first `components` are 0 */
    double *vectors;   /* vectors[i·nodes …] belongs to values[i] */
};

/* Finds the `count` smallest of the graph without the edges whose `removed` is not 0; it may be NULL. 1 ≤ count < nodes,
 * and every node must keep an edge. Returns PML_DONE or PML_NO_MEMORY, or PML_REFUSED with a message: more components
 * than `count` (spectrum->components says how many; nothing is to be freed then), or no convergence. */
pml_outcome pml_spectrum_find(const struct pml_group_graph *graph, const uint8_t *removed, pml_laplacian laplacian,
                              size_t count, struct pml_spectrum *spectrum, struct pml_message *message);

/* A zeroed struct may be freed. */
void pml_spectrum_free(struct pml_spectrum *spectrum);

/* The sum of the eigenvalues: what robust spectral clustering makes small. */
double pml_spectrum_trace(const struct pml_spectrum *spectrum);

#endif
