/* SPDX-License-Identifier: Apache-2.0
 * SNE (Hinton and Roweis 2002) and symmetric SNE: like t-SNE, but with Gaussian affinities in the plane too. Far rows
 * hardly push each other, so nothing is taken together: every pair is computed. */
#include "map_affinity.h"
#include "map_methods.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 500u
#define EARLY 100u     /* steps with little momentum */
#define DEVIATION 1e-2 /* of the places to start from */
#define RATE 0.3f
#define STRIDE_MOST 0.5f
#define GAIN_LEAST 0.05f
#define GAIN_MOST 4.0f
#define PIECE 32u /* rows */

typedef float lanes __attribute__((vector_size(16)));
typedef int32_t whole_lanes __attribute__((vector_size(16)));
#define LANES 4u

struct sne {
    size_t count, padded;               /* the second: whole lanes */
    bool symmetric;                     /* one sum for all pairs instead of one per row */
    const struct pml_map_sparse *joint; /* times 2·count: p(j|i) + p(i|j) */
    float *x, *y;                       /* padded far away, where nothing is felt */
    float *inverse;                     /* per row 1/Σ_j e_ij */
    double *sums;                       /* per row Σ_j e_ij, j ≠ i */
    float *slopes, *speeds, *gains;     /* 2 per row */
    unsigned threads;
};

