/* SPDX-License-Identifier: Apache-2.0
 * Kernels around centres, and the width that finds most on rows that were held out. */
#include "train_kernels.h"

#include "scatter.h"
#include "tools/algebra/algebra.h"
#include "train_measure.h"

#include "common/generator.h"
#include "common/rows/kmeans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE 500u /* rows whose distances the median is of */
#define ROUNDS 3u   /* of holding out */

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static pml_outcome median_distance(const struct pml_rows *rows, uint64_t seed, double *median)
{
    uint32_t chosen[SAMPLE];
    const size_t count = pml_rows_sample(rows->count, SAMPLE, seed, chosen);
    double *squares = malloc((count * count / 2 + 1) * sizeof *squares);
    size_t pairs = 0;
    if (!squares)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            const size_t a = chosen[i], b = chosen[j];
            const double dot =
                pml_dot(rows->values + a * rows->columns, rows->values + b * rows->columns, rows->columns);
            squares[pairs++] = fmax(0.0, 2.0 - 2.0 * dot * (rows->inverse[a] * 0x1p-30) * (rows->inverse[b] * 0x1p-30));
        }
    qsort(squares, pairs, sizeof *squares, ascending);
    *median = pairs > 0 ? sqrt(squares[pairs / 2]) : 0.0;
    free(squares);
    return PML_DONE;
}

/* What a row's features vary by once the row has length 1: its variance, or the mean of its variances, over its squared
 * length. A centre stands for a row of its cluster drawn at random. */
static pml_outcome fill_variances(const struct pml_train_set *set, const uint32_t *clusters,
                                  struct pml_kernel_side *side)
{
    const struct pml_features *given = set->uncertainty, *features = set->features[0];
    const size_t centres = side->centres.count;
    double *sizes = calloc(centres, sizeof *sizes);
    side->variances = calloc(centres, sizeof *side->variances);
    if (!sizes || !side->variances) {
        free(sizes);
        return PML_NO_MEMORY;
    }
    for (size_t i = 0; given && i < set->count; i++) {
        const float *row = features->values + (size_t)set->indices[i] * features->columns;
        const float *own = given->values + (size_t)set->indices[i] * given->columns;
        double square = 0.0, sum = 0.0;
        for (size_t j = 0; j < features->columns; j++)
            square += (double)row[j] * row[j];
        for (size_t j = 0; j < given->columns; j++)
            sum += own[j];
        const double variance = sum / (double)given->columns / square;
        side->variance += variance / (double)set->count;
        side->variances[clusters[i]] += variance;
        sizes[clusters[i]] += 1.0;
    }
    for (size_t c = 0; given && c < centres; c++) /* a centre without rows repeats another */
        side->variances[c] = sizes[c] > 0.0 ? side->variances[c] / sizes[c] : side->variance;
    free(sizes);
    return PML_DONE;
}

static pml_outcome start(const struct pml_train_job *job, size_t modality, struct pml_kernel_side *side,
                         struct pml_message *message)
{
    const struct pml_rows *rows = &job->rows[modality];
    const size_t centres = job->options->centres;
    struct pml_generator generator = pml_generator_start(job->options->seed, PML_STREAM_FRONT);
    const uint64_t seed = pml_generator_next(&generator) + modality;
    struct pml_kmeans means = {0};
    pml_outcome outcome = pml_rows_allocate(&side->centres, centres, rows->columns);
    means.clusters = malloc(rows->count * sizeof *means.clusters);
    means.centres = side->centres.values;
    if (outcome != PML_DONE || !means.clusters)
        outcome = PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_kmeans(rows, centres, seed, job->options->threads, job->options->progress, &means);
    if (outcome == PML_DONE)
        outcome = fill_variances(job->set, means.clusters, side);
    free(means.clusters);
    for (size_t c = 0; outcome == PML_DONE && c < centres; c++)
        pml_rows_measure(&side->centres, c);
    if (outcome == PML_DONE)
        outcome = pml_scatter_units(rows, &side->units);
    if (outcome == PML_DONE)
        outcome = pml_scatter_units(&side->centres, &side->places);
    if (outcome == PML_DONE)
        outcome = pml_matrix_allocate(&side->kernels, rows->count, centres);
    if (outcome == PML_DONE)
        outcome = median_distance(rows, seed, &side->median);
    if (outcome == PML_DONE && !(side->median > 0.0))
        outcome =
            pml_say(message, "most rows of a modality are equal, so that kernels have no width: give rows that vary.");
    return outcome == PML_NO_MEMORY ? pml_say_memory(message) : outcome;
}

