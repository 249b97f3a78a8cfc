/* SPDX-License-Identifier: Apache-2.0
 * mnse: multi-modal nonlinear supervised embedding, in the span of p kernels per modality. Two steps take turns:
 * with the widths fixed, the best coefficients are an eigenproblem of size 2p; then each width is changed while that
 * lowers the objective. So it never rises. */
#include "train_mnse.h"

#include "tools/algebra/algebra.h"
#include "train_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights of the alignment of both modalities. With too little of it one direction may be spent on telling
 * modalities apart, with too much on what is the same for all rows. Where the limits are depends on the rows, so
 * training tries each weight and keeps the one with which pairs of its own rows find each other's class best. */
static const double alignments[] = {0.1, 0.2, 0.35};
enum { ALIGNMENTS = sizeof alignments / sizeof *alignments };

#define START 0.6     /* first width, in medians of the distance between rows */
#define NARROW 0.01   /* mu3 of the paper, per row of a class: the weight of Σ 1/width² */
#define CHANGE 1.2    /* of a width in one try */
#define NARROWEST 0.4 /* the range that widths are searched in, in medians: with wider kernels the objective may */
#define WIDEST 0.75   /* fall further while one modality no longer tells its classes apart */
#define LEAST 1e-4    /* a step that lowers the objective by a smaller part is the last */

struct mnse {
    struct pml_kernel_side sides[PML_TRAIN_MODALITIES];
    struct pml_mnse_graph graph;
    struct pml_matrix energy, size, vectors, tried; /* vectors: a row per dimension, of both sides' centres */
    double *values, objective;
};

/* The best vectors for the widths that the sides have, into `tried`. */
static pml_outcome solve(struct mnse *mnse, double *objective)
{
    pml_outcome outcome = pml_mnse_objective(mnse->sides, &mnse->graph, &mnse->energy, &mnse->size);
    if (outcome == PML_DONE)
        outcome = pml_eigen(&mnse->energy, &mnse->size, PML_SMALLEST, mnse->values, &mnse->tried);
    const double narrow = NARROW * (double)mnse->sides[0].kernels.rows / (double)mnse->graph.classes->count;
    *objective = 0.0;
    for (size_t i = 0; outcome == PML_DONE && i < mnse->tried.rows; i++)
        *objective += mnse->values[i];
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
        *objective += narrow / (mnse->sides[v].width * mnse->sides[v].width);
    return outcome;
}

static void keep_tried(struct mnse *mnse, double objective)
{
    const struct pml_matrix moved = mnse->vectors;
    mnse->vectors = mnse->tried;
    mnse->tried = moved;
    mnse->objective = objective;
}

/* Tries a narrower and a wider kernel on one side, and keeps what lowers the objective. */
static pml_outcome change_width(struct mnse *mnse, struct pml_kernel_side *side)
{
    const double factors[] = {1.0 / CHANGE, CHANGE};
    for (size_t i = 0; i < 2; i++) {
        const double before = side->width;
        double objective;
        if (before * factors[i] < NARROWEST * side->median || before * factors[i] > WIDEST * side->median)
            continue;
        pml_kernel_side_widen(side, before * factors[i]);
        pml_outcome outcome = solve(mnse, &objective);
        if (outcome != PML_DONE && outcome != PML_REFUSED)
            return outcome;
        if (outcome == PML_DONE && objective < mnse->objective) {
            keep_tried(mnse, objective);
            return PML_DONE;
        }
        pml_kernel_side_widen(side, before);
    }
    return PML_DONE;
}

static void tell(const struct pml_train_job *job, size_t step)
{
    struct pml_progress progress = job->options->progress ? *job->options->progress : (struct pml_progress){0};
    progress.stage = "lowering the objective";
    pml_progress_tell(&progress, (double)step / PML_TRAIN_STEPS);
}

static pml_outcome descend(const struct pml_train_job *job, struct mnse *mnse, struct pml_train_theorem *theorem,
                           struct pml_message *message)
{
    double objective;
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
        pml_kernel_side_widen(&mnse->sides[v], START * mnse->sides[v].median);
    pml_outcome outcome = solve(mnse, &objective);
    if (outcome == PML_REFUSED)
        return pml_say(message, "the kernels are singular: give rows that vary, or fewer --centres.");
    keep_tried(mnse, objective);
    while (outcome == PML_DONE) {
        tell(job, theorem->steps);
        theorem->objective[theorem->steps++] = objective = mnse->objective;
        if (theorem->steps == PML_TRAIN_STEPS)
            break;
        for (size_t v = 0; outcome == PML_DONE && v < PML_TRAIN_MODALITIES; v++)
            outcome = change_width(mnse, &mnse->sides[v]);
        if (!(objective - mnse->objective > LEAST * fabs(objective)))
            break;
    }
    return outcome;
}

