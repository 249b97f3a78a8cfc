/* SPDX-License-Identifier: Apache-2.0
 * Scores rows with the cells of a slot. */
#include "index_cells.h"

#include <stdlib.h>

pml_outcome pml_slot_cells_read(struct pml_slot_cells *slot, const pml_pack *pack, uint32_t number)
{
    pml_pack_info info;
    *slot = (struct pml_slot_cells){0};
    if (pml_pack_describe(pack, &info) != PML_OK)
        return PML_REFUSED;
    *slot = (struct pml_slot_cells){.norms = malloc(info.prototypes * sizeof *slot->norms),
                                    .cells = malloc(info.prototypes * sizeof *slot->cells),
                                    .prototypes = info.prototypes,
                                    .cell_count = info.cells,
                                    .columns = info.features};
    if (!slot->norms || !slot->cells)
        return PML_NO_MEMORY;
    return pml_pack_prototypes(pack, number, &slot->rows, slot->norms, slot->cells) == PML_OK ? PML_DONE : PML_REFUSED;
}

void pml_slot_cells_free(struct pml_slot_cells *slot)
{
    free(slot->norms);
    free(slot->cells);
    *slot = (struct pml_slot_cells){0};
}

void pml_slot_cells_rank(const struct pml_slot_cells *slot, const int8_t *rows, size_t count, int64_t *scores,
                         uint32_t *best)
{
    const size_t cells = slot->cell_count;
    int32_t dots[PML_TILE * PML_TILE];
    for (size_t i = 0; i < count * cells; i++) {
        scores[i] = INT64_MIN;
        if (best)
            best[i] = UINT32_MAX;
    }
    for (uint32_t first = 0; first < slot->prototypes; first += PML_TILE) {
        const uint32_t tile = slot->prototypes - first < PML_TILE ? slot->prototypes - first : PML_TILE;
        pml_tile_dots(rows, count, slot->rows + first * slot->columns, tile, slot->columns, dots);
        for (size_t i = 0; i < count; i++)
            for (uint32_t j = 0; j < tile; j++) {
                const int64_t score = dots[i * PML_TILE + j] * (int64_t)slot->norms[first + j];
                const size_t at = i * cells + slot->cells[first + j];
                if (score <= scores[at])
                    continue;
                scores[at] = score;
                if (best)
                    best[at] = first + j;
            }
    }
}
