/* SPDX-License-Identifier: Apache-2.0
 * t-SNE's descent (van der Maaten and Hinton 2008; the tree: van der Maaten 2014). At first affinities are exaggerated, so
 * that clusters find together. The rate of learning grows with the rows (Belkina et al. 2019). */
#include "map_descent.h"
#include "map_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THETA 0.5f
#define EXAGGERATION 12.0f
#define EARLY 250u /* steps with exaggeration */
#define LATE 500u
#define GAIN_LEAST 0.01f
#define STRIDE_MOST 5.0f /* of a point in a step */
#define FLAT 1e-6        /* deviation of an axis that is lost; t-SNE starts with 1e-4 */
#define PIECE 32u        /* groups that a thread takes at a time */
#define PIECE_ROWS (PIECE * PML_MAP_GROUP)
#define PAD 4u /* entries of a row come in fours */

struct flow {
    size_t count;
    uint32_t *names; /* what the rows are called outside: they are kept along the curve, near ones near in memory */
    size_t *starts;  /* of the entries of each row; a row is filled up with itself, at no weight */
    uint32_t *ends;
    float *values;
    float *places, *speeds, *gains, *pull, *push; /* 2 per row */
    double *sums;                                 /* per piece */
    struct pml_map_tree tree;
};

/* ---- memory ---- */

static void flow_free(struct flow *flow)
{
    void *all[] = {flow->names,  flow->starts, flow->ends, flow->values, flow->places,
                   flow->speeds, flow->gains,  flow->pull, flow->push,   flow->sums};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    pml_map_tree_free(&flow->tree);
}

static pml_outcome flow_allocate(struct flow *flow, const struct pml_map_sparse *joint)
{
    const size_t n = joint->count, entries = joint->starts[n] + PAD * n;
    *flow = (struct flow){.count = n,
                          .names = malloc(n * sizeof *flow->names),
                          .starts = malloc((n + 1) * sizeof *flow->starts),
                          .ends = malloc(entries * sizeof *flow->ends),
                          .values = malloc(entries * sizeof *flow->values),
                          .places = malloc(2 * n * sizeof *flow->places),
                          .speeds = calloc(2 * n, sizeof *flow->speeds),
                          .gains = malloc(2 * n * sizeof *flow->gains),
                          .pull = malloc(2 * n * sizeof *flow->pull),
                          .push = malloc(2 * n * sizeof *flow->push),
                          .sums = calloc(n / PIECE_ROWS + 1, sizeof *flow->sums)};
    return flow->names && flow->starts && flow->ends && flow->values && flow->places && flow->speeds && flow->gains &&
                   flow->pull && flow->push && flow->sums
               ? pml_map_tree_allocate(&flow->tree, n, THETA)
               : PML_NO_MEMORY;
}

/* ---- order ---- */

/* Entries of all rows, as the rows are named now. `where` is the inverse of the names. */
static void fill_entries(struct flow *flow, const struct pml_map_sparse *joint, const uint32_t *where)
{
    size_t at = 0;
    for (size_t i = 0; i < flow->count; i++) {
        const size_t name = flow->names[i];
        flow->starts[i] = at;
        for (size_t e = joint->starts[name]; e < joint->starts[name + 1]; e++, at++) {
            flow->ends[at] = where[joint->ends[e]];
            flow->values[at] = joint->values[e];
        }
        for (; at % PAD != 0; at++) {
            flow->ends[at] = (uint32_t)i;
            flow->values[at] = 0.0f;
        }
    }
    flow->starts[flow->count] = at;
}

static void move_pairs(float *pairs, const uint32_t *order, size_t count, float *scratch)
{
    for (size_t i = 0; i < count; i++)
        memcpy(scratch + 2 * i, pairs + 2 * (size_t)order[i], 2 * sizeof *pairs);
    memcpy(pairs, scratch, 2 * count * sizeof *pairs);
}

/* Puts the rows into the order of the curve as it is now. */
static void reorder(struct flow *flow, const struct pml_map_sparse *joint)
{
    struct pml_map_tree *tree = &flow->tree;
    pml_map_tree_fill(tree, flow->places);
    move_pairs(flow->places, tree->order, flow->count, flow->push);
    move_pairs(flow->speeds, tree->order, flow->count, flow->push);
    move_pairs(flow->gains, tree->order, flow->count, flow->push);
    uint32_t *where = tree->scratch;
    for (size_t i = 0; i < flow->count; i++)
        where[i] = flow->names[tree->order[i]];
    memcpy(flow->names, where, flow->count * sizeof *where);
    for (size_t i = 0; i < flow->count; i++)
        where[flow->names[i]] = (uint32_t)i;
    fill_entries(flow, joint, where);
}

/* ---- forces ---- */

typedef float lanes __attribute__((vector_size(16)));

/* pull[2i …] = Σ_j p_ij·q_ij·(y_i − y_j) */
static void pull_row(const struct flow *flow, size_t row)
{
    const float *places = flow->places;
    const float x = places[2 * row], y = places[2 * row + 1];
    const lanes one = {1.0f, 1.0f, 1.0f, 1.0f};
    lanes pull_x = {0.0f}, pull_y = {0.0f};
    for (size_t e = flow->starts[row]; e < flow->starts[row + 1]; e += PAD) {
        const float *a = places + 2 * (size_t)flow->ends[e], *b = places + 2 * (size_t)flow->ends[e + 1];
        const float *c = places + 2 * (size_t)flow->ends[e + 2], *d = places + 2 * (size_t)flow->ends[e + 3];
        const lanes dx = x - (lanes){a[0], b[0], c[0], d[0]}, dy = y - (lanes){a[1], b[1], c[1], d[1]};
        lanes weight;
        memcpy(&weight, flow->values + e, sizeof weight);
        weight /= one + dx * dx + dy * dy;
        pull_x += weight * dx;
        pull_y += weight * dy;
    }
    flow->pull[2 * row] = (pull_x[0] + pull_x[1]) + (pull_x[2] + pull_x[3]);
    flow->pull[2 * row + 1] = (pull_y[0] + pull_y[1]) + (pull_y[2] + pull_y[3]);
}

