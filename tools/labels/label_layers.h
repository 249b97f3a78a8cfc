/* SPDX-License-Identifier: Apache-2.0
 * Layers of small networks in doubles, and Adam, which trains them. Only in builds with LAPACKE. */
#ifndef PML_LABEL_LAYERS_H
#define PML_LABEL_LAYERS_H

#include "common/generator.h"
#include "tools/algebra/matrix.h"

#include <stdbool.h>

/* Numbers that are trained, the slope of the loss in each, and Adam's memory: means of slopes and of their squares. */
struct pml_parameter {
    struct pml_matrix values, slope, mean, square;
};

/* Gives in·weights + bias, a row of `in` per example. */
struct pml_layer {
    struct pml_parameter weights; /* inputs × outputs */
    struct pml_parameter bias;    /* 1 × outputs */
};

/* Normal weights of this deviation, no bias. Returns PML_DONE or PML_NO_MEMORY. A zeroed struct may be freed. */
pml_outcome pml_layer_make(struct pml_layer *layer, size_t inputs, size_t outputs, double deviation,
                           struct pml_generator *generator);
void pml_layer_free(struct pml_layer *layer);

/* out = in·weights + bias, plus `keep` (0 or 1) of what it was. */
void pml_layer_forward(const struct pml_layer *layer, const struct pml_matrix *in, double keep, struct pml_matrix *out);

/* Adds the slopes of weights and bias to those that are there. in_slope = out_slope·weightsᵀ, plus `keep` of what it
 * was; it may be NULL. */
void pml_layer_backward(struct pml_layer *layer, const struct pml_matrix *in, const struct pml_matrix *out_slope,
                        double keep, struct pml_matrix *in_slope);

/* Negative numbers become 0; their slopes too. */
void pml_rectify_forward(struct pml_matrix *values);
void pml_rectify_backward(const struct pml_matrix *values, struct pml_matrix *slope);

struct pml_adam {
    double rate;
    double decay;   /* share of a weight that goes per step, in units of the rate */
    uint64_t steps; /* done so far */
};

/* Moves all layers by one step, and sets their slopes to 0. */
void pml_adam_step(struct pml_adam *adam, struct pml_layer *layers, size_t count);

#endif
