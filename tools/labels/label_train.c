/* SPDX-License-Identifier: Apache-2.0
 * Conducts: rows as a device sees them, then every way to tell their labels, then the head. */
#include "label_train.h"

#include "label_fit.h"
#include "label_head.h"
#include "label_neighbours.h"

#include "common/rows/rows.h"
#include "tools/train/scatter.h"
#include "tools/train/train_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if PML_WITH_LAPACKE

#define HIDDEN 256u
#define LATENT 64u
#define EPOCHS 100u

/* Chosen on one split of composed pictures (docs/RESULTS_METHODS.md, which reports others). */
static const struct setting {
    const char *stage;
    double rate, decay, jitter, divergence, contrast;
} settings[PML_LABEL_MODELS] = {
    [PML_LABEL_LINEAR] = {"binary relevance", 3e-3, 0.0, 0.5, 0.0, 0.0},
    [PML_LABEL_PERCEPTRON] = {"perceptron", 1e-3, 0.01, 0.7, 0.0, 0.0},
    [PML_LABEL_MIXTURE] = {"C-GMVAE", 1e-3, 0.01, 0.7, 0.05, 0.3},
};

/* The rows of a set: quantised, of length 1 (units), and as networks like them (scaled). */
struct side {
    struct pml_rows rows;
    struct pml_matrix units, scaled;
    uint8_t *marks;
};

struct job {
    const struct pml_label_options *options;
    struct side train, validation, test;
    size_t labels;
    struct pml_label_result *result;
    struct pml_message *message;
};

/* ---- rows ---- */

static bool has_labels(const struct side *side, size_t labels)
{
    return memchr(side->marks, 1, side->rows.count * labels) != NULL;
}

static pml_outcome make_side(struct job *job, const struct pml_label_set *set, struct side *side)
{
    const size_t labels = job->labels;
    pml_outcome outcome = pml_train_rows(&set->rows, 0, job->options->threads, &side->rows, job->message);
    if (outcome != PML_DONE)
        return outcome;
    side->marks = malloc(set->rows.count * labels);
    if (!side->marks || pml_scatter_units(&side->rows, &side->units) != PML_DONE ||
        pml_matrix_allocate(&side->scaled, side->units.rows, side->units.columns) != PML_DONE)
        return pml_say_memory(job->message);
    for (size_t i = 0; i < set->rows.count; i++)
        memcpy(side->marks + i * labels, set->marks->values + set->rows.indices[i] * labels, labels);
    if (has_labels(side, labels))
        return PML_DONE;
    return pml_say(job->message, "no row %s has a label: give ones for labels that rows have, or more rows.",
                   side == &job->train        ? "to train with"
                   : side == &job->validation ? "to validate with"
                                              : "to test with");
}

static void free_side(struct side *side)
{
    pml_rows_free(&side->rows);
    pml_matrix_free(&side->units);
    pml_matrix_free(&side->scaled);
    free(side->marks);
}

static void scale(struct side *side, const double *mean, double factor)
{
    for (size_t i = 0; i < side->scaled.rows; i++)
        for (size_t j = 0; j < side->scaled.columns; j++)
            pml_matrix_row(&side->scaled, i)[j] = factor * (pml_matrix_row(&side->units, i)[j] - mean[j]);
}

/* Around the mean of the training rows, with a mean variance of 1. */
static pml_outcome scale_all(struct job *job)
{
    const struct pml_matrix *units = &job->train.units;
    double *mean = malloc(units->columns * sizeof *mean), squares = 0.0;
    if (!mean)
        return pml_say_memory(job->message);
    memcpy(job->train.scaled.values, units->values, units->rows * units->columns * sizeof(double));
    pml_scatter_centre(&job->train.scaled, mean);
    for (size_t i = 0; i < units->rows * units->columns; i++)
        squares += job->train.scaled.values[i] * job->train.scaled.values[i];
    const double variance = squares / (double)(units->rows * units->columns);
    if (variance > 1e-12) {
        scale(&job->train, mean, 1.0 / sqrt(variance));
        scale(&job->validation, mean, 1.0 / sqrt(variance));
        scale(&job->test, mean, 1.0 / sqrt(variance));
    }
    free(mean);
    return variance > 1e-12 ? PML_DONE : pml_say(job->message, "all rows are equal: give rows that vary.");
}

