/* SPDX-License-Identifier: Apache-2.0
 * Forward, backward, and a step downhill. */
#include "label_layers.h"

#include "tools/algebra/algebra.h"

#include <math.h>
#include <string.h>

/* Adam's constants, as its authors give them. */
#define KEEP_MEAN 0.9
#define KEEP_SQUARE 0.999
#define LEAST_ROOT 1e-8

static pml_outcome make_parameter(struct pml_parameter *parameter, size_t rows, size_t columns)
{
    struct pml_matrix *parts[] = {&parameter->values, &parameter->slope, &parameter->mean, &parameter->square};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (pml_matrix_allocate(parts[i], rows, columns) != PML_DONE)
            return PML_NO_MEMORY;
    return PML_DONE;
}

static void free_parameter(struct pml_parameter *parameter)
{
    pml_matrix_free(&parameter->values);
    pml_matrix_free(&parameter->slope);
    pml_matrix_free(&parameter->mean);
    pml_matrix_free(&parameter->square);
}

pml_outcome pml_layer_make(struct pml_layer *layer, size_t inputs, size_t outputs, double deviation,
                           struct pml_generator *generator)
{
    *layer = (struct pml_layer){0};
    if (make_parameter(&layer->weights, inputs, outputs) != PML_DONE ||
        make_parameter(&layer->bias, 1, outputs) != PML_DONE)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < inputs * outputs; i++)
        layer->weights.values.values[i] = deviation * pml_generator_normal(generator, 4096) / 4096.0;
    return PML_DONE;
}

void pml_layer_free(struct pml_layer *layer)
{
    free_parameter(&layer->weights);
    free_parameter(&layer->bias);
}

void pml_layer_forward(const struct pml_layer *layer, const struct pml_matrix *in, double keep, struct pml_matrix *out)
{
    for (size_t i = 0; i < out->rows; i++)
        for (size_t j = 0; j < out->columns; j++)
            pml_matrix_row(out, i)[j] = keep * pml_matrix_row(out, i)[j] + layer->bias.values.values[j];
    pml_multiply(in, PML_PLAIN, &layer->weights.values, PML_PLAIN, 1.0, 1.0, out);
}

void pml_layer_backward(struct pml_layer *layer, const struct pml_matrix *in, const struct pml_matrix *out_slope,
                        double keep, struct pml_matrix *in_slope)
{
    pml_multiply(in, PML_TURNED, out_slope, PML_PLAIN, 1.0, 1.0, &layer->weights.slope);
    for (size_t i = 0; i < out_slope->rows; i++)
        for (size_t j = 0; j < out_slope->columns; j++)
            layer->bias.slope.values[j] += pml_matrix_row(out_slope, i)[j];
    if (in_slope)
        pml_multiply(out_slope, PML_PLAIN, &layer->weights.values, PML_TURNED, 1.0, keep, in_slope);
}

void pml_rectify_forward(struct pml_matrix *values)
{
    for (size_t i = 0; i < values->rows * values->columns; i++)
        values->values[i] = values->values[i] > 0.0 ? values->values[i] : 0.0;
}

void pml_rectify_backward(const struct pml_matrix *values, struct pml_matrix *slope)
{
    for (size_t i = 0; i < values->rows * values->columns; i++)
        slope->values[i] = values->values[i] > 0.0 ? slope->values[i] : 0.0;
}

static void move(const struct pml_adam *adam, struct pml_parameter *parameter, double decay)
{
    const double rate = adam->rate / (1.0 - pow(KEEP_MEAN, (double)adam->steps));
    const double lift = 1.0 / (1.0 - pow(KEEP_SQUARE, (double)adam->steps));
    double *values = parameter->values.values, *slope = parameter->slope.values;
    double *mean = parameter->mean.values, *square = parameter->square.values;
    for (size_t i = 0; i < parameter->values.rows * parameter->values.columns; i++) {
        mean[i] = KEEP_MEAN * mean[i] + (1.0 - KEEP_MEAN) * slope[i];
        square[i] = KEEP_SQUARE * square[i] + (1.0 - KEEP_SQUARE) * slope[i] * slope[i];
        values[i] -= rate * mean[i] / (sqrt(lift * square[i]) + LEAST_ROOT) + adam->rate * decay * values[i];
        slope[i] = 0.0;
    }
}

void pml_adam_step(struct pml_adam *adam, struct pml_layer *layers, size_t count)
{
    adam->steps++;
    for (size_t i = 0; i < count; i++) {
        move(adam, &layers[i].weights, adam->decay);
        move(adam, &layers[i].bias, 0.0);
    }
}
