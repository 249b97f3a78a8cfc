/* SPDX-License-Identifier: Apache-2.0
 * Chooses the number of prototypes per cell. */
#ifndef PML_CELLS_CHOICE_H
#define PML_CELLS_CHOICE_H

#include "common/rows/rows.h"

#include <stdbool.h>

struct pml_cell_choice {
    const struct pml_rows *rows; /* slot by slot */
    const uint32_t *starts;      /* of the slots; starts[slots] = number of rows */
    size_t slots, cells;         /* cells per slot */
    size_t rows_per_prototype;   /* as in cells.h; the trials, on half of the rows, take half of it */
    uint64_t seed;
    unsigned threads;
    const struct pml_progress *progress;
};

/* Tries 1, 4 and 16 prototypes per cell. Each is built from half of the rows of every slot (or of a sample, if there are
 * many) and scored on the other half, as if that were a gallery. The score of a row is the share of its 8 nearest that
 * are in its own cell, minus the share of all rows that are in that cell. The latter is what an answer of the same length
 * finds by chance, so cells gain nothing by being large.
 *
 * `best` becomes the number that does best for all slots together; a larger number must gain half a percent. A number is
 * not chosen when a slot has too few rows for it, when a slot gets no more distinct prototypes from it than from the
 * number before, or when it makes more prototypes than can be joined or packed. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_cells_choose(const struct pml_cell_choice *choice, unsigned *best);

/* Cells whose clusters had too few rows are empty. Returns whether one prototype per cell leaves more than one cell in
 * twelve empty and every slot has rows enough for two. `distinct`: prototypes of each slot that do not repeat others. */
bool pml_cells_need_two(const struct pml_cell_choice *choice, const size_t *distinct);

/* The score: the sum over rows of (share of the 8 of the row's list that are in its cell − share of all rows that are).
 * `sizes`: one zero per cell. */
double pml_cells_score(const uint32_t *cells, const uint32_t *lists, size_t rows, uint32_t *sizes);

#endif
