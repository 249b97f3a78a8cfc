/* SPDX-License-Identifier: Apache-2.0
 * Spectral clustering, and its robust form: eigenvectors say which edges to remove from the whole graph, what is left has
 * other eigenvectors, and so on while their sum of eigenvalues falls. */
#include "groups.h"

#include "common/rows/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_FALL 1e-10 /* of the trace, that is worth another round */

struct rounds {
    const struct pml_groups_options *options;
    struct pml_groups_result *result;
    struct pml_spectrum best;
    uint8_t *removed;           /* per edge, of the round that is tried */
    struct pml_suspect *chosen; /* the same as a list */
    double *totals;             /* per edge, its scores of all rounds that were kept */
    size_t most;
};

/* One round. `better` says whether the trace fell; if not, everything is as before. */
static pml_outcome try_round(struct rounds *rounds, bool *better)
{
    struct pml_groups_result *result = rounds->result;
    struct pml_spectrum spectrum = {0};
    struct pml_message message = {""};
    size_t count = 0;
    *better = false;
    pml_outcome outcome =
        pml_prune(&result->graph, &rounds->best, rounds->options->laplacian, rounds->most, rounds->chosen, &count);
    if (outcome != PML_DONE || count == 0)
        return outcome;
    memset(rounds->removed, 0, result->graph.count);
    for (size_t i = 0; i < count; i++)
        rounds->removed[rounds->chosen[i].edge] = 1;
    outcome = pml_spectrum_find(&result->graph, rounds->removed, rounds->options->laplacian, rounds->options->count,
                                &spectrum, &message);
    if (outcome == PML_REFUSED) { /* more parts than groups, or no convergence: the best so far stays */
        result->collapsed = spectrum.components > rounds->options->count;
        return PML_DONE;
    }
    if (outcome != PML_DONE)
        return outcome;
    const double trace = pml_spectrum_trace(&spectrum), before = result->traces[result->rounds - 1];
    if (before - trace <= LEAST_FALL * before) {
        pml_spectrum_free(&spectrum);
        return PML_DONE;
    }
    pml_spectrum_free(&rounds->best);
    rounds->best = spectrum;
    memcpy(result->suspects, rounds->chosen, count * sizeof *rounds->chosen);
    for (size_t i = 0; i < count; i++)
        rounds->totals[rounds->chosen[i].edge] += rounds->chosen[i].score;
    result->removed = count;
    result->traces[result->rounds++] = trace;
    *better = true;
    return PML_DONE;
}

/* An edge that every round would remove is more suspect than one that only the last one chose, when the graph has already
 * been bent to the groups: measured, more of the first edges join different classes in this order. */
static void rank_suspects(const struct rounds *rounds)
{
    struct pml_groups_result *result = rounds->result;
    for (size_t i = 0; i < result->removed; i++)
        result->suspects[i].score = rounds->totals[result->suspects[i].edge];
    pml_suspects_sort(result->suspects, result->removed);
}

static pml_outcome remove_edges(struct rounds *rounds)
{
    struct pml_groups_result *result = rounds->result;
    rounds->most = (size_t)(rounds->options->remove * (double)result->graph.count);
    rounds->removed = malloc(result->graph.count);
    rounds->totals = calloc(result->graph.count, sizeof *rounds->totals);
    rounds->chosen = malloc((rounds->most + 1) * sizeof *rounds->chosen);
    result->suspects = malloc((rounds->most + 1) * sizeof *result->suspects);
    pml_outcome outcome =
        rounds->removed && rounds->totals && rounds->chosen && result->suspects ? PML_DONE : PML_NO_MEMORY;
    bool better = true;
    while (outcome == PML_DONE && better && result->rounds <= rounds->options->rounds) {
        outcome = try_round(rounds, &better);
        pml_progress_tell(rounds->options->progress, (double)result->rounds / (rounds->options->rounds + 1));
    }
    if (outcome == PML_DONE)
        rank_suspects(rounds);
    free(rounds->removed);
    free(rounds->totals);
    free(rounds->chosen);
    return outcome;
}

/* A node's entries in all eigenvectors become a row. Rows have no length, only a direction. */
static pml_outcome group_nodes(const struct pml_groups_options *options, const struct pml_spectrum *spectrum,
                               uint32_t *groups, struct pml_message *message)
{
    const size_t nodes = spectrum->nodes, columns = spectrum->count;
    float *values = malloc(nodes * columns * sizeof *values);
    struct pml_rows rows = {0};
    size_t bad = 0;
    pml_outcome outcome = values ? pml_rows_allocate(&rows, nodes, columns) : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        for (size_t i = 0; i < nodes; i++)
            for (size_t k = 0; k < columns; k++)
                values[i * columns + k] = (float)spectrum->vectors[k * nodes + i];
        outcome = pml_rows_quantise(&rows, values, options->threads, NULL, &bad);
    }
    if (outcome == PML_DONE && bad < nodes)
        outcome =
            pml_say(message, "row %zu (counting from 0) has no position in the graph. Use more --neighbours.", bad);
    if (outcome == PML_DONE)
        outcome = pml_groups_kmeans(options, &rows, groups, message);
    pml_rows_free(&rows);
    free(values);
    return outcome;
}

pml_outcome pml_groups_spectral(const struct pml_groups_options *options, struct pml_groups_result *result,
                                uint32_t *groups, struct pml_message *message)
{
    struct rounds rounds = {.options = options, .result = result};
    pml_outcome outcome =
        pml_spectrum_find(&result->graph, NULL, options->laplacian, options->count, &rounds.best, message);
    result->components = rounds.best.components;
    if (outcome == PML_DONE) {
        result->traces[0] = pml_spectrum_trace(&rounds.best);
        result->rounds = 1;
    }
    if (outcome == PML_DONE && options->method == PML_GROUPS_RSC)
        outcome = remove_edges(&rounds);
    if (outcome == PML_DONE)
        outcome = group_nodes(options, &rounds.best, groups, message);
    pml_spectrum_free(&rounds.best);
    return outcome;
}
