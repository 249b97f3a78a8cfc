/* SPDX-License-Identifier: Apache-2.0
 * In: the items of a slot and the cells of a pack. Out: which items vote in which cell, and with what weight.
 * Never depends on the number of threads: a piece decides about its own items only. */
#include "common/rows/nearest.h"
#include "index_lists_parts.h"

#include <stdlib.h>

#define PARTS 4096u /* of a vote */

int64_t pml_lists_score(const struct pml_lists_voters *voters, size_t item, uint32_t prototype)
{
    const size_t columns = voters->slot->rows.columns;
    const int8_t *row = pml_pack_prototype(voters->pack, voters->number, prototype);
    return pml_dot(voters->slot->rows.values + item * columns, row, columns) * (int64_t)voters->inverse[prototype];
}

/* ---- the cells of one item ---- */

/* What the nearest prototype of each cell scores with each of `count` items; INT64_MIN for a cell without one. */
static void score_cells(const struct pml_lists_voters *voters, size_t first, size_t count, int64_t *scores)
{
    const size_t columns = voters->slot->rows.columns;
    int32_t dots[PML_TILE * PML_TILE];
    for (size_t i = 0; i < count * voters->cell_count; i++)
        scores[i] = INT64_MIN;
    for (uint32_t p = 0; p < voters->prototypes; p += PML_TILE) {
        const size_t tile = voters->prototypes - p < PML_TILE ? voters->prototypes - p : PML_TILE;
        pml_tile_dots(voters->slot->rows.values + first * columns, count,
                      pml_pack_prototype(voters->pack, voters->number, p), tile, columns, dots);
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < tile; j++) {
                const int64_t score = dots[i * PML_TILE + j] * (int64_t)voters->inverse[p + j];
                int64_t *best = scores + i * voters->cell_count + voters->cell_of[p + j];
                *best = score > *best ? score : *best;
            }
    }
}

/* r¹² in 2^-16, each product rounded down. */
static uint64_t twelfth_power(uint64_t r)
{
    const uint64_t second = r * r >> 16, fourth = second * second >> 16, eighth = fourth * fourth >> 16;
    return eighth * fourth >> 16;
}

/* A query like this item falls into a cell that is d times as far as the nearest about d⁻¹² times as often. */
static void share_out(const struct pml_lists_voters *voters, size_t item, const int64_t *scores)
{
    struct pml_lists_voter *votes = voters->votes + item * PML_LISTS_CELLS;
    const int64_t inverse = voters->slot->rows.inverse[item];
    int64_t best[PML_LISTS_CELLS];
    uint32_t cells[PML_LISTS_CELLS];
    const struct pml_nearest nearest = {best, cells, PML_LISTS_CELLS};
    uint64_t weights[PML_LISTS_CELLS] = {0}, first = 0, sum = 0;
    pml_nearest_clear(&nearest);
    for (uint32_t j = 0; j < voters->cell_count; j++)
        pml_nearest_offer(&nearest, scores[j], j);
    for (unsigned i = 0; i < PML_LISTS_CELLS && best[i] > INT64_MIN; i++) {
        const uint64_t distance = (uint64_t)(((int64_t)1 << 60) - best[i] * inverse) / (1u << 30) + 1;
        first = i == 0 ? distance : first;
        weights[i] = twelfth_power((first << 16) / distance);
        sum += weights[i];
    }
    for (unsigned i = 0; i < PML_LISTS_CELLS; i++)
        votes[i] = (struct pml_lists_voter){cells[i], (uint32_t)(PARTS * weights[i] / sum)};
}

static int share_piece(void *context, size_t piece)
{
    const struct pml_lists_voters *voters = context;
    const size_t rows = voters->slot->rows.count, first = piece * PML_TILE,
                 count = rows - first < PML_TILE ? rows - first : PML_TILE;
    int64_t *scores = malloc(count * voters->cell_count * sizeof *scores);
    if (!scores)
        return -1;
    score_cells(voters, first, count, scores);
    for (size_t i = 0; i < count; i++)
        share_out(voters, first + i, scores + i * voters->cell_count);
    free(scores);
    return 0;
}

/* ---- the items of each cell ---- */

static void group(const struct pml_lists_voters *voters)
{
    const uint32_t cells = voters->cell_count;
    const size_t votes = voters->slot->rows.count * PML_LISTS_CELLS;
    for (size_t i = 0; i < votes; i++)
        if (voters->votes[i].part > 0)
            voters->starts[voters->votes[i].item + 1]++;
    for (uint32_t j = 0; j < cells; j++)
        voters->starts[j + 1] += voters->starts[j];
    for (size_t i = 0; i < votes; i++)
        if (voters->votes[i].part > 0)
            voters->voters[voters->starts[voters->votes[i].item]++] =
                (struct pml_lists_voter){(uint32_t)(i / PML_LISTS_CELLS), voters->votes[i].part};
    for (uint32_t j = cells; j > 0; j--) /* each start has moved to the end of its cell */
        voters->starts[j] = voters->starts[j - 1];
    voters->starts[0] = 0;
}

int pml_lists_voters_make(struct pml_lists_voters *voters, const struct pml_lists_slot *slot, const pml_pack *pack,
                          uint32_t number, unsigned threads)
{
    pml_pack_info info;
    *voters = (struct pml_lists_voters){.slot = slot, .pack = pack, .number = number};
    if (pml_pack_describe(pack, &info) != PML_OK)
        return -1;
    const size_t count = slot->rows.count;
    voters->cell_count = info.cells;
    voters->prototypes = info.prototypes;
    voters->inverse = malloc(info.prototypes * sizeof *voters->inverse);
    voters->cell_of = malloc(info.prototypes * sizeof *voters->cell_of);
    voters->starts = calloc((size_t)info.cells + 1, sizeof *voters->starts);
    voters->votes = malloc(count * PML_LISTS_CELLS * sizeof *voters->votes);
    voters->voters = malloc(count * PML_LISTS_CELLS * sizeof *voters->voters);
    if (!voters->inverse || !voters->cell_of || !voters->starts || !voters->votes || !voters->voters)
        return -1;
    for (uint32_t i = 0; i < info.prototypes; i++) {
        voters->inverse[i] = pml_inverse_norm(pml_pack_prototype(pack, number, i), info.features);
        if (pml_pack_prototype_cell(pack, number, i, &voters->cell_of[i]) != PML_OK)
            return -1;
    }
    if (pml_parallel(threads, (count + PML_TILE - 1) / PML_TILE, share_piece, voters, NULL) != 0)
        return -1;
    group(voters);
    return 0;
}

void pml_lists_voters_free(struct pml_lists_voters *voters)
{
    free(voters->inverse);
    free(voters->cell_of);
    free(voters->starts);
    free(voters->votes);
    free(voters->voters);
}