pml_outcome pml_kernel_sides_start(const struct pml_train_job *job, struct pml_kernel_side *sides,
                                   struct pml_message *message)
{
    pml_outcome outcome = PML_DONE;
    memset(sides, 0, PML_TRAIN_MODALITIES * sizeof *sides);
    for (size_t v = 0; outcome == PML_DONE && v < job->set->modalities; v++)
        outcome = start(job, v, &sides[v], message);
    return outcome;
}

void pml_kernel_sides_free(struct pml_kernel_side *sides)
{
    for (struct pml_kernel_side *side = sides; side < sides + PML_TRAIN_MODALITIES; side++) {
        pml_matrix_free(&side->units);
        pml_matrix_free(&side->places);
        pml_matrix_free(&side->kernels);
        pml_rows_free(&side->centres);
        pml_edges_free(&side->own);
        pml_edges_free(&side->other);
        free(side->variances);
    }
}

/* The kernel of two distributions whose variances have this sum. λ is that of SPEC 5.5: |x − c|² = 2·(1 − cosine). */
static struct pml_front_kernel kernel_between(const struct pml_kernel_side *side, double variances)
{
    const double square = side->width * side->width, total = square + 2.0 * variances;
    const double mean = square + 4.0 * side->variance;
    return (struct pml_front_kernel){2.0 / total, pow(mean / total, 0.5 * (double)side->places.columns)};
}

void pml_kernel_side_widen(struct pml_kernel_side *side, double width)
{
    struct pml_matrix *kernels = &side->kernels;
    side->width = width;
    pml_multiply(&side->units, PML_PLAIN, &side->places, PML_TURNED, 1.0, 0.0, kernels);
    for (size_t c = 0; c < kernels->columns; c++) {
        const struct pml_front_kernel kernel = kernel_between(side, side->variance + side->variances[c]);
        for (size_t i = 0; i < kernels->rows; i++) {
            double *value = pml_matrix_row(kernels, i) + c;
            *value = kernel.amplitude * exp(-kernel.lambda * (1.0 - *value));
        }
    }
}

void pml_kernel_side_norm(const struct pml_kernel_side *side, struct pml_matrix *out)
{
    pml_multiply(&side->places, PML_PLAIN, &side->places, PML_TURNED, 1.0, 0.0, out);
    for (size_t i = 0; i < out->rows; i++)
        for (size_t c = 0; c < out->columns; c++) {
            const struct pml_front_kernel kernel = kernel_between(side, side->variances[i] + side->variances[c]);
            double *value = pml_matrix_row(out, i) + c;
            *value = kernel.amplitude * exp(-kernel.lambda * (1.0 - *value));
        }
}

pml_outcome pml_kernel_side_put(const struct pml_train_job *job, size_t modality, const struct pml_kernel_side *side,
                                const struct pml_matrix *coefficients, const double *offset,
                                struct pml_train_result *result, struct pml_message *message)
{
    struct pml_front_bytes file = {0};
    struct pml_front_kernel *kernels = malloc(side->centres.count * sizeof *kernels);
    if (!kernels)
        return pml_say_memory(message);
    for (size_t c = 0; c < side->centres.count; c++)
        kernels[c] = kernel_between(side, side->variance + side->variances[c]);
    pml_outcome outcome =
        pml_front_bytes_kernels(&side->centres, kernels, coefficients, offset, job->set->root, &file, message);
    free(kernels);
    result->bytes[modality] = file.bytes;
    result->sizes[modality] = file.size;
    result->widths[modality] = side->width;
    result->uncertainty = side->variance;
    return outcome;
}

