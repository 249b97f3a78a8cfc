/* SPDX-License-Identifier: Apache-2.0
 * kpca, kda and kmfa: graph embedding in the span of p kernels. A method is two graphs between rows. With K the kernels
 * of rows and centres, L and P the Laplacians of the graph that draws together and of the one that pushes apart, and N
 * the kernels of centres among themselves, f = Σ_c α_c·kernel_c maximises
 *
 *     αᵀKᵀPKα / αᵀ(KᵀLK/trace + ridge·N/trace)α,   αᵀNα = |f|²,
 *
 * so directions are those of one generalised eigenproblem of size p.
 *
 *     kpca   P: all rows with each other                    L: nothing
 *     kda    P: all rows, without those of the same class   L: rows of the same class
 *     kmfa   P: the nearest pairs of different classes      L: near rows of the same class */
#include "train_graph.h"

#include "tools/algebra/algebra.h"
#include "train_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Widths, in medians of the distance between rows, and ridges; held-out rows choose among them. The last of both are
 * for sets that are too small for that. */
static const double widths[] = {1.4, 1.0, 0.35, 0.5, 0.7}, ridges[] = {1e-3, 0.01, 1.0, 0.1};
enum { WIDTHS = sizeof widths / sizeof *widths, RIDGES = sizeof ridges / sizeof *ridges };

#define NEAR 5u     /* of kmfa: rows of its class that a row is drawn to */
#define MARGIN 100u /* of kmfa: pairs per class that are pushed apart */
#define LIFT 1e-10  /* of N's diagonal: many kernels on few features are singular */

/* ---- Laplacians ---- */

/* What Laplacians are summed in. */
struct scatter {
    const struct pml_matrix *kernels;
    struct pml_matrix moved, sums; /* rows × p: Laplacian·kernels; classes × p */
};

/* out += factor·KᵀLK for the graph that joins all rows of a class with weight 1/size. LK is K minus the mean of the
 * class. */
static void add_classes(struct scatter *scatter, const struct pml_classes *classes, double factor,
                        struct pml_matrix *out)
{
    struct pml_matrix *moved = &scatter->moved, sums = scatter->sums;
    sums.rows = classes->count;
    pml_classes_sum(classes, scatter->kernels, &sums);
    for (size_t i = 0; i < moved->rows; i++)
        for (size_t c = 0; c < moved->columns; c++)
            pml_matrix_row(moved, i)[c] = pml_matrix_row(scatter->kernels, i)[c] -
                                          pml_matrix_row(&sums, classes->of[i])[c] / classes->sizes[classes->of[i]];
    pml_multiply(scatter->kernels, PML_TURNED, moved, PML_PLAIN, factor, 1.0, out);
}

/* out += KᵀLK for edges of weight 1. */
static void add_edges(struct scatter *scatter, const struct pml_edges *edges, struct pml_matrix *out)
{
    struct pml_matrix *moved = &scatter->moved;
    memset(moved->values, 0, moved->rows * moved->columns * sizeof *moved->values);
    for (const struct pml_edge *edge = edges->edges; edge < edges->edges + edges->count; edge++)
        for (size_t c = 0; c < moved->columns; c++) {
            const double step =
                pml_matrix_row(scatter->kernels, edge->first)[c] - pml_matrix_row(scatter->kernels, edge->second)[c];
            pml_matrix_row(moved, edge->first)[c] += step;
            pml_matrix_row(moved, edge->second)[c] -= step;
        }
    pml_multiply(scatter->kernels, PML_TURNED, moved, PML_PLAIN, 1.0, 1.0, out);
}

/* ---- two graphs ---- */

struct graphs {
    struct pml_classes all, classes; /* all rows as one class; the classes of their labels */
    const struct pml_edges *own, *other;
};

static void free_graphs(struct graphs *graphs)
{
    pml_classes_free(&graphs->all);
    pml_classes_free(&graphs->classes);
}

