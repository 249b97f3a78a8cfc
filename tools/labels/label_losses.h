/* SPDX-License-Identifier: Apache-2.0
 * What training makes small. Each function returns the mean of its loss over the rows of a batch, and adds `weight`
 * times its slopes to those that are there. `marks` holds 1 where a row has a label and 0 where it has not; for mixed
 * rows it holds numbers between. */
#ifndef PML_LABEL_LOSSES_H
#define PML_LABEL_LOSSES_H

#include "tools/algebra/matrix.h"

/* Cross-entropy, summed over labels: Σ log(1 + e^s) − y·s. */
double pml_loss_entropy(const struct pml_matrix *scores, const struct pml_matrix *marks, double weight,
                        struct pml_matrix *slope);

/* Contrast: log Σ_all e^s − the mean of s, weighed by the marks. Rows without labels give 0. */
double pml_loss_contrast(const struct pml_matrix *scores, const struct pml_matrix *marks, double weight,
                         struct pml_matrix *slope);

/* A normal distribution per row: `size` means, then as many logarithms of variances. */
struct pml_latents {
    const struct pml_matrix *values;
    struct pml_matrix *slope;
    size_t size;
};

/* log q(z) − log p(z) at z = mean + deviation·noise: q is the row's own distribution, p the mixture of those of its
 * labels (components), weighed by the marks. One draw stands for the divergence, which has no closed form. Rows without
 * labels give 0. `scratch` has room for two points and a number per label. */
double pml_loss_mixture(const struct pml_latents *rows, const struct pml_latents *components,
                        const struct pml_matrix *noise, const struct pml_matrix *marks, double weight, double *scratch);

/* z of the row: out = mean + deviation·noise. */
void pml_latent_draw(const struct pml_latents *rows, size_t row, const double *noise, double *out);

/* Turns slopes in z of a row into slopes of its mean and its logarithms. */
void pml_latent_back(const struct pml_latents *rows, size_t row, const double *noise, const double *slope);

#endif
