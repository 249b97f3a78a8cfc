/* SPDX-License-Identifier: Apache-2.0
 * Which rows vote in which cell of a slot, and with what weight. The result does not depend on the number of threads: a
 * piece decides about its own rows only. */
#include "common/rows/nearest.h"
#include "index_lists_parts.h"

#include <stdlib.h>

/* ---- the cells of one row ---- */

/* r⁸ in 2^-16, each product rounded down. */
static uint64_t eighth_power(uint64_t r)
{
    const uint64_t second = r * r >> 16, fourth = second * second >> 16;
    return fourth * fourth >> 16;
}

/* A query like this row falls into a cell that is d times as far as the nearest about d⁻⁸ times as often. */
static void share_out(const struct pml_lists_voters *voters, size_t row, const int64_t *scores)
{
    struct pml_lists_voter *votes = voters->votes + row * PML_LISTS_CELLS;
    const uint32_t inverse = voters->rows->inverse[row];
    int64_t best[PML_LISTS_CELLS];
    uint32_t cells[PML_LISTS_CELLS];
    const struct pml_nearest nearest = {best, cells, PML_LISTS_CELLS};
    uint64_t weights[PML_LISTS_CELLS] = {0}, first = 0, sum = 0;
    pml_nearest_clear(&nearest);
    for (uint32_t j = 0; j < voters->cells->cell_count; j++)
        pml_nearest_offer(&nearest, scores[j], j);
    for (unsigned i = 0; i < PML_LISTS_CELLS && best[i] > INT64_MIN; i++) {
        const uint64_t distance = pml_rows_distance(best[i], inverse);
        first = i == 0 ? distance : first;
        weights[i] = eighth_power((first << 16) / distance);
        sum += weights[i];
    }
    for (unsigned i = 0; i < PML_LISTS_CELLS; i++)
        votes[i] = (struct pml_lists_voter){cells[i], (uint32_t)(PML_LISTS_PARTS * weights[i] / sum)};
}

static pml_outcome share_piece(void *context, size_t piece)
{
    const struct pml_lists_voters *voters = context;
    const size_t rows = voters->rows->count, first = piece * PML_TILE,
                 count = rows - first < PML_TILE ? rows - first : PML_TILE;
    int64_t *scores = malloc(count * voters->cells->cell_count * sizeof *scores);
    if (!scores)
        return PML_NO_MEMORY;
    pml_slot_cells_rank(voters->cells, voters->rows->values + first * voters->rows->columns, count, scores, NULL);
    for (size_t i = 0; i < count; i++)
        share_out(voters, first + i, scores + i * voters->cells->cell_count);
    free(scores);
    return PML_DONE;
}

/* ---- the voters of each cell ---- */

static void group(const struct pml_lists_voters *voters)
{
    const uint32_t cells = voters->cells->cell_count;
    const size_t votes = voters->rows->count * PML_LISTS_CELLS;
    for (size_t i = 0; i < votes; i++)
        if (voters->votes[i].part > 0)
            voters->starts[voters->votes[i].row + 1]++;
    for (uint32_t j = 0; j < cells; j++)
        voters->starts[j + 1] += voters->starts[j];
    for (size_t i = 0; i < votes; i++)
        if (voters->votes[i].part > 0)
            voters->voters[voters->starts[voters->votes[i].row]++] =
                (struct pml_lists_voter){(uint32_t)(i / PML_LISTS_CELLS), voters->votes[i].part};
    for (uint32_t j = cells; j > 0; j--) /* each start has moved to the end of its cell */
        voters->starts[j] = voters->starts[j - 1];
    voters->starts[0] = 0;
}

pml_outcome pml_lists_voters_make(struct pml_lists_voters *voters, const struct pml_rows *rows,
                                  const struct pml_slot_cells *cells, unsigned threads)
{
    const size_t votes = rows->count * PML_LISTS_CELLS + 1;
    *voters = (struct pml_lists_voters){.rows = rows,
                                        .cells = cells,
                                        .votes = malloc(votes * sizeof *voters->votes),
                                        .starts = calloc((size_t)cells->cell_count + 1, sizeof *voters->starts),
                                        .voters = malloc(votes * sizeof *voters->voters)};
    if (!voters->starts || !voters->votes || !voters->voters)
        return PML_NO_MEMORY;
    if (pml_parallel(threads, (rows->count + PML_TILE - 1) / PML_TILE, share_piece, voters, NULL) != PML_DONE)
        return PML_NO_MEMORY;
    group(voters);
    return PML_DONE;
}

void pml_lists_voters_free(struct pml_lists_voters *voters)
{
    free(voters->starts);
    free(voters->votes);
    free(voters->voters);
}