/* ---- ways ---- */

/* Trains a network, and measures it. */
static pml_outcome fit_network(struct job *job, struct pml_network *network, pml_label_way way, struct pml_fit *fit)
{
    const struct setting *setting = &settings[network->model];
    const struct pml_progress *asked = job->options->progress;
    const struct pml_progress progress = {asked ? asked->report : NULL, asked ? asked->context : NULL, setting->stage};
    const struct pml_fit_options options = {.seed = job->options->seed,
                                            .epochs = job->options->epochs > 0 ? job->options->epochs : EPOCHS,
                                            .rate = setting->rate,
                                            .decay = setting->decay,
                                            .jitter = setting->jitter,
                                            .progress = &progress};
    const struct pml_label_part train = {job->train.scaled, job->train.marks};
    const struct pml_label_part validation = {job->validation.scaled, job->validation.marks};
    struct pml_matrix scores = {0};
    network->inputs = train.rows.columns;
    network->labels = job->labels;
    network->hidden = HIDDEN;
    network->latent = LATENT;
    network->divergence = setting->divergence;
    network->contrast = setting->contrast;
    pml_outcome outcome = pml_label_fit(network, &train, &validation, &options, fit);
    if (outcome == PML_DONE)
        outcome = pml_label_score(network, &job->test.scaled, &scores);
    if (outcome == PML_DONE)
        job->result->ways[way] = pml_label_measure(&scores, job->test.marks, fit->threshold);
    pml_matrix_free(&scores);
    if (outcome == PML_REFUSED)
        pml_say(job->message, "training of %s did not converge: use another --seed.", setting->stage);
    return outcome == PML_NO_MEMORY ? pml_say_memory(job->message) : outcome;
}

static pml_outcome fit_baseline(struct job *job, pml_label_model model, pml_label_way way)
{
    struct pml_network network = {.model = model};
    struct pml_fit fit;
    const pml_outcome outcome = fit_network(job, &network, way, &fit);
    pml_network_free(&network);
    return outcome;
}

static pml_outcome let_neighbours_vote(struct job *job)
{
    const struct pml_label_part train = {job->train.units, job->train.marks};
    const struct pml_label_part validation = {job->validation.units, job->validation.marks};
    struct pml_label_votes votes;
    struct pml_matrix scores = {0};
    pml_outcome outcome = pml_label_votes_choose(&train, &validation, job->labels, &votes);
    if (outcome == PML_DONE)
        outcome = pml_label_votes_score(&train, &job->test.units, job->labels, votes.neighbours, &scores);
    if (outcome == PML_DONE) {
        job->result->neighbours = votes.neighbours;
        job->result->ways[PML_WAY_NEIGHBOURS] = pml_label_measure(&scores, job->test.marks, votes.threshold);
    }
    pml_matrix_free(&scores);
    return outcome == PML_DONE ? outcome : pml_say_memory(job->message);
}

/* A head that repeats the network. */
static pml_outcome distil(struct job *job, const struct pml_network *network)
{
    const struct pml_label_part train = {job->train.units, job->train.marks};
    const struct pml_label_part validation = {job->validation.units, job->validation.marks};
    struct pml_matrix taught = {0}, scores = {0};
    struct pml_front_bytes file = {0};
    pml_front head;
    pml_outcome outcome = pml_label_score(network, &job->train.scaled, &taught);
    if (outcome == PML_DONE)
        outcome = pml_label_head_make(&train, &taught, &validation, &file, job->message);
    if (outcome == PML_DONE && pml_front_open(&head, file.bytes, file.size) == PML_OK)
        outcome = pml_label_head_score(&head, &job->test.rows, &scores);
    if (outcome == PML_DONE)
        job->result->head = pml_label_measure(&scores, job->test.marks, 0.0);
    job->result->bytes = file.bytes;
    job->result->size = file.size;
    pml_matrix_free(&taught);
    pml_matrix_free(&scores);
    return outcome == PML_NO_MEMORY ? pml_say_memory(job->message) : outcome;
}

