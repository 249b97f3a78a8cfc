/* SPDX-License-Identifier: Apache-2.0
 * Measures of a map that need labels: purity and separation are those of Bojchevski et al. 2017. */
#include "map_measure_labels.h"
#include "tools/map/map_graph.h"

#include "common/rows/kdtree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const unsigned pml_map_purity_neighbours[PML_MAP_PURITIES] = {5, 10, 20, 50};
const double pml_map_separation_shares[PML_MAP_SEPARATIONS] = {0.1, 0.5, 1.0};

#define NEAR_MOST 50u
#define PIECE 256u /* rows */

static int by_label(const void *left, const void *right)
{
    const int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return a < b ? -1 : a > b;
}

pml_outcome pml_map_number(const int32_t *labels, size_t rows, uint32_t *numbers, int32_t **names, size_t *count)
{
    int32_t *sorted = malloc((rows + 1) * sizeof *sorted);
    *count = 0;
    if (!(*names = sorted))
        return PML_NO_MEMORY;
    memcpy(sorted, labels, rows * sizeof *sorted);
    qsort(sorted, rows, sizeof *sorted, by_label);
    for (size_t i = 0; i < rows; i++)
        if (i == 0 || sorted[i] != sorted[*count - 1])
            sorted[(*count)++] = sorted[i];
    for (size_t i = 0; i < rows; i++) {
        const int32_t *found = bsearch(&labels[i], sorted, *count, sizeof *sorted, by_label);
        numbers[i] = (uint32_t)(found - sorted);
    }
    return PML_DONE;
}

/* ---- purity ---- */

struct purity {
    const double *places;
    const uint32_t *numbers;
    size_t rows, classes;
    const struct pml_kdtree *tree;
    unsigned near;
    double *parts; /* per piece: wrong nearest, then the sums of the purities */
};

/* The share of the commonest label among the row and its first `near` neighbours. `counts` is 0, and is so again. */
static double purity_of(const uint32_t *numbers, size_t row, const uint32_t *found, unsigned near, uint32_t *counts)
{
    uint32_t most = counts[numbers[row]] = 1;
    for (unsigned f = 0; f < near; f++) {
        const uint32_t count = ++counts[numbers[found[f]]];
        most = count > most ? count : most;
    }
    counts[numbers[row]] = 0;
    for (unsigned f = 0; f < near; f++)
        counts[numbers[found[f]]] = 0;
    return (double)most / (double)(near + 1);
}

static pml_outcome purity_piece(void *context, size_t piece)
{
    const struct purity *purity = context;
    const size_t end = (piece + 1) * PIECE < purity->rows ? (piece + 1) * PIECE : purity->rows;
    double *part = purity->parts + piece * (1 + PML_MAP_PURITIES), squares[NEAR_MOST];
    uint32_t found[NEAR_MOST], *counts = calloc(purity->classes, sizeof *counts);
    if (!counts)
        return PML_NO_MEMORY;
    for (size_t i = piece * PIECE; i < end; i++) {
        pml_kdtree_nearest(purity->tree, purity->places + 2 * i, purity->near, (uint32_t)i, found, squares);
        part[0] += purity->numbers[found[0]] != purity->numbers[i];
        for (size_t p = 0; p < PML_MAP_PURITIES; p++)
            if (pml_map_purity_neighbours[p] <= purity->near)
                part[1 + p] += purity_of(purity->numbers, i, found, pml_map_purity_neighbours[p], counts);
    }
    free(counts);
    return PML_DONE;
}

pml_outcome pml_map_purity(const float *places, const uint32_t *numbers, size_t rows, size_t classes, unsigned threads,
                           struct pml_map_measures *measures)
{
    const size_t pieces = (rows + PIECE - 1) / PIECE;
    double *points = malloc(2 * rows * sizeof *points);
    struct pml_kdtree *tree = NULL;
    struct purity purity = {points, numbers, rows, classes, NULL, NEAR_MOST, NULL};
    purity.near = rows - 1 < NEAR_MOST ? (unsigned)(rows - 1) : NEAR_MOST;
    purity.parts = calloc(pieces * (1 + PML_MAP_PURITIES), sizeof *purity.parts);
    pml_outcome outcome = points && purity.parts ? PML_DONE : PML_NO_MEMORY;
    for (size_t i = 0; outcome == PML_DONE && i < 2 * rows; i++)
        points[i] = (double)places[i];
    if (outcome == PML_DONE)
        outcome = pml_kdtree_build(&tree, points, rows, 2);
    purity.tree = tree;
    if (outcome == PML_DONE)
        outcome = pml_parallel(threads, pieces, purity_piece, &purity, NULL);
    if (outcome == PML_DONE) {
        double sums[1 + PML_MAP_PURITIES] = {0};
        for (size_t i = 0; i < pieces * (1 + PML_MAP_PURITIES); i++)
            sums[i % (1 + PML_MAP_PURITIES)] += purity.parts[i] / (double)rows;
        measures->nn_error = sums[0];
        for (size_t p = 0; p < PML_MAP_PURITIES; p++)
            if (pml_map_purity_neighbours[p] <= purity.near)
                measures->purity[p] = sums[1 + p];
    }
    pml_kdtree_free(tree);
    free(points);
    free(purity.parts);
    return outcome;
}

