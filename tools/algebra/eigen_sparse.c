/* SPDX-License-Identifier: Apache-2.0
 * Calls ARPACK, which is loaded when it is needed and not linked: it brings BLAS, which starts threads. */
#define _POSIX_C_SOURCE 200809L
#include "eigen_sparse.h"
#include "common/generator.h"

#include <arpack.h>

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESTARTS 1000
#define TOLERANCE 1e-12 /* of an eigenvalue, relative */

static struct {
    __typeof__(&dsaupd_c) step;
    __typeof__(&dseupd_c) finish;
} calls;

static bool find(void *library, const char *name, void *function)
{
    void *found = library ? dlsym(library, name) : NULL;
    memcpy(function, &found, sizeof found); /* ISO C has no conversion to a pointer to a function */
    return found != NULL;
}

bool pml_eigen_sparse_start(void)
{
    static const char *const names[] = {"libarpack.so.2", "libarpack.so", "libarpack.dylib"};
    /* One thread: more would add in another order, and give other bytes. */
    if (setenv("OPENBLAS_NUM_THREADS", "1", 1) != 0 || setenv("OMP_NUM_THREADS", "1", 1) != 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !calls.finish; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL); /* stays to the end of the program */
        if (find(library, "dsaupd_c", &calls.step))
            find(library, "dseupd_c", &calls.finish);
    }
    return calls.finish != NULL;
}

void pml_sparse_multiply(const struct pml_sparse *matrix, const double *in, double *out)
{
    for (size_t i = 0; i < matrix->count; i++) {
        double sum = 0.0;
        for (size_t at = matrix->starts[i]; at < matrix->starts[i + 1]; at++)
            sum += matrix->values[at] * in[matrix->columns[at]];
        out[i] = sum;
    }
}

/* What ARPACK works in. */
struct lanczos {
    a_int count, wanted, basis; /* vectors that are kept at a time */
    a_int parameters[11], places[14], room, status;
    double *start, *vectors, *work, *small, *values;
    a_int *chosen;
};

static void release(struct lanczos *lanczos)
{
    free(lanczos->start);
    free(lanczos->vectors);
    free(lanczos->work);
    free(lanczos->small);
    free(lanczos->values);
    free(lanczos->chosen);
}

static bool prepare(struct lanczos *lanczos, size_t count, size_t wanted)
{
    const size_t good = wanted * 2 + 1 > 40 ? wanted * 2 + 1 : 40, basis = good < count ? good : count;
    const size_t room = basis * (basis + 8);
    struct pml_generator generator = {0};
    *lanczos = (struct lanczos){
        .count = (a_int)count,
        .wanted = (a_int)wanted,
        .basis = (a_int)basis,
        .parameters = {[0] = 1, [2] = RESTARTS, [3] = 1, [6] = 1}, /* exact shifts, plain eigenvalues */
        .room = (a_int)room,
        .status = 1, /* begins with `start` */
        .start = malloc(count * sizeof *lanczos->start),
        .vectors = malloc(count * basis * sizeof *lanczos->vectors),
        .work = calloc(count * 3, sizeof *lanczos->work),
        .small = malloc(room * sizeof *lanczos->small),
        .values = malloc(basis * sizeof *lanczos->values),
        .chosen = calloc(basis, sizeof *lanczos->chosen),
    };
    if (!lanczos->start || !lanczos->vectors || !lanczos->work || !lanczos->small || !lanczos->values ||
        !lanczos->chosen)
        return false;
    for (size_t i = 0; i < count; i++)
        lanczos->start[i] = (double)pml_generator_below(&generator, 1u << 20) + 1.0;
    return true;
}

/* Returns whether all vectors were found. They are then the first ones of lanczos->vectors, ascending. */
static bool iterate(struct lanczos *lanczos, pml_multiply_fn multiply, const void *context)
{
    struct lanczos *l = lanczos;
    a_int request = 0;
    do {
        calls.step(&request, "I", l->count, "LA", l->wanted, TOLERANCE, l->start, l->basis, l->vectors, l->count,
                   l->parameters, l->places, l->work, l->small, l->room, &l->status);
        if (request == 1 || request == -1)
            multiply(context, l->work + l->places[0] - 1, l->work + l->places[1] - 1);
    } while (request == 1 || request == -1);
    if (l->status != 0 || l->parameters[4] < l->wanted)
        return false;
    calls.finish(1, "A", l->chosen, l->values, l->vectors, l->count, 0.0, "I", l->count, "LA", l->wanted, TOLERANCE,
                 l->start, l->basis, l->vectors, l->count, l->parameters, l->places, l->work, l->small, l->room,
                 &l->status);
    return l->status == 0;
}

static void copy_vector(const double *from, size_t count, double *out)
{
    double largest = 0.0;
    for (size_t i = 0; i < count; i++)
        largest = fabs(from[i]) > fabs(largest) ? from[i] : largest;
    for (size_t i = 0; i < count; i++)
        out[i] = largest < 0.0 ? -from[i] : from[i];
}

pml_outcome pml_eigen_operator(pml_multiply_fn multiply, const void *context, size_t count, size_t wanted,
                               double *values, double *vectors)
{
    struct lanczos lanczos;
    pml_outcome outcome = PML_NO_MEMORY;
    if (prepare(&lanczos, count, wanted))
        outcome = iterate(&lanczos, multiply, context) ? PML_DONE : PML_REFUSED;
    for (size_t i = 0; outcome == PML_DONE && i < wanted; i++) {
        const size_t from = wanted - 1 - i;
        values[i] = lanczos.values[from];
        copy_vector(lanczos.vectors + from * count, count, vectors + i * count);
    }
    release(&lanczos);
    return outcome;
}

static void multiply_sparse(const void *context, const double *in, double *out)
{
    pml_sparse_multiply(context, in, out);
}

pml_outcome pml_eigen_sparse(const struct pml_sparse *matrix, size_t wanted, double *values, double *vectors)
{
    return pml_eigen_operator(multiply_sparse, matrix, matrix->count, wanted, values, vectors);
}
