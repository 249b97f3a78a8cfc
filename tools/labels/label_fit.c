/* SPDX-License-Identifier: Apache-2.0
 * Epochs: shuffle, learn batch after batch, look at the validation rows. */
#include "label_fit.h"

#include "label_measures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 128u  /* rows at most */
#define BATCHES 32u /* per epoch at least, where there are enough rows */
#define LEAST 16u
#define AVERAGE 0.005
#define PATIENCE 3u /* epochs without a gain until the rate is halved */
#define HALVINGS 3u /* then training stops */

/* ---- scores ---- */

static void score_all(const struct pml_network *network, struct pml_pass *pass, const struct pml_matrix *rows,
                      struct pml_matrix *scores)
{
    for (size_t first = 0; first < rows->rows; first += BATCH) {
        const size_t count = rows->rows - first < BATCH ? rows->rows - first : BATCH;
        pml_pass_resize(pass, count);
        memcpy(pass->rows.values, pml_matrix_row(rows, first), count * rows->columns * sizeof(double));
        pml_network_score(network, pass);
        memcpy(pml_matrix_row(scores, first), pass->scores.value.values, count * scores->columns * sizeof(double));
    }
}

pml_outcome pml_label_score(const struct pml_network *network, const struct pml_matrix *rows, struct pml_matrix *scores)
{
    struct pml_pass pass;
    const bool made = pml_pass_make(&pass, network, BATCH) == PML_DONE &&
                      pml_matrix_allocate(scores, rows->rows, network->labels) == PML_DONE;
    if (made)
        score_all(network, &pass, rows, scores);
    pml_pass_free(&pass);
    return made ? PML_DONE : PML_NO_MEMORY;
}

/* ---- the best so far ---- */

static size_t count_values(const struct pml_network *network)
{
    size_t count = 0;
    for (size_t i = 0; i < network->count; i++)
        count += (network->layers[i].weights.values.rows + 1) * network->layers[i].weights.values.columns;
    return count;
}

/* Calls `with` for all weights and biases, each with as many numbers of `other`. */
static void walk(struct pml_network *network, double *other, double share,
                 void (*with)(double *values, double *other, size_t count, double share))
{
    for (size_t i = 0; i < network->count; i++) {
        struct pml_matrix *parts[] = {&network->layers[i].weights.values, &network->layers[i].bias.values};
        for (size_t p = 0; p < 2; p++) {
            const size_t count = parts[p]->rows * parts[p]->columns;
            with(parts[p]->values, other, count, share);
            other += count;
        }
    }
}

static void restore(double *values, double *other, size_t count, double share)
{
    (void)share;
    memcpy(values, other, count * sizeof *values);
}

static void exchange(double *values, double *other, size_t count, double share)
{
    (void)share;
    for (size_t i = 0; i < count; i++) {
        const double moved = values[i];
        values[i] = other[i];
        other[i] = moved;
    }
}

static void approach(double *values, double *other, size_t count, double share)
{
    for (size_t i = 0; i < count; i++)
        other[i] += share * (values[i] - other[i]);
}

/* ---- training ---- */

struct job {
    struct pml_network *network;
    const struct pml_label_part *train, *validation;
    const struct pml_fit_options *options;
    struct pml_generator generator;
    struct pml_pass pass;
    struct pml_matrix scores; /* of the validation rows */
    struct pml_adam adam;
    uint32_t *order;
    double *average; /* of the last steps: less noisy than any one of them, and what is measured and kept */
    double *kept;
};

/* Scores begin at the logarithm of the odds of their labels: the first epochs need not learn how rare they are. */
static void begin_scores(struct job *job)
{
    const size_t rows = job->train->rows.rows, labels = job->network->labels;
    double *bias = job->network->layers[PML_LAYER_SCORE].bias.values.values;
    for (size_t c = 0; c < labels; c++) {
        size_t with = 0;
        for (size_t i = 0; i < rows; i++)
            with += job->train->marks[i * labels + c];
        bias[c] = log(((double)with + 0.5) / ((double)(rows - with) + 0.5));
    }
}

static void shuffle(struct job *job)
{
    for (size_t i = job->train->rows.rows; i > 1; i--) {
        const size_t other = (size_t)pml_generator_below(&job->generator, i);
        const uint32_t moved = job->order[i - 1];
        job->order[i - 1] = job->order[other];
        job->order[other] = moved;
    }
}

static void add_noise(struct job *job, struct pml_matrix *matrix, double deviation)
{
    for (size_t i = 0; i < matrix->rows * matrix->columns; i++)
        matrix->values[i] += deviation * pml_generator_normal(&job->generator, 4096) / 4096.0;
}

/* Every row is mixed with another one, and so are its labels, and noise is added: networks that see no row twice do not
 * learn rows by heart. */
