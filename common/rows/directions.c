/* SPDX-License-Identifier: Apache-2.0
 * Makes vectors orthonormal. Of the C library's functions only the square root is used: it is exactly rounded on every
 * platform. */
#include "directions.h"

#include <math.h>
#include <stdlib.h>

#define DEVIATION 32767 /* of the coordinates of a random vector */

pml_outcome pml_directions_allocate(struct pml_directions *directions, size_t count, size_t size)
{
    *directions = (struct pml_directions){.count = count, .size = size};
    directions->values = calloc(pml_directions_groups(directions) * size * PML_LANES, sizeof(double));
    directions->scratch = malloc(size * sizeof(double));
    return directions->values && directions->scratch ? PML_DONE : PML_NO_MEMORY;
}

void pml_directions_free(struct pml_directions *directions)
{
    free(directions->values);
    free(directions->scratch);
    *directions = (struct pml_directions){0};
}

/* Takes from `vector` its part along the first `lanes` vectors of a group. */
static void subtract_group(const double *restrict group, size_t size, size_t lanes, double *restrict vector)
{
    double along[PML_LANES] = {0};
    for (size_t i = 0; i < size; i++)
        for (size_t lane = 0; lane < PML_LANES; lane++)
            along[lane] += vector[i] * group[i * PML_LANES + lane];
    for (size_t lane = lanes; lane < PML_LANES; lane++)
        along[lane] = 0.0;
    for (size_t i = 0; i < size; i++) {
        const double *part = group + i * PML_LANES;
        vector[i] -= (along[0] * part[0] + along[1] * part[1]) + (along[2] * part[2] + along[3] * part[3]);
    }
}

/* Twice is enough (Giraud, Langou, Rozloznik 2005): what rounding leaves of the first pass goes in the second. Returns
 * the length of what is left of the vector in `scratch`. */
static double clear_earlier(const struct pml_directions *directions, size_t index)
{
    const size_t size = directions->size;
    for (int pass = 0; pass < 2; pass++)
        for (size_t first = 0; first < index; first += PML_LANES)
            subtract_group(directions->values + first * size, size,
                           index - first < PML_LANES ? index - first : PML_LANES, directions->scratch);
    double squares = 0.0;
    for (size_t i = 0; i < size; i++)
        squares += directions->scratch[i] * directions->scratch[i];
    return sqrt(squares);
}

void pml_directions_settle(struct pml_directions *directions, double least, struct pml_generator *generator)
{
    for (size_t index = 0; index < directions->count; index++) {
        for (size_t i = 0; i < directions->size; i++)
            directions->scratch[i] = *pml_direction(directions, index, i);
        double enough = least, length = clear_earlier(directions, index);
        while (!(length > enough)) {
            for (size_t i = 0; i < directions->size; i++)
                directions->scratch[i] = pml_generator_normal(generator, DEVIATION);
            length = clear_earlier(directions, index);
            enough = 1.0; /* of about DEVIATION */
        }
        for (size_t i = 0; i < directions->size; i++)
            *pml_direction(directions, index, i) = directions->scratch[i] / length;
    }
}
