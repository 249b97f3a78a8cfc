/* SPDX-License-Identifier: Apache-2.0
 * Algorithm 2: removing an edge changes the degrees of its ends, and by that the gain of every edge beside it. The edges
 * wait in a heap. An edge whose gain changes is put in once more with a higher version, and what is older is skipped
 * when it comes up. Like the seed's, the algorithm renews the sums of the two ends and not those of their neighbours. */
#include "prune.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct waiting {
    double gain;
    uint32_t edge, version;
};

struct greedy {
    const struct pml_group_graph *graph;
    uint32_t *limits;
    double *products;   /* per edge a·⟨hᵢ, hⱼ⟩ */
    double *degrees;    /* per node, without the removed edges */
    double *sums;       /* per node Σ products / √degree of the other end, over the edges that are left */
    uint32_t *versions; /* per edge; GONE when it is removed */
    struct waiting *heap;
    size_t held, room;
};

#define GONE UINT32_MAX

/* ---- the heap: the largest gain first, then the smaller edge ---- */

static bool before(const struct waiting *left, const struct waiting *right)
{
    if (left->gain != right->gain)
        return left->gain > right->gain;
    return left->edge < right->edge;
}

static pml_outcome push(struct greedy *greedy, struct waiting entry)
{
    if (greedy->held == greedy->room) {
        struct waiting *larger = realloc(greedy->heap, 2 * greedy->room * sizeof *larger);
        if (!larger)
            return PML_NO_MEMORY;
        greedy->heap = larger;
        greedy->room *= 2;
    }
    size_t at = greedy->held++;
    for (; at > 0 && before(&entry, &greedy->heap[(at - 1) / 2]); at = (at - 1) / 2)
        greedy->heap[at] = greedy->heap[(at - 1) / 2];
    greedy->heap[at] = entry;
    return PML_DONE;
}