static pml_outcome make_graphs(const struct pml_train_job *job, struct pml_kernel_side *side, struct graphs *graphs,
                               struct pml_message *message)
{
    const struct pml_train_options *options = job->options;
    const size_t count = job->set->count;
    pml_outcome outcome = pml_train_limit(options, options->centres, "one per centre", message);
    graphs->all = (struct pml_classes){
        .of = calloc(count, sizeof *graphs->all.of), .sizes = malloc(sizeof *graphs->all.sizes), .count = 1};
    if (outcome == PML_DONE && (!graphs->all.of || !graphs->all.sizes))
        outcome = pml_say_memory(message);
    if (outcome != PML_DONE)
        return outcome;
    graphs->all.sizes[0] = (uint32_t)count;
    if (options->method == PML_TRAIN_KPCA)
        return PML_DONE;
    outcome = pml_classes_number(job->set, &graphs->classes, message);
    if (outcome == PML_DONE && options->method == PML_TRAIN_KDA)
        outcome = pml_train_limit(options, graphs->classes.count - 1, "one fewer than classes", message);
    graphs->own = &side->own;
    graphs->other = &side->other;
    if (outcome == PML_DONE && options->method == PML_TRAIN_KMFA && !side->own.edges) {
        outcome = pml_edges_marginal(&job->rows[0], &graphs->classes, NEAR, MARGIN, options->threads, &side->own,
                                     &side->other);
        if (outcome == PML_NO_MEMORY)
            outcome = pml_say_memory(message);
    }
    return outcome;
}

static void add_graphs(pml_train_method method, const struct graphs *graphs, struct scatter *scatter,
                       struct pml_matrix *apart, struct pml_matrix *together)
{
    if (method == PML_TRAIN_KMFA) {
        add_edges(scatter, graphs->other, apart);
        add_edges(scatter, graphs->own, together);
        return;
    }
    add_classes(scatter, &graphs->all, 1.0, apart);
    if (method == PML_TRAIN_KDA) {
        add_classes(scatter, &graphs->classes, -1.0, apart);
        add_classes(scatter, &graphs->classes, 1.0, together);
    }
}

/* ---- the eigenproblem ---- */

static void divide_by_trace(struct pml_matrix *matrix)
{
    const double trace = pml_trace(matrix);
    for (size_t i = 0; i < matrix->rows * matrix->columns && trace > 0.0; i++)
        matrix->values[i] /= trace;
}

/* The best vectors for the width that the side has, a row per dimension. */
static pml_outcome solve(const struct pml_train_job *job, const struct graphs *graphs,
                         const struct pml_kernel_side *side, double ridge, struct pml_matrix *vectors)
{
    const size_t centres = side->kernels.columns;
    struct scatter scatter = {.kernels = &side->kernels};
    struct pml_matrix apart = {0}, together = {0}, norm = {0};
    double *values = malloc(vectors->rows * sizeof *values);
    const size_t classes = graphs->classes.count > 1 ? graphs->classes.count : 1;
    pml_outcome outcome = PML_NO_MEMORY;
    if (values && pml_matrix_allocate(&scatter.moved, side->kernels.rows, centres) == PML_DONE &&
        pml_matrix_allocate(&scatter.sums, classes, centres) == PML_DONE &&
        pml_matrix_allocate(&apart, centres, centres) == PML_DONE &&
        pml_matrix_allocate(&together, centres, centres) == PML_DONE &&
        pml_matrix_allocate(&norm, centres, centres) == PML_DONE) {
        add_graphs(job->options->method, graphs, &scatter, &apart, &together);
        pml_kernel_side_norm(side, &norm);
        pml_lift_diagonal(&norm, LIFT);
        divide_by_trace(&together);
        divide_by_trace(&norm);
        for (size_t i = 0; i < centres * centres; i++)
            together.values[i] += ridge * norm.values[i];
        const double all = pml_trace(&apart);
        outcome = pml_eigen(&apart, &together, PML_LARGEST, values, vectors);
        if (outcome == PML_DONE && !(values[vectors->rows - 1] > 1e-9 * values[0] && all > 0.0))
            outcome = PML_REFUSED;
    }
    free(values);
    pml_matrix_free(&scatter.moved);
    pml_matrix_free(&scatter.sums);
    pml_matrix_free(&apart);
    pml_matrix_free(&together);
    pml_matrix_free(&norm);
    return outcome;
}

