/* SPDX-License-Identifier: Apache-2.0
 * In: maps in doubles. Out: front files in int8, which the core opens before anybody else sees them. */
#include "front_bytes.h"

#include "common/rows/rows.h"

#include <privatemail_public.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAIN_MAX 32.0
#define AMPLITUDE_MAX 255.0
#define UNIT_MATRIX 0x1p30  /* what a unit row's dot product is multiplied by (SPEC 5.2) */
#define UNIT_KERNELS 0x1p24 /* what a kernel of 1 is (SPEC 5.18) */

/* ---- the file around a body ---- */

static void put_le(uint8_t *out, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        out[i] = (uint8_t)(value >> 8 * i);
}

static pml_outcome begin(struct pml_front_bytes *file, pml_front_kind kind, size_t inputs, size_t outputs,
                         size_t centres, bool root, size_t body, struct pml_message *message)
{
    file->size = PML_FRONT_FILE_HEADER + body;
    file->bytes = calloc(1, file->size);
    if (!file->bytes)
        return pml_say_memory(message);
    uint8_t *bytes = file->bytes;
    memcpy(bytes, "PMFR", 4);
    put_le(bytes + 6, 1, 2);
    put_le(bytes + 40, file->size, 8);
    put_le(bytes + 48, outputs, 4);
    put_le(bytes + 64, (uint64_t)kind, 2);
    put_le(bytes + 66, root ? 1 : 0, 2);
    put_le(bytes + 68, inputs, 4);
    put_le(bytes + 72, centres, 4);
    return PML_DONE;
}

static pml_outcome finish(struct pml_front_bytes *file, struct pml_message *message)
{
    pml_front front;
    pml_front_seal(file->bytes, file->size);
    if (pml_front_open(&front, file->bytes, file->size) == PML_OK)
        return PML_DONE;
    free(file->bytes);
    *file = (struct pml_front_bytes){0};
    return pml_say(message,
                   "the trained front does not fit the format: choose other dimensions, or give rows that vary "
                   "more.");
}

pml_outcome pml_front_bytes_signs(size_t inputs, size_t outputs, bool root, const uint8_t seed[32],
                                  struct pml_front_bytes *file, struct pml_message *message)
{
    pml_outcome outcome = begin(file, PML_FRONT_SIGNS, inputs, outputs, 0, root, 0, message);
    if (outcome != PML_DONE)
        return outcome;
    memcpy(file->bytes + 64 + 32, seed, 32);
    return finish(file, message);
}

/* ---- numbers ---- */

static double largest_of(const double *values, size_t count)
{
    double largest = 0.0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(values[i]));
    return largest;
}

/* The least whole factor with which a row fits into int8, and the row divided by it. */
static uint32_t put_row(const double *row, size_t count, double scale, uint8_t *out)
{
    double factor = ceil(scale * largest_of(row, count) / 127.0 - 1e-9);
    factor = factor < 1.0 ? 1.0 : factor;
    for (size_t i = 0; i < count; i++) {
        double value = nearbyint(scale * row[i] / factor);
        out[i] = (uint8_t)(int8_t)fmax(-127.0, fmin(127.0, value));
    }
    return (uint32_t)factor;
}

static void put_offset(uint8_t *out, double offset)
{
    put_le(out, (uint64_t)(int64_t)nearbyint(offset), 8);
}

/* How many units of the integers stand for 1: as many as the factors allow. The offsets must fit too. */
static double choose_scale(double largest, const double *offset, size_t outputs, double factors, double unit,
                           double offset_limit)
{
    const double shift = offset ? largest_of(offset, outputs) : 0.0;
    if (!(largest > 0.0) || !isfinite(largest) || !isfinite(shift))
        return 0.0;
    return fmin(factors * 127.0 / largest, shift > 0.0 ? offset_limit / unit / shift : INFINITY);
}

static pml_outcome say_no_map(struct pml_message *message)
{
    return pml_say(message, "the trained map is empty or not finite: give rows that vary more.");
}