static struct waiting pop(struct greedy *greedy)
{
    struct waiting *heap = greedy->heap;
    const struct waiting first = heap[0], last = heap[--greedy->held];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < greedy->held && before(&heap[child + 1], &heap[child]))
            child++;
        if (child >= greedy->held || !before(&heap[child], &last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

/* ---- gains ---- */

static void renew_sum(struct greedy *greedy, uint32_t node)
{
    const struct pml_group_graph *graph = greedy->graph;
    double sum = 0.0;
    for (size_t at = graph->starts[node]; at < graph->starts[node + 1]; at++) {
        const uint32_t edge = graph->incident[at];
        if (greedy->versions[edge] != GONE)
            sum += greedy->products[edge] / sqrt(greedy->degrees[pml_group_edge_other(&graph->edges[edge], node)]);
    }
    greedy->sums[node] = sum;
}

/* How much 1/√degree of a node grows when it loses the edge. */
static double growth(const struct greedy *greedy, uint32_t node, double weight)
{
    return 1.0 / sqrt(greedy->degrees[node] - weight) - 1.0 / sqrt(greedy->degrees[node]);
}

/* Δ(e, X): the other edges of both ends count more, and the edge itself no longer does. The sums of the ends hold it too,
 * so that part is taken away again. */
static double gain_of(const struct greedy *greedy, uint32_t edge)
{
    const uint32_t *ends = greedy->graph->edges[edge].ends;
    const double weight = greedy->graph->edges[edge].weight, product = greedy->products[edge];
    const double one = 1.0 / sqrt(greedy->degrees[ends[0]]), other = 1.0 / sqrt(greedy->degrees[ends[1]]);
    const double one_growth = growth(greedy, ends[0], weight), other_growth = growth(greedy, ends[1], weight);
    return (greedy->sums[ends[0]] - product * other) * one_growth +
           (greedy->sums[ends[1]] - product * one) * other_growth - product * one * other;
}

static pml_outcome enqueue(struct greedy *greedy, uint32_t edge)
{
    const uint32_t *ends = greedy->graph->edges[edge].ends;
    const uint32_t version = ++greedy->versions[edge];
    if (greedy->limits[ends[0]] == 0 || greedy->limits[ends[1]] == 0)
        return PML_DONE;
    return push(greedy, (struct waiting){gain_of(greedy, edge), edge, version});
}

/* ---- the algorithm ---- */

static void start(struct greedy *greedy, const struct pml_spectrum *spectrum)
{
    const struct pml_group_graph *graph = greedy->graph;
    for (size_t e = 0; e < graph->count; e++) {
        const struct pml_group_edge *edge = &graph->edges[e];
        double product = 0.0;
        for (size_t k = 0; k < spectrum->count; k++) {
            const double *vector = spectrum->vectors + k * spectrum->nodes;
            product += vector[edge->ends[0]] * vector[edge->ends[1]];
        }
        greedy->products[e] = edge->weight * product;
        greedy->degrees[edge->ends[0]] += edge->weight;
        greedy->degrees[edge->ends[1]] += edge->weight;
    }
    for (uint32_t i = 0; i < graph->nodes; i++)
        renew_sum(greedy, i);
}

static pml_outcome take(struct greedy *greedy, uint32_t taken)
{
    const struct pml_group_graph *graph = greedy->graph;
    const struct pml_group_edge *edge = &graph->edges[taken];
    pml_outcome outcome = PML_DONE;
    greedy->versions[taken] = GONE;
    for (size_t end = 0; end < 2; end++) {
        greedy->limits[edge->ends[end]]--;
        greedy->degrees[edge->ends[end]] -= edge->weight;
    }
    for (size_t end = 0; end < 2; end++)
        renew_sum(greedy, edge->ends[end]);
    for (size_t end = 0; end < 2; end++) {
        const uint32_t node = edge->ends[end];
        for (size_t at = graph->starts[node]; outcome == PML_DONE && at < graph->starts[node + 1]; at++)
            if (greedy->versions[graph->incident[at]] != GONE)
                outcome = enqueue(greedy, graph->incident[at]);
    }
    return outcome;
}

static pml_outcome choose(struct greedy *greedy, size_t most, struct pml_suspect *chosen, size_t *count)
{
    pml_outcome outcome = PML_DONE;
    for (uint32_t e = 0; outcome == PML_DONE && e < greedy->graph->count; e++)
        outcome = enqueue(greedy, e);
    while (outcome == PML_DONE && *count < most && greedy->held > 0) {
        const struct waiting first = pop(greedy);
        if (greedy->versions[first.edge] != first.version)
            continue;
        if (first.gain <= 0.0)
            break;
        chosen[(*count)++] = (struct pml_suspect){first.edge, first.gain};
        outcome = take(greedy, first.edge);
    }
    return outcome;
}

pml_outcome pml_prune_symmetric(const struct pml_group_graph *graph, const struct pml_spectrum *spectrum,
                                uint32_t *limits, size_t most, struct pml_suspect *chosen, size_t *count)
{
    const size_t room = graph->count + 1;
    struct greedy greedy = {
        .graph = graph,
        .limits = limits,
        .products = malloc(room * sizeof *greedy.products),
        .degrees = calloc(graph->nodes, sizeof *greedy.degrees),
        .sums = malloc(graph->nodes * sizeof *greedy.sums),
        .versions = calloc(room, sizeof *greedy.versions),
        .heap = malloc(room * sizeof *greedy.heap),
        .room = room,
    };
    pml_outcome outcome = PML_NO_MEMORY;
    *count = 0;
    if (greedy.products && greedy.degrees && greedy.sums && greedy.versions && greedy.heap) {
        start(&greedy, spectrum);
        outcome = choose(&greedy, most, chosen, count);
    }
    free(greedy.products);
    free(greedy.degrees);
    free(greedy.sums);
    free(greedy.versions);
    free(greedy.heap);
    return outcome;
}
