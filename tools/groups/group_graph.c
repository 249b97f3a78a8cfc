/* SPDX-License-Identifier: Apache-2.0
 * Makes a graph out of lists of neighbours. */
#include "group_graph.h"
#include "common/generator.h"

#include <stdlib.h>
#include <string.h>

/* ---- edges ---- */

static uint64_t key_of(uint32_t one, uint32_t other)
{
    return one < other ? (uint64_t)one << 32 | other : (uint64_t)other << 32 | one;
}

static int by_key(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static size_t sort_once(uint64_t *keys, size_t count)
{
    size_t kept = 0;
    qsort(keys, count, sizeof *keys, by_key);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || keys[kept - 1] != keys[i])
            keys[kept++] = keys[i];
    return kept;
}

static size_t add_random(uint64_t *keys, size_t count, size_t nodes, double noise, uint64_t seed)
{
    const size_t extra = (size_t)(noise * (double)count);
    struct pml_generator generator = pml_generator_start(seed, PML_STREAM_GROUPS);
    for (size_t i = 0; i < extra; i++) {
        const uint32_t one = (uint32_t)pml_generator_below(&generator, nodes);
        const uint32_t other = (uint32_t)((one + 1 + pml_generator_below(&generator, nodes - 1)) % nodes);
        keys[count + i] = key_of(one, other);
    }
    return sort_once(keys, count + extra);
}

pml_outcome pml_group_graph_join(const uint32_t *lists, size_t nodes, unsigned neighbours, double noise, uint64_t seed,
                                 struct pml_group_graph *graph)
{
    const size_t listed = nodes * neighbours;
    uint64_t *keys = malloc((listed + (size_t)(noise * (double)listed) + 1) * sizeof *keys);
    struct pml_group_edge *edges = NULL;
    size_t count = 0;
    if (keys) {
        for (size_t i = 0; i < listed; i++)
            keys[i] = key_of((uint32_t)(i / neighbours), lists[i]);
        count = sort_once(keys, listed);
        count = add_random(keys, count, nodes, noise, seed);
        edges = malloc(count * sizeof *edges);
        for (size_t i = 0; edges && i < count; i++)
            edges[i] = (struct pml_group_edge){{(uint32_t)(keys[i] >> 32), (uint32_t)keys[i]}, 1.0};
    }
    free(keys);
    return pml_group_graph_finish(edges, count, nodes, graph);
}

pml_outcome pml_group_graph_finish(struct pml_group_edge *edges, size_t count, size_t nodes,
                                   struct pml_group_graph *graph)
{
    *graph = (struct pml_group_graph){
        .nodes = nodes,
        .count = count,
        .edges = edges,
        .starts = calloc(nodes + 2, sizeof *graph->starts),
        .incident = malloc((2 * count + 1) * sizeof *graph->incident),
    };
    if (!graph->edges || !graph->starts || !graph->incident) {
        pml_group_graph_free(graph);
        return PML_NO_MEMORY;
    }
    /* Counts two places behind, so that filling in leaves each start where it belongs. */
    for (size_t e = 0; e < count; e++)
        for (size_t end = 0; end < 2; end++)
            graph->starts[edges[e].ends[end] + 2]++;
    for (size_t i = 2; i < nodes + 2; i++)
        graph->starts[i] += graph->starts[i - 1];
    for (size_t e = 0; e < count; e++)
        for (size_t end = 0; end < 2; end++)
            graph->incident[graph->starts[edges[e].ends[end] + 1]++] = (uint32_t)e;
    return PML_DONE;
}

void pml_group_graph_free(struct pml_group_graph *graph)
{
    free(graph->edges);
    free(graph->starts);
    free(graph->incident);
    *graph = (struct pml_group_graph){0};
}

/* ---- components ---- */

pml_outcome pml_group_graph_components(const struct pml_group_graph *graph, const uint8_t *removed,
                                       uint32_t *components, size_t *count)
{
    uint32_t *waiting = malloc(graph->nodes * sizeof *waiting);
    if (!waiting)
        return PML_NO_MEMORY;
    memset(components, 0xFF, graph->nodes * sizeof *components);
    *count = 0;
    for (size_t first = 0; first < graph->nodes; first++) {
        size_t held = 0;
        if (components[first] != UINT32_MAX)
            continue;
        components[first] = (uint32_t)*count;
        waiting[held++] = (uint32_t)first;
        while (held > 0) {
            const uint32_t node = waiting[--held];
            for (size_t at = graph->starts[node]; at < graph->starts[node + 1]; at++) {
                const uint32_t edge = graph->incident[at], other = pml_group_edge_other(&graph->edges[edge], node);
                if ((removed && removed[edge]) || components[other] != UINT32_MAX)
                    continue;
                components[other] = (uint32_t)*count;
                waiting[held++] = other;
            }
        }
        ++*count;
    }
    free(waiting);
    return PML_DONE;
}
