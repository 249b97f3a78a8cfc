/* SPDX-License-Identifier: Apache-2.0
 * Random walks on the graph of neighbours that end at landmarks. */
#include "map_walks.h"
#include "map_methods.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void pml_map_walks_free(struct pml_map_walks *walks)
{
    pml_map_sparse_free(&walks->graph);
    free(walks->reached);
    free(walks->landmarks);
    free(walks->number);
    *walks = (struct pml_map_walks){0};
}

static pml_outcome make_graph(struct pml_map_walks *walks, const struct pml_rows *rows, unsigned neighbours,
                              unsigned threads, const struct pml_progress *progress)
{
    struct pml_map_sparse lists = {0};
    double width = 0.0;
    pml_outcome outcome = pml_map_neighbours(rows, neighbours, threads, progress, &lists);
    for (size_t i = 0; outcome == PML_DONE && i < rows->count; i++)
        width += (double)lists.values[lists.starts[i + 1] - 1] / (double)rows->count;
    for (size_t e = 0; outcome == PML_DONE && e < lists.starts[rows->count]; e++)
        lists.values[e] = width > 0.0 ? (float)fmax(exp(-(double)lists.values[e] / width), 1e-6) : 1.0f;
    if (outcome == PML_DONE)
        outcome = pml_map_symmetric(&lists, true, &walks->graph);
    pml_map_sparse_free(&lists);
    return outcome;
}

static void add_up(struct pml_map_walks *walks)
{
    const struct pml_map_sparse *graph = &walks->graph;
    for (size_t i = 0; i < graph->count; i++) {
        float sum = 0.0f;
        for (size_t e = graph->starts[i]; e < graph->starts[i + 1]; e++)
            walks->reached[e] = sum += graph->values[e];
    }
}

/* Marks rows in a random order: first 2 of every component, then any until there are enough. */
static pml_outcome choose(struct pml_map_walks *walks, size_t wanted)
{
    const size_t n = walks->graph.count;
    struct pml_generator generator = pml_generator_start(walks->seed, PML_MAP_STREAM_LANDMARKS);
    uint32_t *order = malloc(n * sizeof *order), *components = malloc(n * sizeof *components);
    uint8_t *held = calloc(n, sizeof *held);
    size_t parts = 0;
    pml_outcome outcome =
        order && components && held ? pml_map_components(&walks->graph, components, &parts) : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        for (size_t i = 0; i < n; i++)
            order[i] = (uint32_t)i;
        for (size_t i = n - 1; i > 0; i--) {
            const size_t other = (size_t)pml_generator_below(&generator, i + 1);
            const uint32_t row = order[i];
            order[i] = order[other];
            order[other] = row;
        }
        memset(walks->number, 0xFF, n * sizeof *walks->number);
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < n; i++) {
                const uint32_t row = order[i];
                if (walks->number[row] != UINT32_MAX ||
                    (pass == 0 ? held[components[row]] >= 2 : walks->count >= wanted))
                    continue;
                if (pass == 0)
                    held[components[row]]++;
                walks->number[row] = 0;
                walks->count++;
            }
        for (size_t i = 0, at = 0; i < n; i++)
            if (walks->number[i] != UINT32_MAX) {
                walks->landmarks[at] = (uint32_t)i;
                walks->number[i] = (uint32_t)at++;
            }
    }
    free(order);
    free(components);
    free(held);
    return outcome;
}

pml_outcome pml_map_walks_make(struct pml_map_walks *walks, const struct pml_rows *rows, unsigned neighbours,
                               size_t landmarks, uint64_t seed, unsigned threads, const struct pml_progress *progress)
{
    *walks = (struct pml_map_walks){.seed = seed};
    pml_outcome outcome = make_graph(walks, rows, neighbours, threads, progress);
    if (outcome != PML_DONE)
        return outcome;
    walks->reached = malloc((walks->graph.starts[rows->count] + 1) * sizeof *walks->reached);
    walks->landmarks = malloc(rows->count * sizeof *walks->landmarks);
    walks->number = malloc(rows->count * sizeof *walks->number);
    if (!walks->reached || !walks->landmarks || !walks->number)
        return PML_NO_MEMORY;
    add_up(walks);
    return choose(walks, landmarks);
}

/* The entry that a walk leaves a row by: the first whose sum is above a random share of all. */
static size_t leave(const struct pml_map_walks *walks, size_t row, struct pml_generator *generator)
{
    size_t low = walks->graph.starts[row], high = walks->graph.starts[row + 1] - 1;
    const float share = (float)(pml_generator_next(generator) >> 40) * 0x1p-24f * walks->reached[high];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (walks->reached[middle] > share)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void pml_map_walks_take(const struct pml_map_walks *walks, size_t row, size_t count, uint32_t *ends)
{
    struct pml_generator generator = pml_generator_start(walks->seed, PML_MAP_STREAM_WALKS + row);
    for (size_t i = 0; i < count; i++) {
        size_t at = row;
        do
            at = walks->graph.ends[leave(walks, at, &generator)];
        while (walks->number[at] == UINT32_MAX);
        ends[i] = walks->number[at];
    }
}
