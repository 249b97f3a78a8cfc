/* SPDX-License-Identifier: Apache-2.0
 * In: a gallery and the cells of a pack. Out: which cells list which item.
 * Never asks what a query is: the gallery's own items stand for queries, and vote. */
#include "index_lists.h"
#include "index_lists_parts.h"
#include "store.h"

#include <stdlib.h>

/* The r-th vote of an item weighs 1/(r + 4), r = 0 … 16: a multiple of 4 … 20 makes these whole, and sums exact. */
#define VOTE 232792560u

size_t pml_lists_wanted(size_t items, uint32_t share)
{
    const uint64_t wanted = ((uint64_t)items * share + PML_SHARE_UNIT / 2) / PML_SHARE_UNIT;
    return wanted > 0 || items == 0 ? (size_t)wanted : 1;
}

/* ---- the list of one cell ---- */

struct listing {
    struct pml_lists_members members;
    size_t wanted;
    uint32_t *lists; /* `wanted` items of each cell */
};

/* The items of the cell vote: each for itself and for its neighbours. */
static void vote(const struct pml_lists_members *members, size_t cell, uint64_t *votes)
{
    const unsigned reach = members->slot->reach;
    for (uint32_t at = members->starts[cell]; at < members->starts[cell + 1]; at++) {
        const size_t voter = members->grouped[at];
        votes[voter] += VOTE / 4;
        for (unsigned r = 0; r < reach; r++)
            votes[members->neighbours[voter * reach + r]] += VOTE / (r + 5);
    }
}

/* Items with votes; when they are too few, all. Answers how many. */
static size_t nominate(const struct listing *listing, size_t cell, const uint64_t *votes,
                       struct pml_lists_ranked *ranked)
{
    const size_t count = listing->members.slot->rows.count;
    size_t voted = 0, nominated = 0;
    for (size_t i = 0; i < count; i++)
        voted += votes[i] > 0;
    for (size_t i = 0; i < count; i++) {
        if (votes[i] > 0 || voted < listing->wanted)
            ranked[nominated++] =
                (struct pml_lists_ranked){votes[i], pml_lists_score(&listing->members, i, (uint32_t)cell), (uint32_t)i};
    }
    return nominated;
}

static int list_cell(void *context, size_t cell)
{
    const struct listing *listing = context;
    const size_t count = listing->members.slot->rows.count;
    uint64_t *votes = calloc(count, sizeof *votes);
    struct pml_lists_ranked *ranked = malloc(count * sizeof *ranked);
    int status = votes && ranked ? 0 : -1;
    if (status == 0) {
        vote(&listing->members, cell, votes);
        qsort(ranked, nominate(listing, cell, votes, ranked), sizeof *ranked, pml_lists_by_rank);
        for (size_t i = 0; i < listing->wanted; i++)
            listing->lists[cell * listing->wanted + i] = ranked[i].index;
    }
    free(votes);
    free(ranked);
    return status;
}

/* ---- all of them ---- */

static int list_slot(const struct pml_lists_gallery *gallery, const pml_pack *pack, uint32_t number, unsigned threads,
                     const struct pml_progress *progress, struct listing *listing)
{
    const struct pml_lists_slot *slot = &gallery->slots[number];
    int status = pml_lists_members_make(&listing->members, slot, pack, number, threads);
    if (status == 0 && !slot->neighbours)
        status = pml_lists_search(&listing->members, gallery->looked_at, threads, progress);
    if (status == 0)
        status = pml_parallel(threads, listing->members.cell_count, list_cell, listing, NULL);
    pml_lists_members_free(&listing->members);
    return status;
}

/* From the items of each cell to the cells of each row. `members`: slot by slot, cell by cell. */
static void turn(struct pml_cell_lists *lists, const struct pml_lists_gallery *gallery, uint32_t cells, uint32_t share,
                 const uint32_t *members)
{
    const size_t rows = gallery->rows.count;
    for (int filling = 0; filling < 2; filling++) {
        const uint32_t *at = members, *origins = gallery->origins;
        for (size_t s = 0; s < gallery->slot_count; origins += gallery->slots[s++].rows.count) {
            const size_t wanted = pml_lists_wanted(gallery->slots[s].rows.count, share);
            for (size_t i = 0; i < cells * wanted; i++) {
                const uint32_t row = origins[*at++];
                if (filling)
                    lists->cells[lists->starts[row]++] = (uint32_t)(i / wanted);
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

int pml_lists_make(struct pml_cell_lists *lists, const struct pml_lists_gallery *gallery, const pml_pack *pack,
                   uint32_t share, unsigned threads, const struct pml_progress *progress)
{
    pml_pack_info info;
    size_t total = 0;
    *lists = (struct pml_cell_lists){0};
    if (pml_pack_describe(pack, &info) != PML_OK)
        return -1;
    for (size_t s = 0; s < gallery->slot_count; s++)
        total += info.cells * pml_lists_wanted(gallery->slots[s].rows.count, share);
    uint32_t *members = malloc(total * sizeof *members);
    lists->starts = calloc(gallery->rows.count + 1, sizeof *lists->starts);
    lists->cells = malloc(total * sizeof *lists->cells);
    int status = members && lists->starts && lists->cells ? 0 : -1;
    struct listing listing = {.lists = members};
    for (uint32_t s = 0; s < gallery->slot_count && status == 0; s++) {
        listing.wanted = pml_lists_wanted(gallery->slots[s].rows.count, share);
        if (listing.wanted > 0)
            status = list_slot(gallery, pack, s, threads, gallery->slot_count == 1 ? progress : NULL, &listing);
        listing.lists += info.cells * listing.wanted;
        pml_progress_tell(progress, (double)(s + 1) / (double)gallery->slot_count);
    }
    if (status == 0)
        turn(lists, gallery, info.cells, share, members);
    else
        pml_lists_free(lists);
    free(members);
    return status;
}

void pml_lists_free(struct pml_cell_lists *lists)
{
    free(lists->starts);
    free(lists->cells);
    *lists = (struct pml_cell_lists){0};
}
