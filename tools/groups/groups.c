/* SPDX-License-Identifier: Apache-2.0
 * Looks at what was asked for, calls the method, and numbers the groups. */
#include "groups.h"
#include "tools/algebra/arpack.h"

#include "common/rows/kmeans.h"
#include "common/rows/knn.h"

#include <privatemail.h>

#include <stdlib.h>
#include <string.h>

#define RUNS 10 /* of k-means, from different starts */

bool pml_groups_has_arpack(void)
{
#if PML_WITH_ARPACK
    return pml_arpack_start();
#else
    return false;
#endif
}

/* ---- k-means ---- */

/* Σ cosine of rows and their centres, in 2^-40 each: at most 2^20 of them, so the sum is exact. */
static int64_t closeness(const struct pml_rows *rows, const struct pml_rows *centres, const uint32_t *groups)
{
    int64_t sum = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const size_t centre = groups[i];
        const int64_t dot =
            pml_dot(rows->values + i * rows->columns, centres->values + centre * rows->columns, rows->columns);
        sum += dot * (int64_t)rows->inverse[i] * (int64_t)centres->inverse[centre] / (1 << 20);
    }
    return sum;
}

static pml_outcome run_all(const struct pml_groups_options *options, const struct pml_rows *rows,
                           struct pml_rows *centres, struct pml_kmeans *run, uint32_t *groups,
                           struct pml_message *message)
{
    int64_t best = INT64_MIN;
    for (uint64_t i = 0; i < RUNS; i++) {
        const pml_outcome outcome =
            pml_kmeans(rows, options->count, options->seed * RUNS + i, options->threads, NULL, run);
        if (outcome != PML_DONE)
            return outcome;
        if (run->distinct < options->count)
            return pml_say(message,
                           "there are only %zu distinct rows, or distinct positions in the graph. Use a --count of %zu "
                           "or less.",
                           run->distinct, run->distinct);
        for (size_t centre = 0; centre < options->count; centre++)
            pml_rows_measure(centres, centre);
        const int64_t close = closeness(rows, centres, run->clusters);
        if (close > best) {
            best = close;
            memcpy(groups, run->clusters, rows->count * sizeof *groups);
        }
        pml_progress_tell(options->progress, (double)(i + 1) / RUNS);
    }
    return PML_DONE;
}

pml_outcome pml_groups_kmeans(const struct pml_groups_options *options, const struct pml_rows *rows, uint32_t *groups,
                              struct pml_message *message)
{
    struct pml_rows centres = {0};
    struct pml_kmeans run = {.clusters = malloc(rows->count * sizeof *run.clusters)};
    pml_outcome outcome = run.clusters ? pml_rows_allocate(&centres, options->count, rows->columns) : PML_NO_MEMORY;
    run.centres = centres.values;
    if (outcome == PML_DONE)
        outcome = run_all(options, rows, &centres, &run, groups, message);
    pml_rows_free(&centres);
    free(run.clusters);
    return outcome;
}

/* ---- the graph ---- */

static pml_outcome make_graph(const struct pml_groups_options *options, const struct pml_rows *rows,
                              struct pml_groups_result *result)
{
    uint32_t *lists = malloc(rows->count * options->neighbours * sizeof *lists);
    pml_outcome outcome =
        lists ? pml_knn(rows, options->neighbours, options->threads, options->progress, lists) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_group_graph_join(lists, rows->count, options->neighbours, options->noise, options->seed,
                                       &result->graph);
    free(lists);
    return outcome;
}

static pml_outcome find_in_graph(const struct pml_groups_options *options, const struct pml_rows *rows,
                                 struct pml_groups_result *result, uint32_t *groups, struct pml_message *message)
{
#if PML_WITH_ARPACK
    const pml_outcome outcome = make_graph(options, rows, result);
    return outcome == PML_DONE ? pml_groups_spectral(options, result, groups, message) : outcome;
#else
    (void)options, (void)rows, (void)result, (void)groups, (void)make_graph;
    return pml_say(message, "this build does not know ARPACK. Use --method kmeans.");
#endif
}

