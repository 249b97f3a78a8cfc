/* SPDX-License-Identifier: Apache-2.0
 * The objective of mnse in the span of its kernels. With W the nearness of rows of one class and B = 1 for rows of
 * different classes, and the Laplacian of weights being their row sums on the diagonal minus the weights:
 *
 *     Laplacian of W in each modality − SEPARATE · that of B
 *     + align · Laplacian of W between modalities − SEPARATE · that of B between modalities + SMOOTH · |C|²
 *
 * Laplacians of B are sums over classes, so only W costs a square, and only of each class. */
#include "tools/algebra/algebra.h"
#include "train_mnse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATE 0.003 /* mu1 and mu5 of the paper */
#define SMOOTH 0.1     /* mu2, per row of a class: the sums over near rows grow with classes, so this does too */
#define REACH 1.5      /* theta, in medians of the distance between rows */
#define LIFT 1e-8      /* of the constraint's diagonal: many kernels on few features are singular */

/* ---- the graph ---- */

static void fill_near(const struct pml_matrix *units, const uint32_t *members, size_t count, double reach, double *near)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j <= i; j++) {
            const double *a = pml_matrix_row(units, members[i]), *b = pml_matrix_row(units, members[j]);
            double square = 0.0;
            for (size_t x = 0; x < units->columns; x++)
                square += (a[x] - b[x]) * (a[x] - b[x]);
            near[i * count + j] = near[j * count + i] = exp(-square / (reach * reach));
        }
}

pml_outcome pml_mnse_graph_make(const struct pml_kernel_side *sides, const struct pml_classes *classes,
                                struct pml_mnse_graph *graph)
{
    const size_t rows = sides[0].units.rows;
    size_t entries = 0, at = 0;
    for (size_t c = 0; c < classes->count; c++)
        entries += (size_t)classes->sizes[c] * classes->sizes[c];
    *graph = (struct pml_mnse_graph){.members = malloc(rows * sizeof(uint32_t)), .classes = classes};
    bool done = graph->members != NULL;
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
        done = (graph->near[v] = malloc(entries * sizeof(double))) != NULL && done;
    if (!done)
        return PML_NO_MEMORY;
    for (size_t c = 0; c < classes->count; c++)
        for (size_t i = 0; i < rows; i++)
            if (classes->of[i] == c)
                graph->members[at++] = (uint32_t)i;
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++) {
        size_t first = 0;
        double *near = graph->near[v];
        for (size_t c = 0; c < classes->count; c++) {
            const size_t count = classes->sizes[c];
            fill_near(&sides[v].units, graph->members + first, count, REACH * sides[v].median, near);
            near += count * count;
            first += count;
        }
    }
    return PML_DONE;
}

void pml_mnse_graph_free(struct pml_mnse_graph *graph)
{
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
        free(graph->near[v]);
    free(graph->members);
    *graph = (struct pml_mnse_graph){0};
}

/* ---- the objective ---- */

/* Adds `block`, or its transpose, to the block of `whole` that belongs to two sides. */
static void add_block(struct pml_matrix *whole, size_t side, size_t other, const struct pml_matrix *block, bool turned)
{
    for (size_t i = 0; i < block->rows; i++)
        for (size_t j = 0; j < block->columns; j++) {
            const size_t row = side * block->rows + (turned ? j : i), column = other * block->rows + (turned ? i : j);
            pml_matrix_row(whole, row)[column] += pml_matrix_row(block, i)[j];
        }
}

/* The rows of a class, of the kernels of one side. */
static void gather(const struct pml_kernel_side *side, const uint32_t *members, struct pml_matrix *own)
{
    for (size_t i = 0; i < own->rows; i++)
        memcpy(pml_matrix_row(own, i), pml_matrix_row(&side->kernels, members[i]), own->columns * sizeof *own->values);
}

struct class_work {
    struct pml_matrix own[PML_TRAIN_MODALITIES], moved, block; /* kernels of the class; near·kernels; what is added */
    double *both;                                              /* nearness of both modalities, the mean */
};

static void free_work(struct class_work *work)
{
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
        pml_matrix_free(&work->own[v]);
    pml_matrix_free(&work->moved);
    pml_matrix_free(&work->block);
    free(work->both);
}

/* −weight · ownᵀ·near·other's own into the block of two sides, and into its mirror. */
static void subtract_near(struct class_work *work, const double *near, double weight, size_t side, size_t other,
                          struct pml_matrix *energy)
{
    const size_t count = work->own[0].rows;
    const struct pml_matrix weights = {(double *)(uintptr_t)near, count, count};
    pml_multiply(&weights, PML_PLAIN, &work->own[other], PML_PLAIN, -1.0, 0.0, &work->moved);
    pml_multiply(&work->own[side], PML_TURNED, &work->moved, PML_PLAIN, weight, 0.0, &work->block);
    add_block(energy, side, other, &work->block, false);
    if (side != other)
        add_block(energy, other, side, &work->block, true);
}

