/* SPDX-License-Identifier: Apache-2.0
 * Writes trained maps as front files (SPEC 1.1, 1.2). */
#ifndef PML_FRONT_BYTES_H
#define PML_FRONT_BYTES_H

#include "common/message.h"
#include "tools/algebra/matrix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A front file, to be freed. */
struct pml_front_bytes {
    uint8_t *bytes;
    size_t size;
};

/* All return PML_DONE, or PML_NO_MEMORY or PML_REFUSED with a message. */
pml_outcome pml_front_bytes_signs(size_t inputs, size_t outputs, bool root, const uint8_t seed[32],
                                  struct pml_front_bytes *file, struct pml_message *message);

/* y = weights·x + offset for x of length 1. Gains and int8 values stand for the weights: the largest gets gain 32,
 * and each row of weights is rounded to 1/127 of its own size or less than twice that. `offset` may be NULL. */
pml_outcome pml_front_bytes_matrix(const struct pml_matrix *weights, const double *offset, bool root,
                                   struct pml_front_bytes *file, struct pml_message *message);

/* The same as a head: a row of weights per label. The labels ascend. */
pml_outcome pml_front_bytes_head(const struct pml_matrix *weights, const double *offset, const int32_t *labels,
                                 struct pml_front_bytes *file, struct pml_message *message);

/* The kernel of a centre c and a row x of length 1: amplitude·e^(−lambda·(1 − ⟨x, c⟩)). */
struct pml_front_kernel {
    double lambda, amplitude;
};

/* y = Σ coefficients_c·kernel_c(x) + offset. `centres` and `kernels` have an entry per row of coefficients. */
struct pml_rows;
pml_outcome pml_front_bytes_kernels(const struct pml_rows *centres, const struct pml_front_kernel *kernels,
                                    const struct pml_matrix *coefficients, const double *offset, bool root,
                                    struct pml_front_bytes *file, struct pml_message *message);

#endif
