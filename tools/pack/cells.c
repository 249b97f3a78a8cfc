/* SPDX-License-Identifier: Apache-2.0
 * Makes the prototypes and cells of one slot. Uses only rows of this slot. */
#include "cells.h"
#include "cells_join.h"
#include "cells_refine.h"
#include "common/rows/kmeans.h"
#include "common/rows/knn.h"
#include "soft_prototypes.h"
#include "thin_clusters.h"

#include <stdlib.h>
#include <string.h>

/* Rows whose neighbours are searched, at most: as many as that costs no more than clustering. */
#define SAMPLE_LEAST 8192u
#define SAMPLE_PER_PROTOTYPE 16u

/* Counts links between clusters in a sample of the rows, or in all of them when there are few. */
static pml_outcome join_by_sample(const struct pml_rows *rows, const struct pml_cell_plan *plan,
                                  const uint32_t *clusters, size_t distinct, uint32_t *cells)
{
    const size_t wanted = plan->prototypes * SAMPLE_PER_PROTOTYPE, most = wanted > SAMPLE_LEAST ? wanted : SAMPLE_LEAST;
    uint32_t *indices = malloc(rows->count * sizeof *indices);
    if (!indices)
        return PML_NO_MEMORY;
    const size_t count = pml_rows_sample(rows->count, most, plan->seed, indices);
    const unsigned neighbours = count > PML_CELL_NEIGHBOURS ? PML_CELL_NEIGHBOURS : (unsigned)(count - 1);
    struct pml_rows sample = {0};
    uint32_t *lists = malloc(count * neighbours * sizeof *lists);
    pml_outcome outcome = lists ? pml_rows_gather(rows, indices, count, &sample) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_knn(&sample, neighbours, plan->threads, NULL, lists);
    if (outcome == PML_DONE) {
        for (size_t i = 0; i < count; i++)
            indices[i] = clusters[indices[i]];
        const struct pml_cluster_graph graph = {indices, lists, count, distinct, neighbours, neighbours};
        outcome = pml_cells_join(&graph, plan->cells, cells);
    }
    pml_rows_free(&sample);
    free(indices);
    free(lists);
    return outcome;
}

static pml_outcome join_clusters(const struct pml_rows *rows, const struct pml_cell_plan *plan,
                                 const uint32_t *clusters, size_t distinct, uint32_t *cells)
{
    if (!plan->lists)
        return join_by_sample(rows, plan, clusters, distinct, cells);
    const struct pml_cluster_graph graph = {clusters, plan->lists,         rows->count,
                                            distinct, PML_CELL_NEIGHBOURS, plan->list_length};
    return pml_cells_join(&graph, plan->cells, cells);
}

/* Prototypes, and of each row the nearest of them. */
static pml_outcome make_prototypes(const struct pml_rows *rows, const struct pml_cell_plan *plan,
                                   struct pml_cells *result)
{
    struct pml_kmeans clusters = {.centres = result->prototypes, .clusters = result->of_rows};
    const size_t least = plan->rows_per_prototype > 1 ? plan->rows_per_prototype : 1;
    const size_t most = rows->count > least ? rows->count / least : 1;
    const size_t count = plan->prototypes < most ? plan->prototypes : most;
    result->thin = false;
    pml_outcome outcome = pml_kmeans(rows, count, plan->seed, plan->threads, plan->progress, &clusters);
    if (outcome == PML_DONE && least > 1)
        outcome = pml_clusters_thicken(rows, plan->public_count, least, count, plan->threads, &clusters, &result->thin);
    if (outcome != PML_DONE)
        return outcome;
    result->distinct = clusters.distinct;
    if (plan->soft && !result->thin && rows->count < PML_CELL_SOFT_ROWS * plan->cells &&
        pml_prototypes_soften(rows, plan->public_count, least, plan->threads, result->prototypes, result->distinct) !=
            PML_DONE)
        return PML_NO_MEMORY;
    return PML_DONE;
}

/* Refines the cells, and gives each row the nearest prototype again. */
static pml_outcome refine(const struct pml_rows *rows, const struct pml_cell_plan *plan, struct pml_cells *result)
{
    const struct pml_refining refining = {
        .rows = rows,
        .public_count = plan->public_count,
        .prototypes = result->prototypes,
        .of_prototypes = result->of_prototypes,
        .prototype_count = result->distinct,
        .cell_count = plan->cells,
        .rows_per_prototype = plan->rows_per_prototype,
        .share = plan->share,
        .rounds = plan->rounds,
        .threads = plan->threads,
    };
    struct pml_rows centres = {0};
    if (plan->rounds == 0 || result->thin)
        return PML_DONE;
    pml_outcome outcome = pml_cells_refine(&refining);
    if (outcome == PML_DONE)
        outcome = pml_rows_allocate(&centres, result->distinct, rows->columns);
    if (outcome == PML_DONE) {
        memcpy(centres.values, result->prototypes, result->distinct * rows->columns);
        for (size_t i = 0; i < result->distinct; i++)
            pml_rows_measure(&centres, i);
        outcome = pml_kmeans_assign(rows, &centres, plan->threads, result->of_rows);
    }
    pml_rows_free(&centres);
    return outcome;
}

pml_outcome pml_cells_build(const struct pml_rows *rows, const struct pml_cell_plan *plan, struct pml_cells *result)
{
    if (make_prototypes(rows, plan, result) != PML_DONE)
        return PML_NO_MEMORY;
    const size_t distinct = result->distinct;
    uint32_t *cells = result->of_prototypes;
    for (uint32_t i = 0; i < plan->prototypes; i++)
        cells[i] = i;
    if (distinct > plan->cells && join_clusters(rows, plan, result->of_rows, distinct, cells) != PML_DONE)
        return PML_NO_MEMORY;
    if (refine(rows, plan, result) != PML_DONE)
        return PML_NO_MEMORY;
    for (size_t i = distinct; i < plan->prototypes; i++)
        memcpy(result->prototypes + i * rows->columns, result->prototypes + i % distinct * rows->columns,
               rows->columns);
    /* A repeated prototype is never the nearest. It may name an empty cell, while there are any. */
    for (size_t i = distinct > plan->cells ? distinct : plan->cells; i < plan->prototypes; i++)
        cells[i] = cells[i % distinct];
    for (size_t i = 0; i < rows->count; i++)
        result->of_rows[i] = cells[result->of_rows[i]];
    return PML_DONE;
}
