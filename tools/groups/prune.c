/* SPDX-License-Identifier: Apache-2.0
 * Algorithm 1: all edges get a score that does not depend on which others are removed. */
#include "prune.h"

#include <stdlib.h>

/* Lemma 4.1: a·‖hᵢ − hⱼ‖². Lemma 5.1 takes away what the edge adds to the degrees: a·Σ λ·(hᵢ² + hⱼ²). */
static double score_of(const struct pml_group_edge *edge, const struct pml_spectrum *spectrum, pml_laplacian laplacian)
{
    double score = 0.0;
    for (size_t k = 0; k < spectrum->count; k++) {
        const double *vector = spectrum->vectors + k * spectrum->nodes;
        const double one = vector[edge->ends[0]], other = vector[edge->ends[1]];
        score += (one - other) * (one - other);
        if (laplacian == PML_LAPLACIAN_WALK)
            score -= spectrum->values[k] * (one * one + other * other);
    }
    return edge->weight * score;
}

static int by_score(const void *left, const void *right)
{
    const struct pml_suspect *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->edge < b->edge ? -1 : a->edge > b->edge;
}

void pml_suspects_sort(struct pml_suspect *suspects, size_t count)
{
    qsort(suspects, count, sizeof *suspects, by_score);
}

static pml_outcome prune_by_score(const struct pml_group_graph *graph, const struct pml_spectrum *spectrum,
                                  pml_laplacian laplacian, uint32_t *limits, size_t most, struct pml_suspect *chosen,
                                  size_t *count)
{
    struct pml_suspect *all = malloc(graph->count * sizeof *all);
    if (!all)
        return PML_NO_MEMORY;
    for (size_t e = 0; e < graph->count; e++)
        all[e] = (struct pml_suspect){(uint32_t)e, score_of(&graph->edges[e], spectrum, laplacian)};
    pml_suspects_sort(all, graph->count);
    for (size_t i = 0; i < graph->count && *count < most && all[i].score > 0.0; i++) {
        const uint32_t *ends = graph->edges[all[i].edge].ends;
        if (limits[ends[0]] == 0 || limits[ends[1]] == 0)
            continue;
        limits[ends[0]]--;
        limits[ends[1]]--;
        chosen[(*count)++] = all[i];
    }
    free(all);
    return PML_DONE;
}

pml_outcome pml_prune(const struct pml_group_graph *graph, const struct pml_spectrum *spectrum, pml_laplacian laplacian,
                      size_t most, struct pml_suspect *chosen, size_t *count)
{
    uint32_t *limits = malloc(graph->nodes * sizeof *limits);
    if (!limits)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < graph->nodes; i++)
        limits[i] = (uint32_t)((graph->starts[i + 1] - graph->starts[i]) / 2);
    *count = 0;
    const pml_outcome outcome = laplacian == PML_LAPLACIAN_SYMMETRIC
                                    ? pml_prune_symmetric(graph, spectrum, limits, most, chosen, count)
                                    : prune_by_score(graph, spectrum, laplacian, limits, most, chosen, count);
    free(limits);
    return outcome;
}
