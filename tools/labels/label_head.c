/* SPDX-License-Identifier: Apache-2.0
 * In: what a network says of rows. Out: a head file that says nearly the same of any row. */
#include "label_head.h"

#include "label_measures.h"

#include "common/rows/rows.h"
#include "tools/algebra/algebra.h"
#include "tools/train/scatter.h"

#include <stdlib.h>
#include <string.h>

/* Shares of the mean variance of a feature that are tried as ridges. */
static const double ridges[] = {1e-3, 1e-2, 1e-1, 1.0};

/* Scores less than this are as good as certain. Without a limit the map would spend itself on how certain they are. */
#define LEAST_SCORE (-8.0)

struct fit {
    struct pml_matrix rows, targets; /* both around their means */
    double *row_mean, *target_mean;
    struct pml_matrix scatter, sides, weights; /* weights: labels × features */
    struct pml_matrix scores;                  /* of the validation rows */
    double *offset;
};

static void fit_free(struct fit *fit)
{
    struct pml_matrix *all[] = {&fit->rows, &fit->targets, &fit->scatter, &fit->sides, &fit->weights, &fit->scores};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        pml_matrix_free(all[i]);
    free(fit->row_mean);
    free(fit->target_mean);
    free(fit->offset);
}

static pml_outcome fit_make(struct fit *fit, const struct pml_label_part *train, const struct pml_matrix *scores,
                            size_t validation)
{
    const size_t count = train->rows.rows, features = train->rows.columns, labels = scores->columns;
    fit->row_mean = malloc(features * sizeof *fit->row_mean);
    fit->target_mean = malloc(labels * sizeof *fit->target_mean);
    fit->offset = malloc(labels * sizeof *fit->offset);
    if (!fit->row_mean || !fit->target_mean || !fit->offset ||
        pml_matrix_allocate(&fit->rows, count, features) != PML_DONE ||
        pml_matrix_allocate(&fit->targets, count, labels) != PML_DONE ||
        pml_matrix_allocate(&fit->scatter, features, features) != PML_DONE ||
        pml_matrix_allocate(&fit->sides, features, labels) != PML_DONE ||
        pml_matrix_allocate(&fit->weights, labels, features) != PML_DONE ||
        pml_matrix_allocate(&fit->scores, validation, labels) != PML_DONE)
        return PML_NO_MEMORY;
    memcpy(fit->rows.values, train->rows.values, count * features * sizeof(double));
    for (size_t i = 0; i < count * labels; i++)
        fit->targets.values[i] = scores->values[i] > LEAST_SCORE ? scores->values[i] : LEAST_SCORE;
    pml_scatter_centre(&fit->rows, fit->row_mean);
    pml_scatter_centre(&fit->targets, fit->target_mean);
    return PML_DONE;
}

/* (XᵀX + ridge)·W = XᵀS, and what the map gives for the validation rows. */
static pml_outcome solve(struct fit *fit, double ridge, const struct pml_label_part *validation)
{
    const size_t labels = fit->weights.rows, features = fit->weights.columns;
    pml_multiply(&fit->rows, PML_TURNED, &fit->rows, PML_PLAIN, 1.0, 0.0, &fit->scatter);
    pml_multiply(&fit->rows, PML_TURNED, &fit->targets, PML_PLAIN, 1.0, 0.0, &fit->sides);
    pml_lift_diagonal(&fit->scatter, ridge);
    const pml_outcome outcome = pml_solve(&fit->scatter, &fit->sides);
    if (outcome != PML_DONE)
        return outcome;
    for (size_t c = 0; c < labels; c++) {
        fit->offset[c] = fit->target_mean[c];
        for (size_t j = 0; j < features; j++) {
            pml_matrix_row(&fit->weights, c)[j] = pml_matrix_row(&fit->sides, j)[c];
            fit->offset[c] -= pml_matrix_row(&fit->sides, j)[c] * fit->row_mean[j];
        }
    }
    for (size_t i = 0; i < fit->scores.rows; i++)
        memcpy(pml_matrix_row(&fit->scores, i), fit->offset, labels * sizeof(double));
    pml_multiply(&validation->rows, PML_PLAIN, &fit->sides, PML_PLAIN, 1.0, 1.0, &fit->scores);
    return PML_DONE;
}

static pml_outcome choose(struct fit *fit, const struct pml_label_part *validation, double *ridge)
{
    double best = -1.0, threshold, micro_f1;
    for (size_t i = 0; i < sizeof ridges / sizeof *ridges; i++) {
        pml_outcome outcome = solve(fit, ridges[i], validation);
        if (outcome == PML_DONE)
            outcome = pml_label_threshold(&fit->scores, validation->marks, &threshold, &micro_f1);
        if (outcome != PML_DONE)
            return outcome;
        if (micro_f1 > best) {
            best = micro_f1;
            *ridge = ridges[i];
        }
    }
    return PML_DONE;
}

static pml_outcome write_head(struct fit *fit, double threshold, struct pml_front_bytes *file,
                              struct pml_message *message)
{
    const size_t count = fit->weights.rows;
    int32_t *labels = malloc(count * sizeof *labels);
    if (!labels)
        return pml_say_memory(message);
    for (size_t c = 0; c < count; c++) {
        labels[c] = (int32_t)c;
        fit->offset[c] -= threshold;
    }
    const pml_outcome outcome = pml_front_bytes_head(&fit->weights, fit->offset, labels, file, message);
    free(labels);
    return outcome;
}

pml_outcome pml_label_head_make(const struct pml_label_part *train, const struct pml_matrix *scores,
                                const struct pml_label_part *validation, struct pml_front_bytes *file,
                                struct pml_message *message)
{
    struct fit fit = {0};
    double ridge = 0.0, threshold = 0.0, micro_f1;
    pml_outcome outcome = fit_make(&fit, train, scores, validation->rows.rows);
    if (outcome == PML_DONE)
        outcome = choose(&fit, validation, &ridge);
    if (outcome == PML_DONE)
        outcome = solve(&fit, ridge, validation);
    if (outcome == PML_DONE)
        outcome = pml_label_threshold(&fit.scores, validation->marks, &threshold, &micro_f1);
    if (outcome == PML_NO_MEMORY)
        pml_say_memory(message);
    else if (outcome == PML_REFUSED)
        pml_say(message, "no head can be fitted to these rows: give rows that vary more.");
    else
        outcome = write_head(&fit, threshold, file, message);
    fit_free(&fit);
    return outcome;
}

pml_outcome pml_label_head_score(const pml_front *head, const struct pml_rows *rows, struct pml_matrix *scores)
{
    if (pml_matrix_allocate(scores, rows->count, head->outputs) != PML_DONE)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < rows->count; i++)
        for (size_t c = 0; c < head->outputs; c++) {
            const uint8_t *record = head->body + 12 * c; /* the offset, then the gain, which is at most 32 */
            uint64_t offset = 0;
            for (unsigned b = 0; b < 8; b++)
                offset |= (uint64_t)record[b] << 8 * b;
            const int64_t dot = pml_dot(head->values + c * head->inputs, rows->values + i * head->inputs, head->inputs);
            pml_matrix_row(scores, i)[c] = (double)(dot * record[8] * (int64_t)rows->inverse[i] + (int64_t)offset);
        }
    return PML_DONE;
}
