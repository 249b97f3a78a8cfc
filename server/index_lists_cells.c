/* SPDX-License-Identifier: Apache-2.0
 * In: the items of a slot and the cells of a pack. Out: the items of each cell; in large slots the neighbours that can
 * be found through the cells.
 * Never depends on the number of threads: a piece decides about its own items only. */
#include "index_lists_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

static int64_t score_with(const struct pml_lists_members *members, size_t index, uint32_t prototype)
{
    const int8_t *row = pml_pack_prototype(members->pack, members->number, prototype);
    return pml_dot(pml_lists_row(members, index), row, members->slot->rows.columns) *
           (int64_t)members->inverse[prototype];
}

void pml_lists_scores(const struct pml_lists_members *members, size_t index, int64_t *scores)
{
    for (uint32_t j = 0; j < members->cell_count; j++)
        scores[j] = INT64_MIN;
    for (uint32_t first = 0; first < members->prototypes; first += PML_TILE) {
        const uint32_t left = members->prototypes - first, count = left < PML_TILE ? left : PML_TILE;
        int32_t dots[PML_TILE];
        pml_dots(pml_lists_row(members, index), pml_pack_prototype(members->pack, members->number, first),
                 members->slot->rows.columns, count, dots);
        for (uint32_t p = 0; p < count; p++) {
            const int64_t score = dots[p] * (int64_t)members->inverse[first + p];
            int64_t *best = scores + members->cell_of[first + p];
            *best = score > *best ? score : *best;
        }
    }
}

int64_t pml_lists_score(const struct pml_lists_members *members, size_t index, uint32_t cell)
{
    int64_t best = INT64_MIN;
    for (uint32_t p = 0; p < members->prototypes; p++)
        if (members->cell_of[p] == cell) {
            const int64_t score = score_with(members, index, p);
            best = score > best ? score : best;
        }
    return best;
}

static int cell_piece(void *context, size_t piece)
{
    const struct pml_lists_members *members = context;
    const size_t count = members->slot->rows.count, first = piece * PML_LISTS_PIECE;
    for (size_t i = first; i < first + PML_LISTS_PIECE && i < count; i++)
        if (pml_nearest_cell(members->pack, pml_rows_kernels(), pml_lists_row(members, i), members->number,
                             &members->cells[i]) != PML_OK)
            return -1;
    return 0;
}

static void group(const struct pml_lists_members *members)
{
    const uint32_t cells = members->cell_count;
    const size_t count = members->slot->rows.count;
    memset(members->starts, 0, ((size_t)cells + 1) * sizeof *members->starts);
    for (size_t i = 0; i < count; i++)
        members->starts[members->cells[i] + 1]++;
    for (uint32_t j = 0; j < cells; j++)
        members->starts[j + 1] += members->starts[j];
    for (size_t i = 0; i < count; i++)
        members->grouped[members->starts[members->cells[i]]++] = (uint32_t)i;
    for (uint32_t j = cells; j > 0; j--) /* each start has moved to the end of its cell */
        members->starts[j] = members->starts[j - 1];
    members->starts[0] = 0;
}

static size_t pieces_of(const struct pml_lists_members *members)
{
    return (members->slot->rows.count + PML_LISTS_PIECE - 1) / PML_LISTS_PIECE;
}

int pml_lists_members_make(struct pml_lists_members *members, const struct pml_lists_slot *slot, const pml_pack *pack,
                           uint32_t number, unsigned threads)
{
    pml_pack_info info;
    *members = (struct pml_lists_members){.slot = slot, .pack = pack, .number = number, .neighbours = slot->neighbours};
    if (pml_pack_describe(pack, &info) != PML_OK)
        return -1;
    const size_t count = slot->rows.count;
    members->cell_count = info.cells;
    members->prototypes = info.prototypes;
    members->inverse = malloc(info.prototypes * sizeof *members->inverse);
    members->cell_of = malloc(info.prototypes * sizeof *members->cell_of);
    members->starts = malloc(((size_t)members->cell_count + 1) * sizeof *members->starts);
    members->cells = malloc(count * sizeof *members->cells);
    members->grouped = malloc(count * sizeof *members->grouped);
    if (!members->inverse || !members->cell_of || !members->starts || !members->cells || !members->grouped)
        return -1;
    for (uint32_t i = 0; i < info.prototypes; i++) {
        members->inverse[i] = pml_inverse_norm(pml_pack_prototype(pack, number, i), info.features);
        if (pml_pack_prototype_cell(pack, number, i, &members->cell_of[i]) != PML_OK)
            return -1;
    }
    if (pml_parallel(threads, pieces_of(members), cell_piece, members, NULL) != 0)
        return -1;
    group(members);
    return 0;
}