/* ---- separation ---- */

static int by_size(const void *left, const void *right)
{
    const float a = *(const float *)left, b = *(const float *)right;
    return a < b ? -1 : a > b;
}

/* Rows of the sample, class by class. */
struct sorted {
    uint32_t *rows;
    size_t *starts;
};

/* Means of the nearest shares of the pairs of two classes; NaN when there is no pair. */
static void mean_pairs(const float *places, const struct sorted *sorted, size_t left, size_t right, float *distances,
                       double means[PML_MAP_SEPARATIONS])
{
    size_t count = 0;
    for (size_t i = sorted->starts[left]; i < sorted->starts[left + 1]; i++)
        for (size_t j = left == right ? i + 1 : sorted->starts[right]; j < sorted->starts[right + 1]; j++) {
            const float *a = places + 2 * (size_t)sorted->rows[i], *b = places + 2 * (size_t)sorted->rows[j];
            distances[count++] = hypotf(a[0] - b[0], a[1] - b[1]);
        }
    qsort(distances, count, sizeof *distances, by_size);
    double sum = 0.0;
    for (size_t share = 0, at = 0; share < PML_MAP_SEPARATIONS; share++) {
        const size_t wanted = (size_t)ceil(pml_map_separation_shares[share] * (double)count);
        for (; at < wanted; at++)
            sum += (double)distances[at];
        means[share] = at > 0 ? sum / (double)at : NAN;
    }
}

/* Adds a class to the measures; `held` counts the classes that were measured. */
static void separate_class(const float *places, const struct sorted *sorted, size_t class, size_t classes,
                           float *distances, struct pml_map_measures *measures, size_t *held)
{
    double within[PML_MAP_SEPARATIONS], nearest[PML_MAP_SEPARATIONS] = {INFINITY, INFINITY, INFINITY};
    mean_pairs(places, sorted, class, class, distances, within);
    for (size_t other = 0; other < classes; other++) {
        double between[PML_MAP_SEPARATIONS];
        if (other == class || sorted->starts[other] == sorted->starts[other + 1])
            continue;
        mean_pairs(places, sorted, class, other, distances, between);
        for (size_t s = 0; s < PML_MAP_SEPARATIONS; s++)
            nearest[s] = fmin(nearest[s], between[s]);
    }
    if (isnan(within[0]) || isinf(nearest[0]))
        return;
    for (size_t s = 0; s < PML_MAP_SEPARATIONS; s++) {
        const double larger = fmax(nearest[s], within[s]),
                     value = larger > 0.0 ? (nearest[s] - within[s]) / larger : 0.0;
        measures->separation[s].mean = (*held == 0 ? 0.0 : measures->separation[s].mean) + value;
        measures->separation[s].least = *held == 0 ? value : fmin(measures->separation[s].least, value);
    }
    ++*held;
}

pml_outcome pml_map_separation(const float *places, const uint32_t *numbers, const uint32_t *sample, size_t count,
                               size_t classes, struct pml_map_measures *measures)
{
    struct sorted sorted = {malloc(count * sizeof *sorted.rows), malloc((classes + 2) * sizeof *sorted.starts)};
    float *distances = malloc(count * count * sizeof *distances);
    uint32_t *sampled = calloc(count, sizeof *sampled);
    size_t held = 0;
    const pml_outcome outcome = sorted.rows && sorted.starts && distances && sampled ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        for (size_t i = 0; i < count; i++)
            sampled[i] = numbers[sample[i]];
        pml_map_members(sampled, count, classes, sorted.rows, sorted.starts);
        for (size_t i = 0; i < count; i++)
            sorted.rows[i] = sample[sorted.rows[i]];
        for (size_t c = 0; c < classes; c++)
            separate_class(places, &sorted, c, classes, distances, measures, &held);
        for (size_t s = 0; s < PML_MAP_SEPARATIONS && held > 0; s++)
            measures->separation[s].mean /= (double)held;
    }
    free(sorted.rows);
    free(sorted.starts);
    free(distances);
    free(sampled);
    return outcome;
}
