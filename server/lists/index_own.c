/* SPDX-License-Identifier: Apache-2.0
 * Finds the cells that are nearest to each row. */
#include "index_own.h"
#include "common/rows/nearest.h"
#include "index_cells.h"

#include <stdlib.h>

#define PIECE 64u /* rows that a thread takes at once */

struct owning {
    const struct pml_rows *rows;
    const uint32_t *slots;
    struct pml_slot_cells *slot_cells;
    uint32_t cell_count, per_item;
    uint32_t *cells; /* per_item of each row */
};

/* The cell of the first-ranked prototype of the row's slot (SPEC 5.3), and that of the first-ranked one in another cell
 * when there are two cells per item. */
static void rank_cells(const struct owning *owning, size_t row, int64_t *scores, uint32_t *prototypes)
{
    const struct pml_slot_cells *slot = &owning->slot_cells[owning->slots[row]];
    uint32_t *cells = owning->cells + row * owning->per_item;
    int64_t best[2];
    uint32_t first[2];
    const struct pml_nearest nearest = {best, first, 2};
    pml_slot_cells_rank(slot, owning->rows->values + row * owning->rows->columns, 1, scores, prototypes);
    pml_nearest_clear(&nearest);
    for (uint32_t cell = 0; cell < slot->cell_count; cell++)
        pml_nearest_offer(&nearest, scores[cell], prototypes[cell]);
    cells[0] = slot->cells[first[0]];
    if (owning->per_item == 1)
        return;
    /* when all prototypes are in one cell, any other cell will do */
    cells[1] = first[1] == UINT32_MAX ? cells[0] == 0 : slot->cells[first[1]];
    if (cells[1] < cells[0]) {
        const uint32_t other = cells[0];
        cells[0] = cells[1];
        cells[1] = other;
    }
}

static pml_outcome rank_piece(void *context, size_t piece)
{
    const struct owning *owning = context;
    const size_t first = piece * PIECE, end = first + PIECE < owning->rows->count ? first + PIECE : owning->rows->count;
    int64_t *scores = malloc(((size_t)owning->cell_count + 1) * sizeof *scores);
    uint32_t *prototypes = malloc(((size_t)owning->cell_count + 1) * sizeof *prototypes);
    for (size_t i = first; i < end && scores && prototypes; i++)
        rank_cells(owning, i, scores, prototypes);
    const pml_outcome outcome = scores && prototypes ? PML_DONE : PML_NO_MEMORY;
    free(scores);
    free(prototypes);
    return outcome;
}

pml_outcome pml_lists_own(struct pml_cell_lists *lists, const pml_pack *pack, const struct pml_rows *rows,
                          const uint32_t *slots, uint32_t cells_per_item, unsigned threads)
{
    pml_pack_info info;
    *lists = (struct pml_cell_lists){.starts = malloc((rows->count + 1) * sizeof *lists->starts),
                                     .cells = malloc((rows->count * cells_per_item + 1) * sizeof *lists->cells)};
    if (!lists->starts || !lists->cells || pml_pack_describe(pack, &info) != PML_OK)
        return PML_NO_MEMORY;
    struct owning owning = {.rows = rows,
                            .slots = slots,
                            .slot_cells = calloc(info.slots, sizeof *owning.slot_cells),
                            .cell_count = info.cells,
                            .per_item = cells_per_item,
                            .cells = lists->cells};
    pml_outcome outcome = owning.slot_cells ? PML_DONE : PML_NO_MEMORY;
    for (uint32_t s = 0; s < info.slots && outcome == PML_DONE; s++)
        outcome = pml_slot_cells_read(&owning.slot_cells[s], pack, s);
    if (outcome == PML_DONE)
        outcome =
            pml_parallel(pml_parallel_threads(threads), (rows->count + PIECE - 1) / PIECE, rank_piece, &owning, NULL);
    for (size_t i = 0; i <= rows->count; i++)
        lists->starts[i] = i * cells_per_item;
    for (uint32_t s = 0; s < info.slots && owning.slot_cells; s++)
        pml_slot_cells_free(&owning.slot_cells[s]);
    free(owning.slot_cells);
    return outcome;
}