/* Coefficients have a row per centre. The offset puts the mean of the mapped rows at zero. */
static pml_outcome put(const struct pml_train_job *job, struct pml_kernel_side *side, const struct pml_matrix *vectors,
                       struct pml_train_result *result, struct pml_message *message)
{
    const size_t centres = vectors->columns, outputs = vectors->rows;
    struct pml_matrix coefficients;
    double *offset = calloc(outputs, sizeof *offset), *mean = malloc(centres * sizeof *mean);
    pml_outcome outcome = pml_matrix_allocate(&coefficients, centres, outputs);
    if (outcome == PML_DONE && offset && mean) {
        pml_scatter_centre(&side->kernels, mean);
        for (size_t i = 0; i < outputs; i++)
            for (size_t c = 0; c < centres; c++) {
                pml_matrix_row(&coefficients, c)[i] = pml_matrix_row(vectors, i)[c];
                offset[i] -= mean[c] * pml_matrix_row(vectors, i)[c];
            }
        outcome = pml_kernel_side_put(job, 0, side, &coefficients, offset, result, message);
    } else {
        outcome = pml_say_memory(message);
    }
    pml_matrix_free(&coefficients);
    free(offset);
    free(mean);
    return outcome;
}

static pml_outcome fit(const struct pml_train_job *job, struct pml_kernel_side *sides, size_t setting,
                       struct pml_train_result *result, struct pml_message *message)
{
    const bool pca = job->options->method == PML_TRAIN_KPCA; /* L is nothing, so that a ridge is a factor */
    const double chosen = job->options->ridge > 0.0 ? job->options->ridge : ridges[setting / WIDTHS];
    struct graphs graphs = {0};
    struct pml_matrix vectors = {0};
    pml_outcome outcome = make_graphs(job, &sides[0], &graphs, message);
    if (outcome == PML_DONE &&
        pml_matrix_allocate(&vectors, job->options->dimensions, job->options->centres) != PML_DONE)
        outcome = pml_say_memory(message);
    if (outcome == PML_DONE) {
        pml_kernel_side_widen(&sides[0], widths[setting % WIDTHS] * sides[0].median);
        outcome = solve(job, &graphs, &sides[0], pca ? 1.0 : chosen, &vectors);
        if (outcome == PML_REFUSED)
            outcome = pml_say(message,
                              "the kernels do not tell rows apart in %zu directions: give rows that vary, fewer "
                              "--dimensions, fewer --centres or a larger --ridge.",
                              job->options->dimensions);
        else if (outcome == PML_NO_MEMORY)
            outcome = pml_say_memory(message);
    }
    if (outcome == PML_DONE)
        outcome = put(job, &sides[0], &vectors, result, message);
    result->ridge = pca ? 0.0 : chosen;
    free_graphs(&graphs);
    pml_matrix_free(&vectors);
    return outcome;
}

pml_outcome pml_train_graph(const struct pml_train_job *job, struct pml_train_result *result,
                            struct pml_message *message)
{
    const bool pca = job->options->method == PML_TRAIN_KPCA;
    struct pml_train_set set = *job->set;
    struct pml_train_job own = *job;
    if (pca) /* labels, which may be there for measuring, choose nothing */
        set.labels = NULL;
    own.set = &set;
    return pml_kernel_train(&own, fit, WIDTHS * (pca || job->options->ridge > 0.0 ? 1 : RIDGES), result, message);
}
