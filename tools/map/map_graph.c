/* SPDX-License-Identifier: Apache-2.0
 * Neighbours of rows, and sparse matrices made of them. */
#include "map_graph.h"

#include "common/rows/knn.h"
#include "common/rows/knn_near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOOKED_AT 32000u /* rows that each is compared with, when not with all */

pml_outcome pml_map_sparse_allocate(struct pml_map_sparse *sparse, size_t count, size_t entries)
{
    *sparse = (struct pml_map_sparse){count, calloc(count + 1, sizeof *sparse->starts),
                                      malloc((entries + 1) * sizeof *sparse->ends),
                                      malloc((entries + 1) * sizeof *sparse->values)};
    return sparse->starts && sparse->ends && sparse->values ? PML_DONE : PML_NO_MEMORY;
}

void pml_map_sparse_free(struct pml_map_sparse *sparse)
{
    free(sparse->starts);
    free(sparse->ends);
    free(sparse->values);
    *sparse = (struct pml_map_sparse){0};
}

/* ---- distances ---- */

/* The product of two Σ q² is below 2^53, so equal rows have exactly cosine 1. */
static double square_of(const struct pml_rows *rows, size_t left, size_t right, int32_t dot)
{
    const double norms = sqrt((double)((uint64_t)rows->squared[left] * rows->squared[right]));
    return fmax(0.0, 2.0 - 2.0 * dot / norms);
}

double pml_map_square(const struct pml_rows *rows, size_t left, size_t right)
{
    const size_t columns = rows->columns;
    return square_of(rows, left, right,
                     pml_dot(rows->values + left * columns, rows->values + right * columns, columns));
}

void pml_map_squares(const struct pml_rows *rows, size_t row, int32_t *dots, double *squares)
{
    pml_dots(rows->values + row * rows->columns, rows->values, rows->columns, rows->count, dots);
    for (size_t i = 0; i < rows->count; i++)
        squares[i] = square_of(rows, row, i, dots[i]);
}

pml_outcome pml_map_neighbours(const struct pml_rows *rows, unsigned neighbours, unsigned threads,
                               const struct pml_progress *progress, struct pml_map_sparse *lists)
{
    const struct pml_rows nobody = {.columns = rows->columns};
    const bool near = rows->count > PML_MAP_EXACT && neighbours <= PML_KNN_NEAR_MAX;
    pml_outcome outcome = pml_map_sparse_allocate(lists, rows->count, rows->count * neighbours);
    const struct pml_knn_side items = {rows, neighbours, lists->ends}, guests = {&nobody, 0, NULL};
    if (outcome == PML_DONE)
        outcome = near ? pml_knn_near(&items, &guests, LOOKED_AT, threads, progress)
                       : pml_knn(rows, neighbours, threads, progress, lists->ends);
    for (size_t i = 0; outcome == PML_DONE && i < rows->count; i++) {
        lists->starts[i + 1] = (i + 1) * neighbours;
        for (size_t e = i * neighbours; e < (i + 1) * neighbours; e++)
            lists->values[e] = (float)pml_map_square(rows, i, lists->ends[e]);
    }
    return outcome;
}

/* ---- symmetric matrices ---- */

struct entry {
    uint32_t end;
    float value;
};

static int by_end(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* Both directions of every entry, row by row: those that the row lists, then those that list it. */
static void spread(const struct pml_map_sparse *lists, const size_t *starts, size_t *filled, struct entry *entries)
{
    for (size_t i = 0; i < lists->count; i++)
        for (size_t e = lists->starts[i]; e < lists->starts[i + 1]; e++) {
            const size_t j = lists->ends[e];
            entries[starts[i] + filled[i]++] = (struct entry){(uint32_t)j, lists->values[e]};
            entries[starts[j] + filled[j]++] = (struct entry){(uint32_t)i, lists->values[e]};
        }
}

/* Entries of one row, sorted: equal columns become one. Returns how many are left. */
static size_t merge(struct entry *entries, size_t count, bool either)
{
    size_t kept = 0;
    qsort(entries, count, sizeof *entries, by_end);
    for (size_t e = 0; e < count; e++) {
        if (kept == 0 || entries[kept - 1].end != entries[e].end)
            entries[kept++] = entries[e];
        else if (!either)
            entries[kept - 1].value += entries[e].value;
    }
    return kept;
}

pml_outcome pml_map_symmetric(const struct pml_map_sparse *lists, bool either, struct pml_map_sparse *out)
{
    const size_t n = lists->count, total = 2 * lists->starts[n];
    size_t *starts = calloc(n + 2, sizeof *starts), *filled = calloc(n + 1, sizeof *filled);
    struct entry *entries = malloc((total + 1) * sizeof *entries);
    pml_outcome outcome = starts && filled && entries ? pml_map_sparse_allocate(out, n, total) : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        for (size_t i = 0; i < n; i++)
            for (size_t e = lists->starts[i]; e < lists->starts[i + 1]; e++) {
                starts[i + 1]++;
                starts[lists->ends[e] + 1]++;
            }
        for (size_t i = 0; i < n; i++)
            starts[i + 1] += starts[i];
        spread(lists, starts, filled, entries);
        for (size_t i = 0, at = 0; i < n; i++) {
            const size_t kept = merge(entries + starts[i], filled[i], either);
            for (size_t e = 0; e < kept; e++, at++) {
                out->ends[at] = entries[starts[i] + e].end;
                out->values[at] = entries[starts[i] + e].value;
            }
            out->starts[i + 1] = at;
        }
    }
    free(starts);
    free(filled);
    free(entries);
    return outcome;
}

/* ---- components ---- */

pml_outcome pml_map_components(const struct pml_map_sparse *graph, uint32_t *components, size_t *count)
{
    uint32_t *open = malloc((graph->count + 1) * sizeof *open);
    if (!open)
        return PML_NO_MEMORY;
    memset(components, 0xFF, graph->count * sizeof *components);
    *count = 0;
    for (size_t first = 0; first < graph->count; first++) {
        size_t left = 0;
        if (components[first] != UINT32_MAX)
            continue;
        components[first] = (uint32_t)*count;
        open[left++] = (uint32_t)first;
        while (left > 0) {
            const uint32_t row = open[--left];
            for (size_t e = graph->starts[row]; e < graph->starts[row + 1]; e++)
                if (components[graph->ends[e]] == UINT32_MAX) {
                    components[graph->ends[e]] = (uint32_t)*count;
                    open[left++] = graph->ends[e];
                }
        }
        ++*count;
    }
    free(open);
    return PML_DONE;
}

void pml_map_members(const uint32_t *numbers, size_t rows, size_t count, uint32_t *members, size_t *starts)
{
    memset(starts, 0, (count + 2) * sizeof *starts);
    for (size_t i = 0; i < rows; i++)
        starts[numbers[i] + 2]++;
    for (size_t c = 0; c < count; c++)
        starts[c + 2] += starts[c + 1];
    for (size_t i = 0; i < rows; i++)
        members[starts[numbers[i] + 1]++] = (uint32_t)i;
}
