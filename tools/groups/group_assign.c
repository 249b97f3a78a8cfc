/* SPDX-License-Identifier: Apache-2.0
 * Gives other rows the group of the rows that are nearest to them. */
#include "groups.h"

#include "common/rows/nearest.h"
#include "common/rows/rows.h"

#include <stdlib.h>

#define VOTERS 8u /* as a device that guesses its class */

struct assignment {
    const struct pml_rows *known, *rows;
    const int32_t *groups; /* of the known rows */
    int32_t *out;
    unsigned voters;
};

static pml_outcome assign_piece(void *context, size_t piece)
{
    const struct assignment *job = context;
    const size_t first = piece * PML_TILE, left = job->rows->count - first, own = left < PML_TILE ? left : PML_TILE;
    const size_t columns = job->rows->columns;
    int32_t dots[PML_TILE * PML_TILE];
    int64_t scores[PML_TILE * VOTERS];
    uint32_t indices[PML_TILE * VOTERS];
    struct pml_nearest lists[PML_TILE];
    for (size_t i = 0; i < own; i++) {
        lists[i] = (struct pml_nearest){scores + i * VOTERS, indices + i * VOTERS, job->voters};
        pml_nearest_clear(&lists[i]);
    }
    for (size_t start = 0; start < job->known->count; start += PML_TILE) {
        const size_t rest = job->known->count - start, count = rest < PML_TILE ? rest : PML_TILE;
        pml_tile_dots(job->rows->values + first * columns, own, job->known->values + start * columns, count, columns,
                      dots);
        for (size_t i = 0; i < own; i++)
            for (size_t j = 0; j < count; j++)
                pml_nearest_offer(&lists[i], dots[i * PML_TILE + j] * (int64_t)job->known->inverse[start + j],
                                  (uint32_t)(start + j));
    }
    for (size_t i = 0; i < own; i++)
        job->out[first + i] = pml_nearest_majority(job->groups, lists[i].indices, job->voters);
    return PML_DONE;
}

static pml_outcome take_rows(const struct pml_features *features, unsigned threads, struct pml_rows *rows)
{
    size_t bad = 0;
    pml_outcome outcome = pml_rows_allocate(rows, features->rows, features->columns);
    if (outcome == PML_DONE)
        outcome = pml_rows_quantise(rows, features->values, threads, NULL, &bad);
    return outcome == PML_DONE && bad < features->rows ? PML_REFUSED : outcome;
}

pml_outcome pml_groups_assign(const struct pml_features *known, const int32_t *groups,
                              const struct pml_features *features, unsigned threads,
                              const struct pml_progress *progress, int32_t *out)
{
    struct pml_rows known_rows = {0}, rows = {0};
    pml_outcome outcome = take_rows(known, threads, &known_rows);
    if (outcome == PML_DONE)
        outcome = take_rows(features, threads, &rows);
    struct assignment job = {&known_rows, &rows, groups, out, known->rows < VOTERS ? (unsigned)known->rows : VOTERS};
    if (outcome == PML_DONE)
        outcome = pml_parallel(threads, (rows.count + PML_TILE - 1) / PML_TILE, assign_piece, &job, progress);
    pml_rows_free(&known_rows);
    pml_rows_free(&rows);
    return outcome;
}