/* Row sums of weight·near, and `apart`, on the diagonal between the kernels of a side. */
static void add_degrees(struct class_work *work, const double *near, double weight, double apart, size_t side,
                        struct pml_matrix *energy)
{
    const size_t count = work->own[0].rows;
    for (size_t i = 0; i < count; i++) {
        double degree = apart;
        for (size_t j = 0; j < count; j++)
            degree += weight * near[i * count + j];
        for (size_t x = 0; x < work->moved.columns; x++)
            pml_matrix_row(&work->moved, i)[x] = degree * pml_matrix_row(&work->own[side], i)[x];
    }
    pml_multiply(&work->own[side], PML_TURNED, &work->moved, PML_PLAIN, 1.0, 0.0, &work->block);
    add_block(energy, side, side, &work->block, false);
}

static pml_outcome add_class(const struct pml_kernel_side *sides, const struct pml_mnse_graph *graph, size_t count,
                             size_t first, size_t entry, struct pml_matrix *energy)
{
    const size_t centres = sides[0].kernels.columns, rows = sides[0].kernels.rows;
    struct class_work work = {.both = malloc(count * count * sizeof(double))};
    bool done = work.both && pml_matrix_allocate(&work.moved, count, centres) == PML_DONE &&
                pml_matrix_allocate(&work.block, centres, centres) == PML_DONE;
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
        done = pml_matrix_allocate(&work.own[v], count, centres) == PML_DONE && done;
    if (done) {
        const double *near[] = {graph->near[0] + entry, graph->near[1] + entry};
        for (size_t i = 0; i < count * count; i++)
            work.both[i] = 0.5 * (near[0][i] + near[1][i]);
        for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
            gather(&sides[v], graph->members + first, &work.own[v]);
        for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++) {
            add_degrees(&work, near[v], 1.0, -2.0 * SEPARATE * (double)(rows - count), v, energy);
            add_degrees(&work, work.both, graph->align, 0.0, v, energy);
            subtract_near(&work, near[v], 1.0, v, v, energy);
        }
        subtract_near(&work, work.both, graph->align, 0, 1, energy);
    }
    free_work(&work);
    return done ? PML_DONE : PML_NO_MEMORY;
}

/* The weights of the Laplacians of B: SEPARATE · (sum·sumᵀ − Σ over classes of theirs), for every pair of sides. */
static pml_outcome add_separation(const struct pml_kernel_side *sides, const struct pml_classes *classes,
                                  struct pml_matrix *energy)
{
    const size_t centres = sides[0].kernels.columns;
    struct pml_matrix sums = {0}, all = {0};
    pml_outcome outcome = pml_matrix_allocate(&sums, classes->count, 2 * centres);
    if (outcome == PML_DONE)
        outcome = pml_matrix_allocate(&all, 1, 2 * centres);
    for (size_t v = 0; outcome == PML_DONE && v < PML_TRAIN_MODALITIES; v++)
        for (size_t i = 0; i < sides[v].kernels.rows; i++)
            for (size_t x = 0; x < centres; x++) {
                const double value = pml_matrix_row(&sides[v].kernels, i)[x];
                pml_matrix_row(&sums, classes->of[i])[v * centres + x] += value;
                all.values[v * centres + x] += value;
            }
    if (outcome == PML_DONE) {
        pml_multiply(&all, PML_TURNED, &all, PML_PLAIN, SEPARATE, 1.0, energy);
        pml_multiply(&sums, PML_TURNED, &sums, PML_PLAIN, -SEPARATE, 1.0, energy);
    }
    pml_matrix_free(&sums);
    pml_matrix_free(&all);
    return outcome;
}

pml_outcome pml_mnse_objective(const struct pml_kernel_side *sides, const struct pml_mnse_graph *graph,
                               struct pml_matrix *energy, struct pml_matrix *size)
{
    const size_t centres = sides[0].kernels.columns;
    const struct pml_classes *classes = graph->classes;
    struct pml_matrix block;
    size_t first = 0, entry = 0;
    pml_outcome outcome = pml_matrix_allocate(&block, centres, centres);
    memset(energy->values, 0, energy->rows * energy->columns * sizeof *energy->values);
    memset(size->values, 0, size->rows * size->columns * sizeof *size->values);
    for (size_t v = 0; outcome == PML_DONE && v < PML_TRAIN_MODALITIES; v++) {
        pml_multiply(&sides[v].kernels, PML_TURNED, &sides[v].kernels, PML_PLAIN, 1.0, 0.0, &block);
        add_block(size, v, v, &block, false);
    }
    pml_lift_diagonal(size, LIFT);
    for (size_t i = 0; i < energy->rows; i++)
        pml_matrix_row(energy, i)[i] = SMOOTH * (double)sides[0].kernels.rows / (double)classes->count;
    for (size_t c = 0; outcome == PML_DONE && c < classes->count; c++) {
        const size_t count = classes->sizes[c];
        outcome = add_class(sides, graph, count, first, entry, energy);
        first += count;
        entry += count * count;
    }
    if (outcome == PML_DONE)
        outcome = add_separation(sides, classes, energy);
    pml_matrix_free(&block);
    return outcome;
}
