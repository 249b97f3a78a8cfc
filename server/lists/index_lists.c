/* SPDX-License-Identifier: Apache-2.0
 * Which cells of a pack list which items of a gallery. There is no log of queries, so the gallery's own items stand for
 * queries, and vote; so do the cell's prototypes, because a cell may have few items, and guests: public rows that are like
 * queries where items are not. */
#include "index_lists.h"
#include "index_lists_parts.h"

#include <stdlib.h>

size_t pml_lists_wanted(size_t items, uint32_t share)
{
    const uint64_t wanted = ((uint64_t)items * share + PML_SHARE_UNIT / 2) / PML_SHARE_UNIT;
    return wanted > 0 || items == 0 ? (size_t)wanted : 1;
}

void pml_lists_wanted_each(const struct pml_lists_gallery *gallery, uint32_t share, uint32_t *wanted)
{
    for (size_t s = 0; s < gallery->slot_count; s++)
        wanted[s] = (uint32_t)pml_lists_wanted(gallery->slots[s].rows.count, share);
}

/* ---- the list of one cell ---- */

struct listing {
    const struct pml_lists_slot *slot;
    struct pml_slot_cells cells;
    struct pml_lists_voters items, guests;
    size_t wanted;
    uint32_t *lists; /* `wanted` items of each cell */
};

/* An item that a cell may list. */
struct nominee {
    uint64_t votes;
    int64_t cosine; /* with the nearest prototype of the cell, in 2^-60 */
    uint32_t item;
};

/* For qsort: more votes, larger cosine, smaller item first. */
static int by_rank(const void *left, const void *right)
{
    const struct nominee *a = left, *b = right;
    if (a->votes != b->votes)
        return a->votes > b->votes ? -1 : 1;
    if (a->cosine != b->cosine)
        return a->cosine > b->cosine ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

/* An item that votes in the cell votes for itself and for its neighbours. A guest is in no list, so its nearest item stands
 * where the item itself would. */
static void vote(const struct listing *listing, size_t cell, uint64_t *votes)
{
    const struct pml_lists_slot *slot = listing->slot;
    const struct pml_lists_voters *items = &listing->items, *guests = &listing->guests;
    for (size_t at = items->starts[cell]; at < items->starts[cell + 1]; at++) {
        const struct pml_lists_voter voter = items->voters[at];
        const uint32_t *neighbours = slot->neighbours + (size_t)voter.row * slot->reach;
        votes[voter.row] += voter.part * pml_lists_vote(0);
        for (unsigned r = 0; r < slot->reach; r++)
            votes[neighbours[r]] += voter.part * pml_lists_vote(r + 1);
    }
    for (size_t at = guests->starts[cell]; at < guests->starts[cell + 1]; at++) {
        const struct pml_lists_voter voter = guests->voters[at];
        const uint32_t *neighbours = slot->guest_neighbours + (size_t)voter.row * slot->guest_reach;
        for (unsigned r = 0; r < slot->guest_reach; r++)
            votes[neighbours[r]] += voter.part * pml_lists_vote(r);
    }
}

/* Every item's cosine with the nearest prototype of the cell. A score would favour items with large norms. */
static void compare(const struct listing *listing, size_t cell, int64_t *cosines)
{
    const struct pml_rows *rows = &listing->slot->rows;
    for (size_t i = 0; i < rows->count; i++)
        cosines[i] = INT64_MIN;
    for (uint32_t p = 0; p < listing->cells.prototypes; p++)
        for (size_t i = 0; i < rows->count && listing->cells.cells[p] == cell; i++) {
            const int64_t cosine =
                pml_slot_cells_score(&listing->cells, rows->values + i * rows->columns, p) * (int64_t)rows->inverse[i];
            cosines[i] = cosine > cosines[i] ? cosine : cosines[i];
        }
}

/* Puts a nominee at the top of a heap whose last ranked is there, and sinks it. */
static void sink(struct nominee *heap, size_t count, struct nominee nominee)
{
    size_t at = 0;
    for (size_t below = 1; below < count; below = 2 * at + 1) {
        below += below + 1 < count && by_rank(&heap[below + 1], &heap[below]) > 0;
        if (by_rank(&heap[below], &nominee) < 0)
            break;
        heap[at] = heap[below];
        at = below;
    }
    heap[at] = nominee;
}

/* The first-ranked items, as many as are wanted, in their order. */
static void choose(const struct listing *listing, const uint64_t *votes, const int64_t *cosines, struct nominee *chosen)
{
    const size_t count = listing->slot->rows.count, wanted = listing->wanted;
    for (size_t i = 0; i < wanted; i++) /* last ranked first: a heap */
        chosen[i] = (struct nominee){0, INT64_MIN, UINT32_MAX};
    for (size_t i = 0; i < count; i++) {
        const struct nominee nominee = {votes[i], cosines[i], (uint32_t)i};
        if (by_rank(&nominee, &chosen[0]) < 0)
            sink(chosen, wanted, nominee);
    }
    qsort(chosen, wanted, sizeof *chosen, by_rank);
}

static pml_outcome list_cell(void *context, size_t cell)
{
    const struct listing *listing = context;
    const size_t count = listing->slot->rows.count;
    uint64_t *votes = calloc(count, sizeof *votes);
    int64_t *cosines = malloc(count * sizeof *cosines);
    struct nominee *chosen = malloc(listing->wanted * sizeof *chosen);
    pml_outcome outcome = votes && cosines && chosen ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        compare(listing, cell, cosines);
        choose(listing, votes, cosines, chosen);
        for (size_t r = 0; r < listing->wanted; r++)
            votes[chosen[r].item] = PML_LISTS_OF_CELL * pml_lists_vote((unsigned)r);
        vote(listing, cell, votes);
        choose(listing, votes, cosines, chosen);
        for (size_t i = 0; i < listing->wanted; i++)
            listing->lists[cell * listing->wanted + i] = chosen[i].item;
    }
    free(votes);
    free(cosines);
    free(chosen);
    return outcome;
}