static inline lanes load(const float *from)
{
    lanes value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* e^−s for s ≥ 0 within 3·10^-6 of it, and 0 for nothing: below 2^-120 it stays there. */
static inline lanes fall(lanes s)
{
    lanes power = s * -1.44269504f;
    const whole_lanes low = power < -120.0f;
    power = (lanes)(((whole_lanes)power & ~low) | ((whole_lanes)((lanes){0.0f} - 120.0f) & low));
    const whole_lanes below =
        __builtin_convertvector(power - 0.5f, whole_lanes); /* rounds to the nearest, for power ≤ 0 */
    const lanes rest = (power - __builtin_convertvector(below, lanes)) * 0.693147181f;
    const lanes series =
        1.0f + rest * (1.0f + rest * (0.5f + rest * (0.166666667f + rest * (0.0416666667f + rest * 0.00833333333f))));
    return series * (lanes)((below + 127) << 23);
}

/* ---- sums ---- */

static pml_outcome sum_piece(void *context, size_t piece)
{
    struct sne *sne = context;
    const size_t end = (piece + 1) * PIECE < sne->count ? (piece + 1) * PIECE : sne->count;
    for (size_t i = piece * PIECE; i < end; i++) {
        lanes sum = {0.0f};
        for (size_t j = 0; j < sne->padded; j += LANES) {
            const lanes dx = load(sne->x + j) - sne->x[i], dy = load(sne->y + j) - sne->y[i];
            sum += fall(dx * dx + dy * dy);
        }
        const double all = ((double)sum[0] + (double)sum[1]) + ((double)sum[2] + (double)sum[3]);
        sne->sums[i] = fmax(all - 1.0, 1e-30); /* without itself */
    }
    return PML_DONE;
}

/* ---- slopes ---- */

static void push_row(const struct sne *sne, size_t i, float *slope)
{
    lanes push_x = {0.0f}, push_y = {0.0f};
    for (size_t j = 0; j < sne->padded; j += LANES) {
        const lanes dx = sne->x[i] - load(sne->x + j), dy = sne->y[i] - load(sne->y + j);
        const lanes weight = fall(dx * dx + dy * dy) * (load(sne->inverse + j) + sne->inverse[i]);
        push_x += weight * dx;
        push_y += weight * dy;
    }
    slope[0] = -((push_x[0] + push_x[1]) + (push_x[2] + push_x[3]));
    slope[1] = -((push_y[0] + push_y[1]) + (push_y[2] + push_y[3]));
}

static pml_outcome slope_piece(void *context, size_t piece)
{
    struct sne *sne = context;
    const struct pml_map_sparse *joint = sne->joint;
    const size_t end = (piece + 1) * PIECE < sne->count ? (piece + 1) * PIECE : sne->count;
    for (size_t i = piece * PIECE; i < end; i++) {
        float *slope = sne->slopes + 2 * i;
        push_row(sne, i, slope);
        for (size_t e = joint->starts[i]; e < joint->starts[i + 1]; e++) {
            slope[0] += joint->values[e] * (sne->x[i] - sne->x[joint->ends[e]]);
            slope[1] += joint->values[e] * (sne->y[i] - sne->y[joint->ends[e]]);
        }
    }
    return PML_DONE;
}

/* Sums of the rows, or their mean when it is one for all. Returns the cross entropy of the affinities and the places. */
static double find_sums(struct sne *sne)
{
    const size_t pieces = (sne->count + PIECE - 1) / PIECE;
    double mean = 0.0, crossed = 0.0;
    (void)pml_parallel(sne->threads, pieces, sum_piece, sne, NULL); /* no piece fails */
    for (size_t i = 0; i < sne->count; i++)
        mean += sne->sums[i] / (double)sne->count;
    for (size_t i = 0; i < sne->count; i++) {
        const double sum = sne->symmetric ? mean : sne->sums[i];
        sne->inverse[i] = (float)(1.0 / sum);
        crossed += log(sum);
        for (size_t e = sne->joint->starts[i]; e < sne->joint->starts[i + 1]; e++) {
            const double dx = (double)(sne->x[i] - sne->x[sne->joint->ends[e]]);
            const double dy = (double)(sne->y[i] - sne->y[sne->joint->ends[e]]);
            crossed += 0.5 * (double)sne->joint->values[e] * (dx * dx + dy * dy);
        }
    }
    return crossed / (double)sne->count;
}

static void step(struct sne *sne, float momentum)
{
    (void)pml_parallel(sne->threads, (sne->count + PIECE - 1) / PIECE, slope_piece, sne, NULL); /* no piece fails */
    for (size_t i = 0; i < 2 * sne->count; i++) {
        const float slope = sne->slopes[i], speed = sne->speeds[i];
        const float gain = slope * speed < 0.0f ? sne->gains[i] + 0.2f : sne->gains[i] * 0.8f;
        sne->gains[i] = gain < GAIN_LEAST ? GAIN_LEAST : gain > GAIN_MOST ? GAIN_MOST : gain;
        const float next = momentum * speed - RATE * sne->gains[i] * slope;
        sne->speeds[i] = next > STRIDE_MOST ? STRIDE_MOST : next < -STRIDE_MOST ? -STRIDE_MOST : next;
        (i % 2 == 0 ? sne->x : sne->y)[i / 2] += sne->speeds[i];
    }
}

/* ---- all of it ---- */

static void descend(const struct pml_map_job *job, struct sne *sne)
{
    const size_t steps = job->options->iterations > 0 ? job->options->iterations : STEPS;
    struct pml_progress told;
    const struct pml_progress *progress = pml_map_stage(job->options, "arranging", &told);
    for (size_t i = 0; i < sne->padded; i++) {
        sne->x[i] = i < sne->count ? (float)job->places[2 * i] : 1e6f;
        sne->y[i] = i < sne->count ? (float)job->places[2 * i + 1] : 1e6f;
    }
    for (size_t i = 0; i < 2 * sne->count; i++)
        sne->gains[i] = 1.0f;
    for (size_t at = 0; at < steps; at++) {
        find_sums(sne);
        step(sne, at < EARLY ? 0.5f : 0.8f);
        pml_progress_tell(progress, (double)(at + 1) / (double)steps);
    }
    job->result->cost = find_sums(sne) - log(job->options->perplexity);
    for (size_t i = 0; i < sne->count; i++) {
        job->places[2 * i] = (double)sne->x[i];
        job->places[2 * i + 1] = (double)sne->y[i];
    }
}

static pml_outcome run(const struct pml_map_job *job, bool symmetric)
{
    const size_t n = job->rows->count, padded = (n + LANES - 1) / LANES * LANES;
    struct pml_map_sparse joint = {0};
    struct sne sne = {.count = n, .padded = padded, .symmetric = symmetric, .joint = &joint};
    float *floats = calloc(3 * padded + 6 * n, sizeof *floats);
    sne.threads = job->options->threads;
    sne.sums = malloc(n * sizeof *sne.sums);
    pml_outcome outcome = floats && sne.sums
                              ? pml_map_joint(job->rows, job->options->perplexity, sne.threads, NULL, &joint)
                              : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_map_start(job, DEVIATION);
    if (outcome == PML_DONE) {
        for (size_t e = 0; e < joint.starts[n]; e++)
            joint.values[e] *= 2.0f * (float)n;
        sne.x = floats;
        sne.y = floats + padded;
        sne.inverse = floats + 2 * padded;
        sne.slopes = floats + 3 * padded;
        sne.speeds = sne.slopes + 2 * n;
        sne.gains = sne.speeds + 2 * n;
        descend(job, &sne);
    }
    free(floats);
    free(sne.sums);
    pml_map_sparse_free(&joint);
    return outcome;
}

pml_outcome pml_map_sne(const struct pml_map_job *job, struct pml_message *message)
{
    (void)message;
    return run(job, false);
}

pml_outcome pml_map_ssne(const struct pml_map_job *job, struct pml_message *message)
{
    (void)message;
    return run(job, true);
}
