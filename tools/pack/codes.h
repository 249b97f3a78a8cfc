/* SPDX-License-Identifier: Apache-2.0
 * Codes: the positions of slots, anchors and cells in the embedding. */
#ifndef PML_CODES_H
#define PML_CODES_H

#include "pack_builder.h"

struct pml_code_book {
    unsigned dimensions;              /* k */
    int16_t *slots, *anchors, *cells; /* k values each; cells slot by slot */
};

/* Slots and anchors. `starts`: anchors of slot s are starts[s] … starts[s+1]−1. Random: normal, standard deviation
 * 8000. Class: the slots have positions on a line (k = 1), a disk (k = 2) or a sphere of radius 24000, and the anchors of
 * a slot lie around its position. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_codes_draw(struct pml_code_book *book, enum pml_codes kind, uint64_t seed, const uint32_t *starts,
                           size_t slots);

/* Cell codes of one slot: the mean of the codes of the anchors in each cell. `cells`: the cell of each anchor of the slot,
 * below `used`; cells from there up to `cell_count` repeat the codes of those before. A cell below it without anchors
 * gets the slot's code. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_codes_average(struct pml_code_book *book, size_t slot, const uint32_t *starts, const uint32_t *cells,
                              size_t cell_count, size_t used);

#endif