static void fill_batch(struct job *job, size_t first, size_t count)
{
    const struct pml_matrix *rows = &job->train->rows;
    const size_t labels = job->network->labels;
    struct pml_pass *pass = &job->pass;
    pml_pass_resize(pass, count);
    for (size_t i = 0; i < count; i++) {
        const size_t row = job->order[first + i], other = job->order[(first + i + 1) % rows->rows];
        const double share = 0.5 + 0.5 * (double)(pml_generator_next(&job->generator) >> 11) * 0x1p-53;
        for (size_t j = 0; j < rows->columns; j++)
            pml_matrix_row(&pass->rows, i)[j] =
                share * pml_matrix_row(rows, row)[j] + (1.0 - share) * pml_matrix_row(rows, other)[j];
        for (size_t c = 0; c < labels; c++)
            pml_matrix_row(&pass->marks, i)[c] =
                share * job->train->marks[row * labels + c] + (1.0 - share) * job->train->marks[other * labels + c];
    }
    add_noise(job, &pass->rows, job->options->jitter);
    memset(pass->noise.values, 0, count * pass->noise.columns * sizeof(double));
    add_noise(job, &pass->noise, 1.0);
}

/* Returns the mean loss. */
static double run_epoch(struct job *job)
{
    const size_t rows = job->train->rows.rows, part = rows / BATCHES;
    const size_t batch = part < LEAST ? LEAST : part < BATCH ? part : BATCH;
    double loss = 0.0;
    shuffle(job);
    for (size_t first = 0; first < rows; first += batch) {
        const size_t count = rows - first < batch ? rows - first : batch;
        fill_batch(job, first, count);
        const struct pml_losses losses = pml_network_learn(job->network, &job->pass);
        loss += (double)count * (losses.entropy + job->network->contrast * losses.contrast +
                                 job->network->divergence * losses.divergence);
        pml_adam_step(&job->adam, job->network->layers, job->network->count);
        walk(job->network, job->average, fmax(AVERAGE, 1.0 / (double)job->adam.steps), approach);
    }
    return loss / (double)rows;
}

/* Looks at the validation rows, and keeps the network if it was never better. */
static pml_outcome look(struct job *job, size_t epoch, struct pml_fit *fit)
{
    double threshold, micro_f1;
    walk(job->network, job->average, 0.0, exchange);
    score_all(job->network, &job->pass, &job->validation->rows, &job->scores);
    walk(job->network, job->average, 0.0, exchange);
    if (pml_label_threshold(&job->scores, job->validation->marks, &threshold, &micro_f1) != PML_DONE)
        return PML_NO_MEMORY;
    if (fit->best == 0 || micro_f1 > fit->micro_f1) {
        fit->best = epoch;
        fit->threshold = threshold;
        fit->micro_f1 = micro_f1;
        memcpy(job->kept, job->average, count_values(job->network) * sizeof *job->kept);
    }
    return PML_DONE;
}

static pml_outcome run(struct job *job, struct pml_fit *fit)
{
    unsigned halvings = 0;
    size_t since = 0; /* the epoch of the last gain or halving */
    pml_outcome outcome = PML_DONE;
    for (size_t epoch = 1; epoch <= job->options->epochs && outcome == PML_DONE && halvings <= HALVINGS; epoch++) {
        fit->last = run_epoch(job);
        fit->first = epoch == 1 ? fit->last : fit->first;
        fit->epochs = epoch;
        outcome = isfinite(fit->last) ? look(job, epoch, fit) : PML_REFUSED;
        since = fit->best == epoch ? epoch : since;
        if (epoch - since >= PATIENCE) {
            job->adam.rate *= 0.5;
            halvings++;
            since = epoch;
        }
        pml_progress_tell(job->options->progress, (double)epoch / (double)job->options->epochs);
    }
    if (fit->best > 0)
        walk(job->network, job->kept, 0.0, restore);
    return outcome;
}

pml_outcome pml_label_fit(struct pml_network *network, const struct pml_label_part *train,
                          const struct pml_label_part *validation, const struct pml_fit_options *options,
                          struct pml_fit *fit)
{
    struct job job = {.network = network,
                      .train = train,
                      .validation = validation,
                      .options = options,
                      .generator = pml_generator_start(options->seed, PML_STREAM_LABELS),
                      .adam = {options->rate, options->decay, 0}};
    pml_outcome outcome = PML_NO_MEMORY;
    *fit = (struct pml_fit){0};
    job.order = malloc(train->rows.rows * sizeof *job.order);
    for (size_t i = 0; job.order && i < train->rows.rows; i++)
        job.order[i] = (uint32_t)i;
    if (job.order && pml_network_make(network, &job.generator) == PML_DONE &&
        pml_pass_make(&job.pass, network, BATCH) == PML_DONE &&
        pml_matrix_allocate(&job.scores, validation->rows.rows, network->labels) == PML_DONE)
        job.kept = malloc(count_values(network) * sizeof *job.kept);
    if (job.kept)
        job.average = malloc(count_values(network) * sizeof *job.average);
    if (job.average) {
        begin_scores(&job);
        outcome = run(&job, fit);
    }
    pml_pass_free(&job.pass);
    pml_matrix_free(&job.scores);
    free(job.order);
    free(job.average);
    free(job.kept);
    return outcome;
}
