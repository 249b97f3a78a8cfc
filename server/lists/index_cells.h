/* SPDX-License-Identifier: Apache-2.0
 * How near rows are to the cells of a slot: by the nearest prototype of each cell (SPEC 5.3). */
#ifndef PML_INDEX_CELLS_H
#define PML_INDEX_CELLS_H

#include "common/message.h"
#include "common/rows/rows.h"

#include <privatemail_public.h>

/* The prototypes of one slot. */
struct pml_slot_cells {
    const int8_t *rows;              /* one behind the other, in the pack */
    uint32_t *norms, *cells;         /* of each: its inverse norm, its cell */
    uint32_t prototypes, cell_count; /* M, m */
    size_t columns;
};

/* Returns PML_DONE or PML_NO_MEMORY. The pack must have cells, and outlives it. A zeroed struct may be freed. */
pml_outcome pml_slot_cells_read(struct pml_slot_cells *slot, const pml_pack *pack, uint32_t number);
void pml_slot_cells_free(struct pml_slot_cells *slot);

static inline int64_t pml_slot_cells_score(const struct pml_slot_cells *slot, const int8_t *row, size_t prototype)
{
    return pml_dot(row, slot->rows + prototype * slot->columns, slot->columns) * (int64_t)slot->norms[prototype];
}

/* For each of `count` rows, at most PML_TILE, and each of the slot's cells: the best score of the cell's prototypes and the
 * first prototype that has it; INT64_MIN and UINT32_MAX for a cell without prototypes. `best` may be NULL. */
void pml_slot_cells_rank(const struct pml_slot_cells *slot, const int8_t *rows, size_t count, int64_t *scores,
                         uint32_t *best);

#endif
