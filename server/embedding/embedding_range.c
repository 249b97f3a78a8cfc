/* SPDX-License-Identifier: Apache-2.0
 * Whether all numbers stay in range, whatever the items and the releases: α·u/D is not normalised (SPEC 6.1), so with a
 * small bandwidth rows can grow at every step. The bound uses neither items nor releases. */
#include "common/message.h"
#include "embedding_parts.h"

#include <float.h>
#include <math.h>

#define RELEASED_MAX (32768.0 * 4294967295.0) /* value · step */
#define SQUARE_ROOM 1e150                     /* squares of differences are still doubles */

static double largest_of(const double *values, size_t count)
{
    double largest = 0.0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(values[i]));
    return largest;
}

/* No row that starts below `bound` is larger after `steps` steps among these anchors. */
static double grow(const struct pml_embedding *embedding, const double *rows, unsigned steps, double bound)
{
    const struct pml_graph *graph = &embedding->graph;
    const unsigned K = graph->info.neighbours;
    double heaviest = 0.0;
    for (size_t slot = 0; slot < graph->info.slots; slot++) {
        double sum = 0.0;
        for (unsigned i = 0; i < K; i++)
            sum += graph->label_weights[slot * graph->label_room + i];
        heaviest = fmax(heaviest, sum);
    }
    for (unsigned time = 0; time < steps; time++) {
        double anchors =
            largest_of(pml_embedding_at(embedding, rows, time), (size_t)graph->info.anchors * graph->info.dimensions);
        double pull = graph->alpha * heaviest * (bound + anchors) / (K * graph->beta);
        bound = 0.5 * bound + 0.5 * anchors + 0.5 * pull;
    }
    return bound;
}

pml_outcome pml_embedding_check_range(const struct pml_embedding *embedding, struct pml_message *message)
{
    const size_t k = embedding->graph.info.dimensions;
    double items = grow(embedding, embedding->server, embedding->iterations + 1, INT16_MAX);
    double released = grow(embedding, embedding->client, embedding->iterations, RELEASED_MAX);
    double carried = embedding->similarity.scale * released * (double)k + largest_of(embedding->similarity.shift, k);
    if (items <= FLT_MAX && carried <= SQUARE_ROOM)
        return PML_DONE;
    return pml_say(
        message,
        "With alpha %g and bandwidth %g rows of the embedding can grow beyond all numbers in %u iterations: use "
        "fewer iterations, or a pack with a smaller alpha or a larger bandwidth.",
        embedding->graph.alpha, 1.0 / sqrt(embedding->graph.lambda), embedding->iterations);
}
