/* SPDX-License-Identifier: Apache-2.0
 * Makes the int8 matrix of plain sketches from the principal directions. */
#include "projection.h"
#include "principal.h"

#include <math.h>
#include <stdlib.h>

/* turned = rotation · directionsᵀ, of the first rotation->count directions */
static void turn(const struct pml_directions *directions, const struct pml_directions *rotation, double *turned)
{
    const size_t columns = directions->size;
    for (size_t i = 0; i < rotation->size; i++)
        for (size_t c = 0; c < rotation->count; c++) {
            const double factor = *pml_direction(rotation, c, i);
            for (size_t j = 0; j < columns; j++)
                turned[i * columns + j] += factor * *pml_direction(directions, c, j);
        }
}

static void round_matrix(const double *values, size_t count, int8_t *out)
{
    double largest = 0.0;
    for (size_t i = 0; i < count; i++)
        largest = fabs(values[i]) > largest ? fabs(values[i]) : largest;
    for (size_t i = 0; i < count; i++)
        out[i] = (int8_t)floor(values[i] * (127.0 / largest) + 0.5);
}

static pml_outcome turn_and_round(const struct pml_directions *directions, size_t length,
                                  struct pml_generator *generator, int8_t *out)
{
    const size_t columns = directions->size;
    struct pml_directions rotation;
    double *turned = calloc(length * columns, sizeof *turned);
    pml_outcome outcome = pml_directions_allocate(&rotation, length < columns ? length : columns, length);
    if (outcome == PML_DONE && turned) {
        pml_directions_settle(&rotation, 0.0, generator);
        turn(directions, &rotation, turned);
        round_matrix(turned, length * columns, out);
    }
    pml_directions_free(&rotation);
    outcome = turned ? outcome : PML_NO_MEMORY;
    free(turned);
    return outcome;
}

pml_outcome pml_projection_make(const struct pml_rows *rows, size_t length, uint64_t seed, unsigned threads,
                                const struct pml_progress *progress, int8_t *out)
{
    struct pml_generator generator = pml_generator_start(seed, PML_STREAM_SKETCH);
    struct pml_moments moments = {0};
    struct pml_directions directions = {0};
    pml_outcome outcome = pml_principal_directions(&moments, &directions, rows, length, &generator, threads, progress);
    if (outcome == PML_DONE)
        outcome = turn_and_round(&directions, length, &generator, out);
    pml_directions_free(&directions);
    pml_moments_free(&moments);
    return outcome;
}