/* ---- all of it ---- */

static pml_outcome check(const struct pml_groups_options *options, const struct pml_features *features,
                         struct pml_message *message)
{
    if (features->columns > PML_FEATURES_MAX)
        return pml_say(message,
                       "rows of %zu features are too long: at most %u. Make a front by privatemail train --method "
                       "signs, or choose fewer features.",
                       features->columns, PML_FEATURES_MAX);
    if (features->rows > PML_GROUPS_ROWS)
        return pml_say(message, "%zu rows are too many. Give at most %u, such as a sample of them.", features->rows,
                       PML_GROUPS_ROWS);
    if (features->rows < options->count)
        return pml_say(message, "%zu rows cannot make %zu groups. Use a smaller --count, or give more rows.",
                       features->rows, options->count);
    if (options->method == PML_GROUPS_KMEANS)
        return PML_DONE;
    if (features->rows == options->count)
        return pml_say(message,
                       "a graph of %zu rows cannot make as many groups. Use a smaller --count, or give more rows.",
                       features->rows);
    if (features->rows <= options->neighbours)
        return pml_say(message, "%zu rows do not have %u neighbours each. Use fewer --neighbours, or give more rows.",
                       features->rows, options->neighbours);
    return PML_DONE;
}

struct numbered {
    size_t size, group;
};

static int by_size(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return a->group < b->group ? -1 : a->group > b->group;
}

/* The largest group becomes 0. */
static pml_outcome number(const uint32_t *groups, size_t rows, size_t count, struct pml_groups_result *result)
{
    struct numbered *order = malloc(count * sizeof *order);
    uint32_t *names = malloc(count * sizeof *names);
    result->groups = malloc(rows * sizeof *result->groups);
    result->sizes = malloc(count * sizeof *result->sizes);
    pml_outcome outcome = order && names && result->groups && result->sizes ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        for (size_t g = 0; g < count; g++)
            order[g] = (struct numbered){0, g};
        for (size_t i = 0; i < rows; i++)
            order[groups[i]].size++;
        qsort(order, count, sizeof *order, by_size);
        for (size_t g = 0; g < count; g++) {
            names[order[g].group] = (uint32_t)g;
            result->sizes[g] = order[g].size;
        }
        for (size_t i = 0; i < rows; i++)
            result->groups[i] = (int32_t)names[groups[i]];
    }
    free(order);
    free(names);
    return outcome;
}

pml_outcome pml_groups_find(const struct pml_groups_options *options, const struct pml_features *features,
                            struct pml_groups_result *result, struct pml_message *message)
{
    struct pml_rows rows = {0};
    uint32_t *groups = NULL;
    size_t bad;
    *result = (struct pml_groups_result){0};
    pml_outcome outcome = check(options, features, message);
    if (outcome == PML_DONE) {
        groups = malloc(features->rows * sizeof *groups);
        outcome = groups ? pml_rows_allocate(&rows, features->rows, features->columns) : PML_NO_MEMORY;
    }
    if (outcome == PML_DONE)
        outcome = pml_rows_quantise(&rows, features->values, options->threads, NULL, &bad);
    if (outcome == PML_DONE && bad < rows.count)
        outcome =
            pml_say(message, "row %zu (counting from 0) cannot be used: it must be finite and not all zero.", bad);
    if (outcome == PML_DONE)
        outcome = options->method == PML_GROUPS_KMEANS ? pml_groups_kmeans(options, &rows, groups, message)
                                                       : find_in_graph(options, &rows, result, groups, message);
    if (outcome == PML_DONE)
        outcome = number(groups, rows.count, options->count, result);
    pml_rows_free(&rows);
    free(groups);
    if (outcome != PML_DONE)
        pml_groups_free(result);
    return outcome;
}

void pml_groups_free(struct pml_groups_result *result)
{
    free(result->groups);
    free(result->sizes);
    free(result->suspects);
    pml_group_graph_free(&result->graph);
    *result = (struct pml_groups_result){0};
}