void pml_lists_members_free(struct pml_lists_members *members)
{
    if (members->neighbours != members->slot->neighbours)
        free(members->neighbours);
    free(members->inverse);
    free(members->cell_of);
    free(members->starts);
    free(members->cells);
    free(members->grouped);
}

/* ---- neighbours in a large slot ---- */

int pml_lists_by_rank(const void *left, const void *right)
{
    const struct pml_lists_ranked *a = left, *b = right;
    if (a->votes != b->votes)
        return a->votes > b->votes ? -1 : 1;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

struct nearest {
    struct pml_lists_ranked best[PML_LISTS_NEIGHBOURS];
    unsigned held;
};

static void keep(struct nearest *nearest, unsigned reach, struct pml_lists_ranked found)
{
    struct pml_lists_ranked *best = nearest->best;
    unsigned at = nearest->held;
    if (at == reach && pml_lists_by_rank(&best[reach - 1], &found) < 0)
        return;
    if (at == reach)
        at--;
    else
        nearest->held++;
    for (; at > 0 && pml_lists_by_rank(&found, &best[at - 1]) < 0; at--)
        best[at] = best[at - 1];
    best[at] = found;
}

struct search {
    struct pml_lists_members *members;
    size_t looked_at;
};

static void look_into(const struct pml_lists_members *members, size_t item, uint32_t cell, struct nearest *nearest)
{
    const struct pml_rows *rows = &members->slot->rows;
    const int8_t *row = pml_lists_row(members, item);
    for (uint32_t at = members->starts[cell]; at < members->starts[cell + 1]; at++) {
        const uint32_t other = members->grouped[at];
        const int64_t dot = pml_dot(row, pml_lists_row(members, other), rows->columns);
        if (other != item)
            keep(nearest, members->slot->reach, (struct pml_lists_ranked){0, dot * rows->inverse[other], other});
    }
}

static void search_item(const struct search *search, size_t item, int64_t *scores, struct pml_lists_ranked *cells)
{
    const struct pml_lists_members *members = search->members;
    const unsigned reach = members->slot->reach;
    struct nearest nearest = {.held = 0};
    size_t seen = 0;
    pml_lists_scores(members, item, scores);
    for (uint32_t j = 0; j < members->cell_count; j++)
        cells[j] = (struct pml_lists_ranked){0, scores[j], j};
    qsort(cells, members->cell_count, sizeof *cells, pml_lists_by_rank);
    for (uint32_t j = 0; j < members->cell_count && (seen < search->looked_at || nearest.held < reach); j++) {
        const uint32_t cell = cells[j].index;
        look_into(members, item, cell, &nearest);
        seen += members->starts[cell + 1] - members->starts[cell];
    }
    for (unsigned r = 0; r < reach; r++)
        members->neighbours[item * reach + r] = nearest.best[r].index;
}

static int search_piece(void *context, size_t piece)
{
    const struct search *search = context;
    const size_t count = search->members->slot->rows.count, first = piece * PML_LISTS_PIECE;
    struct pml_lists_ranked *cells = malloc(search->members->cell_count * sizeof *cells);
    int64_t *scores = malloc(search->members->cell_count * sizeof *scores);
    for (size_t i = first; cells && scores && i < first + PML_LISTS_PIECE && i < count; i++)
        search_item(search, i, scores, cells);
    int status = cells && scores ? 0 : -1;
    free(cells);
    free(scores);
    return status;
}

int pml_lists_search(struct pml_lists_members *members, size_t looked_at, unsigned threads,
                     const struct pml_progress *progress)
{
    struct search search = {members, looked_at};
    members->neighbours = malloc(members->slot->rows.count * members->slot->reach * sizeof *members->neighbours);
    return members->neighbours ? pml_parallel(threads, pieces_of(members), search_piece, &search, progress) : -1;
}