/* ---- the choice of a setting ---- */

static void tell(const struct pml_train_job *job, double done)
{
    struct pml_progress progress = job->options->progress ? *job->options->progress : (struct pml_progress){0};
    progress.stage = "choosing the width";
    pml_progress_tell(&progress, done);
}

static double worth(const struct pml_train_measures *measures)
{
    if (!isnan(measures->map_first))
        return measures->map_first + measures->map_second;
    return isnan(measures->precision) ? measures->kept : measures->precision;
}

static pml_outcome try_settings(const struct pml_train_job *part, const struct pml_train_set *held,
                                pml_kernel_fit_fn fit, size_t settings, double *found, struct pml_message *message)
{
    struct pml_kernel_side sides[PML_TRAIN_MODALITIES] = {0};
    pml_outcome outcome = pml_kernel_sides_start(part, sides, message);
    for (size_t i = 0; outcome == PML_DONE && i < settings; i++) {
        struct pml_train_result result = {0};
        struct pml_train_measures measures;
        tell(part, (double)i / (double)settings);
        outcome = fit(part, sides, i, &result, message);
        if (outcome == PML_DONE)
            outcome = pml_train_measure(&result, part->set, held, part->options->threads, &measures, message);
        if (outcome == PML_DONE)
            found[i] += worth(&measures);
        else if (outcome == PML_REFUSED) /* kernels that are singular, say: this setting finds nothing */
            outcome = PML_DONE;
        pml_train_free(&result);
    }
    pml_kernel_sides_free(sides);
    return outcome;
}

/* One third held out; `round` chooses which. Adds what each setting finds. */
static pml_outcome try_third(const struct pml_train_job *job, size_t round, pml_kernel_fit_fn fit, size_t settings,
                             double *found, struct pml_message *message)
{
    struct pml_train_set kept, held;
    struct pml_train_options options = *job->options;
    struct pml_train_job part = {.options = &options, .set = &kept};
    uint32_t *indices = malloc((job->set->count + 1) * sizeof *indices);
    if (!indices)
        return pml_say_memory(message);
    pml_train_split(job->set, options.seed + 1 + round, indices, &kept, &held); /* + 1: not what --validate held out */
    options.centres = options.centres < kept.count ? options.centres : kept.count;
    pml_outcome outcome = PML_DONE;
    for (size_t v = 0; outcome == PML_DONE && v < kept.modalities; v++)
        outcome = pml_train_rows(&kept, v, options.threads, &part.rows[v], message);
    if (outcome == PML_DONE)
        outcome = try_settings(&part, &held, fit, settings, found, message);
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
        pml_rows_free(&part.rows[v]);
    free(indices);
    return outcome;
}

static pml_outcome choose(const struct pml_train_job *job, pml_kernel_fit_fn fit, size_t settings, size_t *best,
                          struct pml_message *message)
{
    double found[PML_KERNEL_SETTINGS] = {0.0};
    pml_outcome outcome = PML_DONE;
    for (size_t round = 0; round < ROUNDS && outcome == PML_DONE; round++)
        outcome = try_third(job, round, fit, settings, found, message);
    for (size_t i = 0; outcome == PML_DONE && i < settings; i++)
        *best = found[i] > found[*best] ? i : *best;
    return outcome;
}

pml_outcome pml_kernel_train(const struct pml_train_job *job, pml_kernel_fit_fn fit, size_t settings,
                             struct pml_train_result *result, struct pml_message *message)
{
    struct pml_kernel_side sides[PML_TRAIN_MODALITIES] = {0};
    size_t best = settings - 1;
    pml_outcome outcome = choose(job, fit, settings, &best, message);
    if (outcome == PML_REFUSED) /* too few rows to hold some out; what is wrong with all of them shows below */
        outcome = PML_DONE;
    if (outcome == PML_DONE)
        outcome = pml_kernel_sides_start(job, sides, message);
    if (outcome == PML_DONE)
        outcome = fit(job, sides, best, result, message);
    pml_kernel_sides_free(sides);
    return outcome;
}
