/* SPDX-License-Identifier: Apache-2.0
 * Calls ARPACK: it asks for products with the matrix until its vectors converge. */
#include "arpack.h"
#include "library.h"

#include <arpack.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BASIS 40u /* vectors that are kept between two restarts, or twice as many as are wanted */
#define RESTARTS 3000
#define NEAR 1e-10 /* of the values */

static struct {
    void (*dsaupd)(a_int *, char const *, a_int, char const *, a_int, double, double *, a_int, double *, a_int, a_int *,
                   a_int *, double *, double *, a_int, a_int *);
    void (*dseupd)(a_int, char const *, a_int const *, double *, double *, a_int, double, char const *, a_int,
                   char const *, a_int, double, double *, a_int, double *, a_int, a_int *, a_int *, double *, double *,
                   a_int, a_int *);
} calls;

bool pml_arpack_start(void)
{
    static const char *const arpack[] = {"libarpack.so.2", "libarpack.so", "libarpack.dylib", NULL};
    return calls.dseupd ||
           (pml_library_find(arpack, "dsaupd_c", &calls.dsaupd) && pml_library_find(arpack, "dseupd_c", &calls.dseupd));
}

struct memory {
    double *residual, *basis, *work, *small;
    a_int *chosen;
};

static pml_outcome find(pml_arpack_fn apply, void *context, a_int size, a_int wanted, a_int kept,
                        const struct memory *memory, double *values, double *vectors)
{
    a_int ido = 0, info = 1, parameters[11] = {0}, places[14] = {0};
    const a_int small = kept * (kept + 8);
    parameters[0] = 1; /* its own shifts */
    parameters[2] = RESTARTS;
    parameters[6] = 1; /* products with the matrix itself */
    while (ido != 99) {
        calls.dsaupd(&ido, "I", size, "LA", wanted, NEAR, memory->residual, kept, memory->basis, size, parameters,
                     places, memory->work, memory->small, small, &info);
        if (ido == 1 || ido == -1) {
            pml_outcome outcome = apply(context, memory->work + places[0] - 1, memory->work + places[1] - 1);
            if (outcome != PML_DONE)
                return outcome;
        } else if (ido != 99) {
            return PML_REFUSED;
        }
    }
    if (info != 0)
        return PML_REFUSED;
    calls.dseupd(1, "A", memory->chosen, values, vectors, size, 0.0, "I", size, "LA", wanted, NEAR, memory->residual,
                 kept, memory->basis, size, parameters, places, memory->work, memory->small, small, &info);
    return info == 0 && parameters[4] >= wanted ? PML_DONE : PML_REFUSED;
}

/* ARPACK's values ascend. */
static void turn_round(size_t size, size_t wanted, double *values, double *vectors)
{
    for (size_t low = 0, high = wanted - 1; low < high; low++, high--) {
        const double held = values[low];
        values[low] = values[high];
        values[high] = held;
        for (size_t i = 0; i < size; i++) {
            const double entry = vectors[low * size + i];
            vectors[low * size + i] = vectors[high * size + i];
            vectors[high * size + i] = entry;
        }
    }
    for (size_t v = 0; v < wanted; v++) {
        double *vector = vectors + v * size, largest = 0.0;
        for (size_t i = 0; i < size; i++)
            largest = fabs(vector[i]) > fabs(largest) ? vector[i] : largest;
        for (size_t i = 0; i < size && largest < 0.0; i++)
            vector[i] = -vector[i];
    }
}

pml_outcome pml_arpack_largest(pml_arpack_fn apply, void *context, size_t size, size_t wanted, const double *start,
                               double *values, double *vectors)
{
    const size_t good = 2 * wanted + 1 > BASIS ? 2 * wanted + 1 : BASIS, kept = size < good ? size : good;
    const struct memory memory = {.residual = malloc(size * sizeof(double)),
                                  .basis = malloc(kept * size * sizeof(double)),
                                  .work = malloc(3 * size * sizeof(double)),
                                  .small = malloc(kept * (kept + 8) * sizeof(double)),
                                  .chosen = calloc(kept, sizeof(a_int))};
    pml_outcome outcome = PML_NO_MEMORY;
    if (memory.residual && memory.basis && memory.work && memory.small && memory.chosen) {
        memcpy(memory.residual, start, size * sizeof(double));
        outcome = find(apply, context, (a_int)size, (a_int)wanted, (a_int)kept, &memory, values, vectors);
    }
    if (outcome == PML_DONE)
        turn_round(size, wanted, values, vectors);
    free(memory.residual);
    free(memory.basis);
    free(memory.work);
    free(memory.small);
    free(memory.chosen);
    return outcome;
}