/* With `labels`, a head. */
static pml_outcome write_matrix(const struct pml_matrix *weights, const double *offset, bool root,
                                const int32_t *labels, struct pml_front_bytes *file, struct pml_message *message)
{
    const size_t outputs = weights->rows, inputs = weights->columns;
    const double largest = largest_of(weights->values, outputs * inputs);
    const double scale = choose_scale(largest, offset, outputs, GAIN_MAX, UNIT_MATRIX, 0x1p50);
    if (!(scale > 0.0))
        return say_no_map(message);
    const size_t body = outputs * (12 + inputs);
    pml_outcome outcome =
        begin(file, PML_FRONT_MATRIX, inputs, outputs, 0, root, body + (labels ? 4 * outputs : 0), message);
    if (outcome != PML_DONE)
        return outcome;
    uint8_t *records = file->bytes + PML_FRONT_FILE_HEADER, *rows = records + 12 * outputs;
    for (size_t i = 0; i < outputs; i++) {
        put_offset(records + 12 * i, offset ? scale * UNIT_MATRIX * offset[i] : 0.0);
        put_le(records + 12 * i + 8, put_row(pml_matrix_row(weights, i), inputs, scale, rows + i * inputs), 4);
        if (labels)
            put_le(records + body + 4 * i, (uint32_t)labels[i], 4);
    }
    if (labels) {
        put_le(file->bytes + 6, 2, 2);
        put_le(file->bytes + 52, 1, 4);
    }
    return finish(file, message);
}

pml_outcome pml_front_bytes_matrix(const struct pml_matrix *weights, const double *offset, bool root,
                                   struct pml_front_bytes *file, struct pml_message *message)
{
    return write_matrix(weights, offset, root, NULL, file, message);
}

pml_outcome pml_front_bytes_head(const struct pml_matrix *weights, const double *offset, const int32_t *labels,
                                 struct pml_front_bytes *file, struct pml_message *message)
{
    return write_matrix(weights, offset, false, labels, file, message);
}

/* Whether every λ has a place among 32 bits, and every amplitude is a number. */
static bool kernels_fit(const struct pml_front_kernel *kernels, size_t count)
{
    bool fit = true;
    for (size_t c = 0; c < count; c++) {
        const double width = nearbyint(kernels[c].lambda * 0x1p16);
        fit = fit && width >= 1.0 && width <= 4294967295.0 && isfinite(kernels[c].amplitude);
    }
    return fit;
}

pml_outcome pml_front_bytes_kernels(const struct pml_rows *centres, const struct pml_front_kernel *kernels,
                                    const struct pml_matrix *coefficients, const double *offset, bool root,
                                    struct pml_front_bytes *file, struct pml_message *message)
{
    const size_t outputs = coefficients->columns, inputs = centres->columns, count = centres->count;
    double largest = 0.0; /* of coefficient·amplitude, which is what integers stand for */
    for (size_t c = 0; c < count; c++)
        largest = fmax(largest, kernels[c].amplitude * largest_of(pml_matrix_row(coefficients, c), outputs));
    const double scale = choose_scale(largest, offset, outputs, AMPLITUDE_MAX, UNIT_KERNELS, 0x1p53);
    if (!(scale > 0.0))
        return say_no_map(message);
    if (!kernels_fit(kernels, count))
        return pml_say(message,
                       "the kernels are too wide or too narrow: give rows that vary, without near duplicates.");
    pml_outcome outcome = begin(file, PML_FRONT_KERNELS, inputs, outputs, count, root,
                                8 * outputs + count * (12 + inputs + outputs), message);
    if (outcome != PML_DONE)
        return outcome;
    uint8_t *offsets = file->bytes + PML_FRONT_FILE_HEADER, *records = offsets + 8 * outputs;
    uint8_t *places = records + 12 * count, *rows = places + count * inputs;
    for (size_t i = 0; i < outputs; i++)
        put_offset(offsets + 8 * i, offset ? scale * UNIT_KERNELS * offset[i] : 0.0);
    for (size_t c = 0; c < count; c++) {
        put_le(records + 12 * c, centres->inverse[c], 4);
        put_le(records + 12 * c + 4, (uint64_t)nearbyint(kernels[c].lambda * 0x1p16), 4);
        put_le(records + 12 * c + 8,
               put_row(pml_matrix_row(coefficients, c), outputs, scale * kernels[c].amplitude, rows + c * outputs), 4);
    }
    memcpy(places, centres->values, count * inputs);
    return finish(file, message);
}
