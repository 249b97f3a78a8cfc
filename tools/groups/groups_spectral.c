/* SPDX-License-Identifier: Apache-2.0
 * Spectral clustering, and its robust form: eigenvectors say which edges to remove from the whole graph, what is left has
 * other eigenvectors, and so on while their sum of eigenvalues falls. That sum also falls when a few rows are cut off
 * and most others become one group, so a round after which the groups are much less even than before is not kept. */
#include "groups.h"

#include "common/rows/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_FALL 1e-10 /* of the trace, as a share, that is worth another round */

struct rounds {
    const struct pml_groups_options *options;
    struct pml_groups_result *result;
    struct pml_message *message;
    struct pml_spectrum best;
    uint32_t *groups, *tried;   /* per node: of the best round, and of the one that is tried */
    uint8_t *removed;           /* per edge, of the round that is tried */
    struct pml_suspect *chosen; /* the same as a list */
    double *totals;             /* per edge, its scores of all rounds that were kept */
    double even;                /* of the groups of the whole graph */
    size_t most;
};

/* ---- groups of eigenvectors ---- */

/* How many groups of one size would be as hard to guess: e^entropy. */
static double evenness(const uint32_t *groups, size_t nodes, size_t count)
{
    double entropy = 0.0;
    for (uint32_t g = 0; g < count; g++) {
        size_t size = 0;
        for (size_t i = 0; i < nodes; i++)
            size += groups[i] == g;
        const double share = (double)size / (double)nodes;
        entropy -= size > 0 ? share * log(share) : 0.0;
    }
    return exp(entropy);
}

/* A node's entries in all eigenvectors become a row. Rows have no length, only a direction. */
static pml_outcome group_nodes(const struct rounds *rounds, const struct pml_spectrum *spectrum, uint32_t *groups)
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
        outcome = pml_rows_quantise(&rows, values, rounds->options->threads, NULL, &bad);
    }
    if (outcome == PML_DONE && bad < nodes)
        outcome = pml_say(rounds->message,
                          "row %zu (counting from 0) has no position in the graph. Use more --neighbours.", bad);
    if (outcome == PML_DONE)
        outcome = pml_groups_kmeans(rounds->options, &rows, groups, rounds->message);
    pml_rows_free(&rows);
    free(values);
    return outcome;
}

/* ---- rounds ---- */

static void keep_suspects(struct rounds *rounds, size_t count)
{
    struct pml_groups_result *result = rounds->result;
    memcpy(result->suspects, rounds->chosen, count * sizeof *rounds->chosen);
    result->suspected = count;
    for (size_t i = 0; i < count; i++)
        rounds->totals[rounds->chosen[i].edge] += rounds->chosen[i].score;
}

/* Keeps the round whose eigenvectors these are, if it is better. Takes them over. */
static pml_outcome judge(struct rounds *rounds, struct pml_spectrum *spectrum, size_t count, bool *better)
{
    const struct pml_groups_options *options = rounds->options;
    struct pml_groups_result *result = rounds->result;
    const double trace = pml_spectrum_trace(spectrum), before = result->traces[result->rounds - 1];
    pml_outcome outcome = PML_DONE;
    if (before - trace > LEAST_FALL * before) {
        outcome = group_nodes(rounds, spectrum, rounds->tried);
        result->collapsed = outcome == PML_DONE &&
                            evenness(rounds->tried, spectrum->nodes, options->count) < PML_GROUPS_EVEN * rounds->even;
        *better = outcome == PML_DONE && !result->collapsed;
    }
    if (*better) {
        const struct pml_spectrum old = rounds->best;
        rounds->best = *spectrum;
        *spectrum = old;
        memcpy(rounds->groups, rounds->tried, old.nodes * sizeof *rounds->groups);
        keep_suspects(rounds, count);
        result->removed = count;
        result->traces[result->rounds++] = trace;
    }
    pml_spectrum_free(spectrum);
    return outcome;
}

/* `better` says whether the round is kept; if not, groups and eigenvectors are as before. */
static pml_outcome try_round(struct rounds *rounds, bool *better)
{
    struct pml_groups_result *result = rounds->result;
    struct pml_spectrum spectrum = {0};
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
                                &spectrum, rounds->message);
    if (outcome == PML_DONE)
        outcome = judge(rounds, &spectrum, count, better);
    else if (outcome == PML_REFUSED) { /* more parts than groups, or no convergence: what was found before stays */
        result->collapsed = spectrum.components > rounds->options->count;
        outcome = PML_DONE;
    }
    if (outcome == PML_DONE && result->suspected == 0)
        keep_suspects(rounds, count); /* the edges are suspect even if nothing is gained without them */
    return outcome;
}

/* An edge that every round would remove is more suspect than one that only the last one chose, when the graph has already
 * been bent to the groups: measured, more of the first edges join different classes in this order. */
static void rank_suspects(const struct rounds *rounds)
{
    struct pml_groups_result *result = rounds->result;
    for (size_t i = 0; i < result->suspected; i++)
        result->suspects[i].score = rounds->totals[result->suspects[i].edge];
    pml_suspects_sort(result->suspects, result->suspected);
}

static pml_outcome remove_edges(struct rounds *rounds)
{
    struct pml_groups_result *result = rounds->result;
    const size_t edges = result->graph.count, nodes = result->graph.nodes;
    bool better = true;
    rounds->most = (size_t)(rounds->options->remove * (double)edges);
    rounds->removed = malloc(edges);
    rounds->totals = calloc(edges, sizeof *rounds->totals);
    rounds->tried = malloc(nodes * sizeof *rounds->tried);
    rounds->chosen = malloc((rounds->most + 1) * sizeof *rounds->chosen);
    result->suspects = malloc((rounds->most + 1) * sizeof *result->suspects);
    pml_outcome outcome = rounds->removed && rounds->totals && rounds->tried && rounds->chosen && result->suspects
                              ? PML_DONE
                              : PML_NO_MEMORY;
    rounds->even = evenness(rounds->groups, nodes, rounds->options->count);
    while (outcome == PML_DONE && better && result->rounds <= rounds->options->rounds) {
        outcome = try_round(rounds, &better);
        pml_progress_tell(rounds->options->progress, (double)result->rounds / (rounds->options->rounds + 1));
    }
    if (outcome == PML_DONE)
        rank_suspects(rounds);
    free(rounds->removed);
    free(rounds->totals);
    free(rounds->tried);
    free(rounds->chosen);
    return outcome;
}

pml_outcome pml_groups_spectral(const struct pml_groups_options *options, struct pml_groups_result *result,
                                uint32_t *groups, struct pml_message *message)
{
    struct rounds rounds = {.options = options, .result = result, .message = message, .groups = groups};
    pml_outcome outcome =
        pml_spectrum_find(&result->graph, NULL, options->laplacian, options->count, &rounds.best, message);
    result->components = rounds.best.components;
    if (outcome == PML_DONE) {
        result->traces[0] = pml_spectrum_trace(&rounds.best);
        result->rounds = 1;
        outcome = group_nodes(&rounds, &rounds.best, groups);
    }
    if (outcome == PML_DONE && options->method == PML_GROUPS_RSC)
        outcome = remove_edges(&rounds);
    pml_spectrum_free(&rounds.best);
    return outcome;
}