static pml_outcome force_piece(void *context, size_t piece)
{
    struct flow *flow = context;
    const size_t groups = pml_map_tree_groups(&flow->tree), first = piece * PIECE;
    const size_t end = first + PIECE < groups ? first + PIECE : groups;
    const size_t rows = end * PML_MAP_GROUP < flow->count ? end * PML_MAP_GROUP : flow->count;
    double sum = 0.0;
    for (size_t group = first; group < end; group++)
        sum += pml_map_tree_push(&flow->tree, group, flow->push);
    flow->sums[piece] = sum;
    for (size_t row = first * PML_MAP_GROUP; row < rows; row++)
        pull_row(flow, row);
    return PML_DONE;
}

/* All forces at the present places. Returns Σ q over all pairs of different rows. */
static double find_forces(struct flow *flow, unsigned threads)
{
    const size_t pieces = (flow->count + PIECE_ROWS - 1) / PIECE_ROWS;
    double sum = 0.0;
    pml_map_tree_fill(&flow->tree, flow->places);
    (void)pml_parallel(threads, pieces, force_piece, flow, NULL); /* no piece fails */
    for (size_t i = 0; i < pieces; i++)
        sum += flow->sums[i];
    return fmax(sum - (double)flow->count, 1e-30);
}

static void step(struct flow *flow, double sum, float exaggeration, float momentum, float rate)
{
    const float share = (float)(1.0 / sum);
    for (size_t i = 0; i < 2 * flow->count; i++) {
        const float slope = exaggeration * flow->pull[i] - share * flow->push[i];
        const float gain = slope * flow->speeds[i] < 0.0f ? flow->gains[i] + 0.2f : flow->gains[i] * 0.8f;
        flow->gains[i] = gain < GAIN_LEAST ? GAIN_LEAST : gain;
        const float speed = momentum * flow->speeds[i] - rate * flow->gains[i] * slope;
        flow->speeds[i] = speed > STRIDE_MOST ? STRIDE_MOST : speed < -STRIDE_MOST ? -STRIDE_MOST : speed;
        flow->places[i] += flow->speeds[i];
    }
}

/* Σ p·ln(p/q) over all entries, at the places that `sum` was found at. */
static double divergence_of(const struct flow *flow, double sum)
{
    double divergence = 0.0;
    for (size_t i = 0; i < flow->count; i++)
        for (size_t e = flow->starts[i]; e < flow->starts[i + 1]; e++) {
            const float *a = flow->places + 2 * i, *b = flow->places + 2 * (size_t)flow->ends[e];
            const double dx = (double)(a[0] - b[0]), dy = (double)(a[1] - b[1]), p = (double)flow->values[e];
            if (p > 0.0)
                divergence += p * log(p * (1.0 + dx * dx + dy * dy) * sum);
        }
    return divergence;
}

/* Whether rows hardly differ on an axis. */
static bool is_flat(const struct flow *flow)
{
    for (size_t axis = 0; axis < 2; axis++) {
        double sum = 0.0, squares = 0.0;
        for (size_t i = 0; i < flow->count; i++) {
            const double value = (double)flow->places[2 * i + axis];
            sum += value;
            squares += value * value;
        }
        if (squares - sum * sum / (double)flow->count < FLAT * FLAT * (double)flow->count)
            return true;
    }
    return false;
}

static void begin(struct flow *flow, const double *places)
{
    for (size_t i = 0; i < flow->count; i++)
        for (size_t axis = 0; axis < 2; axis++) {
            flow->places[2 * i + axis] = (float)places[2 * (size_t)flow->names[i] + axis];
            flow->speeds[2 * i + axis] = 0.0f;
            flow->gains[2 * i + axis] = 1.0f;
        }
}

pml_outcome pml_map_descend(const struct pml_map_sparse *joint, const struct pml_map_options *options, double *places,
                            double *divergence)
{
    struct flow flow;
    struct pml_progress told;
    const struct pml_progress *progress = pml_map_stage(options, "arranging", &told);
    const size_t late = options->iterations > 0 ? options->iterations : LATE;
    pml_outcome outcome = flow_allocate(&flow, joint);
    if (outcome == PML_DONE) {
        for (size_t i = 0; i < flow.count; i++)
            flow.names[i] = (uint32_t)i;
        begin(&flow, places);
        for (size_t at = 0; at < EARLY + late; at++) {
            const bool early = at < EARLY;
            const float exaggeration = early ? EXAGGERATION : 1.0f;
            if (at == EARLY && is_flat(&flow))
                begin(&flow, places); /* every row attracts every other: exaggeration has drawn them onto a line */
            if (at % EARLY == 0)
                reorder(&flow, joint);
            const double sum = find_forces(&flow, options->threads);
            step(&flow, sum, exaggeration, early ? 0.5f : 0.8f, fmaxf((float)flow.count / exaggeration, 50.0f));
            pml_progress_tell(progress, (double)(at + 1) / (double)(EARLY + late));
        }
        *divergence = divergence_of(&flow, find_forces(&flow, options->threads));
        for (size_t i = 0; i < flow.count; i++) {
            places[2 * (size_t)flow.names[i]] = (double)flow.places[2 * i];
            places[2 * (size_t)flow.names[i] + 1] = (double)flow.places[2 * i + 1];
        }
    }
    flow_free(&flow);
    return outcome;
}
