/* SPDX-License-Identifier: Apache-2.0
 * Sammon's map (1969) by majorisation (de Leeuw 1977): every step minimises a bound that touches the stress at the present
 * places and lies above it elsewhere, so the stress never rises. The bound is a quadratic form; a few steps of conjugate
 * gradients from the present places lower it, and that is enough. */
#include "map_distances.h"
#include "map_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 200u
#define SETTLED 1e-6 /* of the stress, per step */
#define INNER 2      /* steps of conjugate gradients */
#define PIECE 32u    /* rows */

/* With weights w = 1/δ the bound's matrix is V = diag(Σw) − w. Equal rows have no weight: nothing keeps them apart. */
struct sammon {
    size_t count;
    unsigned threads;
    float *weights; /* count × count: 1/δ, 0 for equal rows */
    double *total;  /* per row Σw */
    double *parts;  /* per row its share of the stress */
    const double *in;
    double *out;   /* V·in */
    double *pull;  /* per row 2: B(places)·places; NULL when only V·in is wanted */
    double length; /* Σδ over pairs */
};

static void multiply_row(struct sammon *sammon, size_t i)
{
    const size_t n = sammon->count;
    const float *weights = sammon->weights + i * n;
    const double *in = sammon->in;
    double x[2] = {0}, y[2] = {0};
    for (size_t j = 0; j < n; j++) {
        x[j % 2] += (double)weights[j] * in[2 * j];
        y[j % 2] += (double)weights[j] * in[2 * j + 1];
    }
    sammon->out[2 * i] = sammon->total[i] * in[2 * i] - (x[0] + x[1]);
    sammon->out[2 * i + 1] = sammon->total[i] * in[2 * i + 1] - (y[0] + y[1]);
}

static void pull_row(struct sammon *sammon, size_t i)
{
    const size_t n = sammon->count;
    const float *weights = sammon->weights + i * n;
    const double *in = sammon->in;
    double x = 0.0, y = 0.0, stress = 0.0;
    for (size_t j = 0; j < n; j++) {
        if (!(weights[j] > 0.0f))
            continue;
        const double dx = in[2 * i] - in[2 * j], dy = in[2 * i + 1] - in[2 * j + 1], distance = sqrt(dx * dx + dy * dy);
        const double wanted = 1.0 / (double)weights[j], gap = wanted - distance;
        const double factor = distance > 0.0 ? 1.0 / distance : 0.0;
        stress += gap * gap * (double)weights[j];
        x += factor * dx;
        y += factor * dy;
    }
    sammon->pull[2 * i] = x;
    sammon->pull[2 * i + 1] = y;
    sammon->parts[i] = stress;
}

static pml_outcome piece(void *context, size_t index)
{
    struct sammon *sammon = context;
    const size_t end = (index + 1) * PIECE < sammon->count ? (index + 1) * PIECE : sammon->count;
    for (size_t i = index * PIECE; i < end; i++) {
        multiply_row(sammon, i);
        if (sammon->pull)
            pull_row(sammon, i);
    }
    return PML_DONE;
}

static void multiply(struct sammon *sammon, const double *in, double *out, double *pull)
{
    sammon->in = in;
    sammon->out = out;
    sammon->pull = pull;
    (void)pml_parallel(sammon->threads, (sammon->count + PIECE - 1) / PIECE, piece, sammon, NULL); /* never fails */
}

static double dot(const double *left, const double *right, size_t size)
{
    double sum = 0.0;
    for (size_t i = 0; i < size; i++)
        sum += left[i] * right[i];
    return sum;
}

/* Lowers the bound: V·x = pull, from the present places. `work` has room for 4 vectors; the first is V·places. */
static void lower(struct sammon *sammon, double *places, const double *pull, double *work)
{
    const size_t size = 2 * sammon->count;
    double *left = work, *image = work + size, *way = work + 2 * size, *eased = work + 3 * size, before = 0.0;
    for (size_t i = 0; i < size; i++)
        left[i] = pull[i] - left[i];
    for (int inner = 0; inner < INNER; inner++) {
        for (size_t i = 0; i < size; i++)
            eased[i] = sammon->total[i / 2] > 0.0 ? left[i] / sammon->total[i / 2] : 0.0;
        const double now = dot(left, eased, size);
        for (size_t i = 0; i < size; i++)
            way[i] = inner == 0 ? eased[i] : eased[i] + now / before * way[i];
        before = now;
        multiply(sammon, way, image, NULL);
        const double bend = dot(way, image, size);
        if (!(bend > 0.0))
            return;
        for (size_t i = 0; i < size; i++) {
            places[i] += now / bend * way[i];
            left[i] -= now / bend * image[i];
        }
    }
}

static void fill_weights(struct sammon *sammon, const struct pml_rows *rows, int32_t *dots, double *squares)
{
    const size_t n = sammon->count;
    for (size_t i = 0; i < n; i++) {
        pml_map_squares(rows, i, dots, squares);
        sammon->total[i] = 0.0;
        for (size_t j = 0; j < n; j++) {
            const float weight = squares[j] > 0.0 && i != j ? (float)(1.0 / sqrt(squares[j])) : 0.0f;
            sammon->weights[i * n + j] = weight;
            sammon->total[i] += (double)weight;
            sammon->length += weight > 0.0f ? 0.5 / (double)weight : 0.0;
        }
    }
}

static void descend(const struct pml_map_job *job, struct sammon *sammon, double *pull, double *work)
{
    const size_t most = job->options->iterations > 0 ? job->options->iterations : STEPS;
    struct pml_map_result *result = job->result;
    struct pml_progress told;
    const struct pml_progress *progress = pml_map_stage(job->options, "arranging", &told);
    for (result->steps = 0; result->steps <= most;) {
        double stress = 0.0;
        multiply(sammon, job->places, work, pull);
        for (size_t i = 0; i < sammon->count; i++)
            stress += sammon->parts[i];
        result->cost = sammon->length > 0.0 ? 0.5 * stress / sammon->length : 0.0;
        result->costs[result->steps++] = result->cost;
        pml_progress_tell(progress, (double)result->steps / (double)(most + 1));
        if (result->steps > 10 && result->costs[result->steps - 2] - result->cost <= SETTLED * result->cost)
            return;
        if (result->steps <= most)
            lower(sammon, job->places, pull, work);
    }
}

pml_outcome pml_map_sammon(const struct pml_map_job *job, struct pml_message *message)
{
    const size_t n = job->rows->count, most = job->options->iterations > 0 ? job->options->iterations : STEPS;
    struct sammon sammon = {.count = n, .threads = job->options->threads};
    int32_t *dots = malloc(n * sizeof *dots);
    double *work = malloc(8 * n * sizeof *work), *pull = malloc(2 * n * sizeof *pull);
    sammon.weights = pml_map_square_matrix(n);
    sammon.total = malloc(n * sizeof *sammon.total);
    sammon.parts = malloc(n * sizeof *sammon.parts);
    job->result->costs = malloc((most + 1) * sizeof *job->result->costs);
    pml_outcome outcome = dots && work && pull && sammon.weights && sammon.total && sammon.parts && job->result->costs
                              ? pml_map_pca(job, message)
                              : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        fill_weights(&sammon, job->rows, dots, work);
        descend(job, &sammon, pull, work);
    }
    free(dots);
    free(work);
    free(pull);
    free(sammon.weights);
    free(sammon.total);
    free(sammon.parts);
    return outcome;
}
