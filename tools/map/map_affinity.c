/* SPDX-License-Identifier: Apache-2.0
 * Affinities of rows by perplexity. */
#include "map_affinity.h"

#include <math.h>
#include <stdlib.h>

#define STEPS 64
#define NEAR 1e-6  /* of the entropy */
#define PIECE 256u /* rows */

/* e^(−b·(square − least)) and its entropy in nats. */
static double entropy_of(const double *squares, size_t count, double least, double b, double *shares)
{
    double sum = 0.0, weighted = 0.0;
    for (size_t j = 0; j < count; j++) {
        const double gap = squares[j] - least;
        shares[j] = exp(-b * gap);
        sum += shares[j];
        weighted += shares[j] * gap;
    }
    for (size_t j = 0; j < count; j++)
        shares[j] /= sum;
    return log(sum) + b * weighted / sum;
}

void pml_map_affinities(const double *squares, size_t count, double perplexity, double *shares)
{
    const double wanted = log(perplexity);
    double least = squares[0], mean = 0.0, low = 0.0, high = INFINITY;
    for (size_t j = 0; j < count; j++) {
        least = fmin(least, squares[j]);
        mean += squares[j] / (double)count;
    }
    double b = mean > least ? 1.0 / (mean - least) : 1.0;
    for (int step = 0; step < STEPS; step++) {
        const double entropy = entropy_of(squares, count, least, b, shares);
        if (fabs(entropy - wanted) < NEAR || !(mean > least))
            return;
        if (entropy > wanted)
            low = b;
        else
            high = b;
        b = isinf(high) ? b * 2.0 : (low + high) / 2.0;
    }
}

struct work {
    const struct pml_map_sparse *lists; /* squares, overwritten by shares */
    double perplexity;
};

static pml_outcome share_piece(void *context, size_t piece)
{
    const struct work *work = context;
    const struct pml_map_sparse *lists = work->lists;
    const size_t end = (piece + 1) * PIECE < lists->count ? (piece + 1) * PIECE : lists->count;
    const size_t most = lists->starts[1];
    double *squares = malloc(2 * most * sizeof *squares);
    if (!squares)
        return PML_NO_MEMORY;
    for (size_t i = piece * PIECE; i < end; i++) {
        float *values = lists->values + lists->starts[i];
        for (size_t e = 0; e < most; e++)
            squares[e] = (double)values[e];
        pml_map_affinities(squares, most, work->perplexity, squares + most);
        for (size_t e = 0; e < most; e++)
            values[e] = (float)squares[most + e];
    }
    free(squares);
    return PML_DONE;
}

void pml_map_normalise(struct pml_map_sparse *joint)
{
    double sum = 0.0;
    for (size_t e = 0; e < joint->starts[joint->count]; e++)
        sum += (double)joint->values[e];
    for (size_t e = 0; e < joint->starts[joint->count]; e++)
        joint->values[e] = (float)((double)joint->values[e] / sum);
}

pml_outcome pml_map_joint(const struct pml_rows *rows, double perplexity, unsigned threads,
                          const struct pml_progress *progress, struct pml_map_sparse *joint)
{
    const double wanted = floor(3.0 * perplexity + 0.5);
    const unsigned neighbours = wanted < (double)(rows->count - 1) ? (unsigned)wanted : (unsigned)(rows->count - 1);
    struct pml_map_sparse lists = {0};
    struct work work = {&lists, perplexity};
    pml_outcome outcome = pml_map_neighbours(rows, neighbours, threads, progress, &lists);
    if (outcome == PML_DONE)
        outcome = pml_parallel(threads, (rows->count + PIECE - 1) / PIECE, share_piece, &work, NULL);
    if (outcome == PML_DONE)
        outcome = pml_map_symmetric(&lists, false, joint);
    if (outcome == PML_DONE)
        pml_map_normalise(joint);
    pml_map_sparse_free(&lists);
    return outcome;
}