/* The vectors' entries as coefficients: a row per centre. */
static pml_outcome put(const struct pml_train_job *job, const struct mnse *mnse, const struct pml_classes *classes,
                       struct pml_train_result *result, struct pml_message *message)
{
    const size_t centres = job->options->centres, outputs = mnse->vectors.rows;
    struct pml_matrix all;
    pml_outcome outcome = pml_matrix_allocate(&all, 2 * centres, outputs);
    for (size_t c = 0; outcome == PML_DONE && c < all.rows; c++)
        for (size_t i = 0; i < outputs; i++)
            pml_matrix_row(&all, c)[i] = pml_matrix_row(&mnse->vectors, i)[c];
    if (outcome == PML_DONE)
        outcome = pml_mnse_theorem(mnse->sides, classes, &all, &result->theorem);
    for (size_t v = 0; outcome == PML_DONE && v < PML_TRAIN_MODALITIES; v++) {
        const struct pml_matrix own = {pml_matrix_row(&all, v * centres), centres, outputs};
        outcome = pml_kernel_side_put(job, v, &mnse->sides[v], &own, NULL, result, message);
    }
    pml_matrix_free(&all);
    return outcome;
}

/* Replaces `result` when this one finds more. */
static pml_outcome try_alignment(const struct pml_train_job *job, const struct pml_classes *classes, struct mnse *mnse,
                                 double *most, struct pml_train_result *result, struct pml_message *message)
{
    struct pml_train_result tried = {0};
    struct pml_train_measures measures;
    pml_outcome outcome = descend(job, mnse, &tried.theorem, message);
    if (outcome == PML_DONE)
        outcome = put(job, mnse, classes, &tried, message);
    if (outcome == PML_DONE)
        outcome = pml_train_measure(&tried, job->set, job->set, job->options->threads, &measures, message);
    if (outcome == PML_DONE && measures.map_first + measures.map_second > *most) {
        *most = measures.map_first + measures.map_second;
        pml_train_free(result);
        *result = tried;
    } else {
        pml_train_free(&tried);
    }
    return outcome;
}

static pml_outcome train(const struct pml_train_job *job, const struct pml_classes *classes, struct mnse *mnse,
                         struct pml_train_result *result, struct pml_message *message)
{
    const size_t both = 2 * job->options->centres, outputs = job->options->dimensions;
    pml_outcome outcome = pml_train_limit(job->options, classes->count - 1,
                                          "one fewer than classes: more have nothing to separate", message);
    if (outcome == PML_DONE)
        outcome = pml_train_limit(job->options, job->options->centres, "one per centre", message);
    if (outcome == PML_DONE)
        outcome = pml_kernel_sides_start(job, mnse->sides, message);
    if (outcome == PML_DONE && ((mnse->values = malloc(outputs * sizeof *mnse->values)) == NULL ||
                                pml_matrix_allocate(&mnse->energy, both, both) != PML_DONE ||
                                pml_matrix_allocate(&mnse->size, both, both) != PML_DONE ||
                                pml_matrix_allocate(&mnse->vectors, outputs, both) != PML_DONE ||
                                pml_matrix_allocate(&mnse->tried, outputs, both) != PML_DONE))
        outcome = PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_mnse_graph_make(mnse->sides, classes, &mnse->graph);
    double most = -1.0;
    for (size_t i = 0; i < ALIGNMENTS && outcome == PML_DONE; i++) {
        mnse->graph.align = alignments[i];
        outcome = try_alignment(job, classes, mnse, &most, result, message);
    }
    return outcome;
}

pml_outcome pml_train_mnse(const struct pml_train_job *job, struct pml_train_result *result,
                           struct pml_message *message)
{
    struct mnse mnse = {0};
    struct pml_classes classes;
    pml_outcome outcome = pml_classes_number(job->set, &classes, message);
    if (outcome != PML_DONE)
        return outcome;
    outcome = train(job, &classes, &mnse, result, message);
    pml_kernel_sides_free(mnse.sides);
    pml_mnse_graph_free(&mnse.graph);
    pml_matrix_free(&mnse.energy);
    pml_matrix_free(&mnse.size);
    pml_matrix_free(&mnse.vectors);
    pml_matrix_free(&mnse.tried);
    free(mnse.values);
    pml_classes_free(&classes);
    return outcome == PML_NO_MEMORY ? pml_say_memory(message) : outcome;
}