static pml_outcome fit_mixture(struct job *job)
{
    struct pml_network network = {.model = PML_LABEL_MIXTURE};
    struct pml_fit fit;
    pml_outcome outcome = fit_network(job, &network, PML_WAY_CGMVAE, &fit);
    if (outcome == PML_DONE) {
        job->result->epochs = fit.epochs;
        job->result->best = fit.best;
        job->result->first = fit.first;
        job->result->last = fit.last;
        outcome = distil(job, &network);
    }
    pml_network_free(&network);
    return outcome;
}

/* ---- all of it ---- */

static pml_outcome check(const struct pml_label_set *train, const struct pml_label_set *other,
                         struct pml_message *message)
{
    if (other->rows.features[0]->columns != train->rows.features[0]->columns)
        return pml_say(message,
                       "rows to measure with have %zu features, but those to train with have %zu: use features of the "
                       "same model.",
                       other->rows.features[0]->columns, train->rows.features[0]->columns);
    if (other->marks->columns != train->marks->columns)
        return pml_say(message,
                       "rows to measure with have %zu labels, but those to train with have %zu: give the same labels.",
                       other->marks->columns, train->marks->columns);
    return PML_DONE;
}

pml_outcome pml_label_train(const struct pml_label_options *options, const struct pml_label_set *train,
                            const struct pml_label_set *validation, const struct pml_label_set *test,
                            struct pml_label_result *result, struct pml_message *message)
{
    struct job job = {.options = options, .labels = train->marks->columns, .result = result, .message = message};
    *result = (struct pml_label_result){0};
    if (train->rows.count < PML_LABEL_ROWS_MIN)
        return pml_say(message, "there are %zu rows to train with: give at least %u.", train->rows.count,
                       PML_LABEL_ROWS_MIN);
    pml_outcome outcome = check(train, validation, message);
    if (outcome == PML_DONE)
        outcome = check(train, test, message);
    if (outcome == PML_DONE)
        outcome = make_side(&job, train, &job.train);
    if (outcome == PML_DONE)
        outcome = make_side(&job, validation, &job.validation);
    if (outcome == PML_DONE)
        outcome = make_side(&job, test, &job.test);
    if (outcome == PML_DONE)
        outcome = scale_all(&job);
    if (outcome == PML_DONE)
        outcome = let_neighbours_vote(&job);
    if (outcome == PML_DONE)
        outcome = fit_baseline(&job, PML_LABEL_LINEAR, PML_WAY_LINEAR);
    if (outcome == PML_DONE)
        outcome = fit_baseline(&job, PML_LABEL_PERCEPTRON, PML_WAY_PERCEPTRON);
    if (outcome == PML_DONE)
        outcome = fit_mixture(&job);
    free_side(&job.train);
    free_side(&job.validation);
    free_side(&job.test);
    if (outcome != PML_DONE)
        pml_label_result_free(result);
    return outcome;
}

#else

pml_outcome pml_label_train(const struct pml_label_options *options, const struct pml_label_set *train,
                            const struct pml_label_set *validation, const struct pml_label_set *test,
                            struct pml_label_result *result, struct pml_message *message)
{
    (void)options, (void)train, (void)validation, (void)test;
    *result = (struct pml_label_result){0};
    return pml_say(message, "there is no LAPACKE here, which cgmvae needs: install liblapacke-dev and "
                            "libopenblas-dev and build again.");
}

#endif

void pml_label_result_free(struct pml_label_result *result)
{
    free(result->bytes);
    *result = (struct pml_label_result){0};
}
