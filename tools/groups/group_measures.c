/* SPDX-License-Identifier: Apache-2.0
 * Compares groups with classes. */
#include "group_measures.h"

#include <math.h>
#include <stdlib.h>

#define FIRST 0.02 /* of all edges */

static int by_key(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static uint64_t key_of(int32_t group, int32_t other)
{
    return (uint64_t)(uint32_t)group << 32 | (uint32_t)other;
}

/* In bits: of what the keys say. Sorts them. */
static double entropy(uint64_t *keys, size_t count)
{
    double sum = 0.0;
    qsort(keys, count, sizeof *keys, by_key);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && keys[end] == keys[first];)
            end++;
        const double share = (double)(end - first) / (double)count;
        sum -= share * log2(share);
    }
    return sum;
}

pml_outcome pml_group_nmi(const int32_t *groups, const int32_t *classes, size_t rows, double *nmi)
{
    uint64_t *keys = malloc(rows * sizeof *keys);
    if (!keys)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < rows; i++)
        keys[i] = key_of(groups[i], 0);
    const double one = entropy(keys, rows);
    for (size_t i = 0; i < rows; i++)
        keys[i] = key_of(0, classes[i]);
    const double other = entropy(keys, rows);
    for (size_t i = 0; i < rows; i++)
        keys[i] = key_of(groups[i], classes[i]);
    const double both = entropy(keys, rows);
    *nmi = one + other > 0.0 ? fmin(1.0, fmax(0.0, 2.0 * (one + other - both) / (one + other))) : 1.0;
    free(keys);
    return PML_DONE;
}

static double share(size_t part, size_t whole)
{
    return whole > 0 ? (double)part / (double)whole : NAN;
}

struct pml_group_cross pml_group_cross(const struct pml_groups_result *result, const int32_t *classes)
{
    const struct pml_group_edge *edges = result->graph.edges;
    const size_t allowed = (size_t)ceil(FIRST * (double)result->graph.count);
    const size_t first = result->suspected < allowed ? result->suspected : allowed;
    size_t all = 0, suspected = 0, early = 0;
    for (size_t e = 0; e < result->graph.count; e++)
        all += classes[edges[e].ends[0]] != classes[edges[e].ends[1]];
    for (size_t i = 0; i < result->suspected; i++) {
        const uint32_t *ends = edges[result->suspects[i].edge].ends;
        const bool differ = classes[ends[0]] != classes[ends[1]];
        suspected += differ;
        early += differ && i < first;
    }
    return (struct pml_group_cross){share(all, result->graph.count), share(suspected, result->suspected),
                                    share(early, first)};
}