/* ---- all of them ---- */

static pml_outcome list_slot(const struct pml_lists_slot *slot, const pml_pack *pack, uint32_t number, unsigned threads,
                             const struct pml_progress *progress, struct listing *listing)
{
    listing->slot = slot;
    pml_outcome outcome = pml_slot_cells_read(&listing->cells, pack, number);
    if (outcome == PML_DONE)
        outcome = pml_lists_voters_make(&listing->items, &slot->rows, &listing->cells, threads);
    if (outcome == PML_DONE)
        outcome = pml_lists_voters_make(&listing->guests, &slot->guests, &listing->cells, threads);
    if (outcome == PML_DONE)
        outcome = pml_parallel(threads, listing->cells.cell_count, list_cell, listing, progress);
    pml_lists_voters_free(&listing->items);
    pml_lists_voters_free(&listing->guests);
    pml_slot_cells_free(&listing->cells);
    return outcome;
}

/* Items that a cell of a slot lists, as many as there are. */
static size_t length_of(const struct pml_lists_gallery *gallery, size_t slot, const uint32_t *wanted)
{
    const size_t items = gallery->slots[slot].rows.count;
    return wanted[slot] < items ? wanted[slot] : items;
}

/* From the items of each cell to the cells of each row. `members`: slot by slot, cell by cell. */
static void turn(struct pml_cell_lists *lists, const struct pml_lists_gallery *gallery, uint32_t cells,
                 const uint32_t *wanted, const uint32_t *members)
{
    const size_t rows = gallery->rows.count;
    for (int filling = 0; filling < 2; filling++) {
        const uint32_t *at = members, *origins = gallery->origins;
        for (size_t s = 0; s < gallery->slot_count; origins += gallery->slots[s++].rows.count) {
            const size_t length = length_of(gallery, s, wanted);
            for (size_t i = 0; i < cells * length; i++) {
                const uint32_t row = origins[*at++];
                if (filling)
                    lists->cells[lists->starts[row]++] = (uint32_t)(i / length);
                else
                    lists->starts[row + 1]++;
            }
        }
        for (size_t i = 0; i < rows && !filling; i++)
            lists->starts[i + 1] += lists->starts[i];
    }
    for (size_t i = rows; i > 0; i--) /* each start has moved to the end of its row */
        lists->starts[i] = lists->starts[i - 1];
    lists->starts[0] = 0;
}

pml_outcome pml_lists_make(struct pml_cell_lists *lists, const struct pml_lists_gallery *gallery, const pml_pack *pack,
                           const uint32_t *wanted, unsigned threads, const struct pml_progress *progress)
{
    pml_pack_info info;
    size_t total = 0;
    *lists = (struct pml_cell_lists){0};
    if (pml_pack_describe(pack, &info) != PML_OK)
        return PML_NO_MEMORY;
    for (size_t s = 0; s < gallery->slot_count; s++)
        total += info.cells * length_of(gallery, s, wanted);
    uint32_t *members = malloc((total + 1) * sizeof *members);
    lists->starts = calloc(gallery->rows.count + 1, sizeof *lists->starts);
    lists->cells = malloc((total + 1) * sizeof *lists->cells);
    pml_outcome outcome = members && lists->starts && lists->cells ? PML_DONE : PML_NO_MEMORY;
    struct listing listing = {.lists = members};
    for (uint32_t s = 0; s < gallery->slot_count && outcome == PML_DONE; s++) {
        listing.wanted = length_of(gallery, s, wanted);
        if (listing.wanted > 0)
            outcome =
                list_slot(&gallery->slots[s], pack, s, threads, gallery->slot_count == 1 ? progress : NULL, &listing);
        listing.lists += info.cells * listing.wanted;
        pml_progress_tell(progress, (double)(s + 1) / (double)gallery->slot_count);
    }
    if (outcome == PML_DONE)
        turn(lists, gallery, info.cells, wanted, members);
    else
        pml_lists_free(lists);
    free(members);
    return outcome;
}

void pml_lists_free(struct pml_cell_lists *lists)
{
    free(lists->starts);
    free(lists->cells);
    *lists = (struct pml_cell_lists){0};
}

/* ---- without cells ---- */

pml_outcome pml_lists_popular(const struct pml_lists_gallery *gallery, uint32_t *order)
{
    const size_t rows = gallery->rows.count;
    struct nominee *nominees = malloc(rows * sizeof *nominees), *of_slot = nominees;
    if (!nominees)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < rows; i++)
        nominees[i] = (struct nominee){pml_lists_vote(0), 0, (uint32_t)i};
    for (size_t s = 0; s < gallery->slot_count; of_slot += gallery->slots[s++].rows.count) {
        const struct pml_lists_slot *slot = &gallery->slots[s];
        for (size_t i = 0; i < slot->rows.count * slot->reach; i++)
            of_slot[slot->neighbours[i]].votes += pml_lists_vote((unsigned)(i % slot->reach) + 1);
        for (size_t i = 0; i < slot->guests.count * slot->guest_reach; i++)
            of_slot[slot->guest_neighbours[i]].votes += pml_lists_vote((unsigned)(i % slot->guest_reach));
    }
    qsort(nominees, rows, sizeof *nominees, by_rank);
    for (size_t i = 0; i < rows; i++)
        order[i] = gallery->origins[nominees[i].item];
    free(nominees);
    return PML_DONE;
}
