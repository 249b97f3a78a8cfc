/* SPDX-License-Identifier: Apache-2.0
 * What methods with kernels share: centres, widths, the kernel matrix, and the choice of the width. */
#ifndef PML_TRAIN_KERNELS_H
#define PML_TRAIN_KERNELS_H

#include "train_graph.h"
#include "train_methods.h"

/* One modality. The kernel of a row x and a centre c, both of length 1, is e^(−|x − c|²/width²).
 *
 * Uncertain rows and centres are normal distributions around x and c, with variances u and v of each of their d
 * features. The kernel of two of them is the mean of the kernel over both:
 *
 *     (width²/t)^(d/2)·e^(−|x − c|²/t),   t = width² + 2(u + v)
 *
 * u is the mean of all rows, also while training: a device cannot know the uncertainty of its query, and a map that was
 * fitted to kernels that the device does not compute finds less. v is the centre's own. The kernel is divided by its
 * value for x = c and mean variances. That changes no direction, and keeps the numbers in range: for many features the
 * first factor is tiny. */
struct pml_kernel_side {
    struct pml_matrix units; /* the rows */
    struct pml_rows centres;
    struct pml_matrix places;    /* the centres, of length 1 */
    struct pml_matrix kernels;   /* rows × centres, for the width */
    double *variances;           /* per centre, the mean of its rows; 0 when rows are certain */
    double variance;             /* the mean of all rows */
    struct pml_edges own, other; /* of kmfa, found with the first setting */
    double median;               /* distance of two rows */
    double width;
};

/* Clusters the rows of each modality of the job, so that centres are where rows are. `sides` are
 * PML_TRAIN_MODALITIES. */
pml_outcome pml_kernel_sides_start(const struct pml_train_job *job, struct pml_kernel_side *sides,
                                   struct pml_message *message);
void pml_kernel_sides_free(struct pml_kernel_side *sides);

/* Sets the width and fills the kernels. */
void pml_kernel_side_widen(struct pml_kernel_side *side, double width);

/* The kernels of the centres among themselves, for the width of the side: centres × centres. */
void pml_kernel_side_norm(const struct pml_kernel_side *side, struct pml_matrix *out);

/* Writes the front of a modality. `offset` may be NULL. */
pml_outcome pml_kernel_side_put(const struct pml_train_job *job, size_t modality, const struct pml_kernel_side *side,
                                const struct pml_matrix *coefficients, const double *offset,
                                struct pml_train_result *result, struct pml_message *message);

/* Fits the sides to the set of the job, with the setting (such as a width in medians) of this number. */
typedef pml_outcome (*pml_kernel_fit_fn)(const struct pml_train_job *job, struct pml_kernel_side *sides, size_t setting,
                                         struct pml_train_result *result, struct pml_message *message);

#define PML_KERNEL_SETTINGS 20u /* at most */

/* Trains with each of `settings` on two thirds of the rows and measures on the last third, three times: the mean of both
 * mean average precisions; in one modality the precision of 8, or without labels the kept share of 8. A setting that is
 * refused finds nothing. Then trains with the best on all rows. */
pml_outcome pml_kernel_train(const struct pml_train_job *job, pml_kernel_fit_fn fit, size_t settings,
                             struct pml_train_result *result, struct pml_message *message);

#endif
