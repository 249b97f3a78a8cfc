/* SPDX-License-Identifier: Apache-2.0
 * The parts of mnse: its objective, and the constants of its theorem. */
#ifndef PML_TRAIN_MNSE_H
#define PML_TRAIN_MNSE_H

#include "scatter.h"
#include "train_kernels.h"

/* What does not change while widths do: how near rows of one class are, per class a square matrix, one after the
 * other. */
struct pml_mnse_graph {
    double *near[PML_TRAIN_MODALITIES];
    uint32_t *members; /* rows by class */
    const struct pml_classes *classes;
    double align; /* mu4 of the paper: the weight of nearness between modalities */
};

pml_outcome pml_mnse_graph_make(const struct pml_kernel_side *sides, const struct pml_classes *classes,
                                struct pml_mnse_graph *graph);
void pml_mnse_graph_free(struct pml_mnse_graph *graph);

/* With Y = K·C, K the kernels of both sides in blocks, the objective is tr Cᵀ·energy·C subject to Cᵀ·size·C = I.
 * Fills both, of twice as many rows as a side has centres. */
pml_outcome pml_mnse_objective(const struct pml_kernel_side *sides, const struct pml_mnse_graph *graph,
                               struct pml_matrix *energy, struct pml_matrix *size);

/* `coefficients` has a row per centre of the first side, then of the second. */
pml_outcome pml_mnse_theorem(const struct pml_kernel_side *sides, const struct pml_classes *classes,
                             const struct pml_matrix *coefficients, struct pml_train_theorem *theorem);

#endif
