/* SPDX-License-Identifier: Apache-2.0
 * How many prototypes a cell gets. */
#ifndef PML_CELLS_CHOICE_H
#define PML_CELLS_CHOICE_H

#include "common/rows/rows.h"

struct pml_cell_choice {
    const struct pml_rows *rows; /* slot by slot */
    const uint32_t *starts;      /* of the slots; starts[slots] = number of rows */
    size_t slots, cells;         /* cells a slot */
    size_t rows_per_prototype;   /* as in cells.h; the trials, on half of the rows, take half of it */
    uint64_t seed;
    unsigned threads;
    const struct pml_progress *progress;
};

/* Tries 1, 4 and 16 on half of the rows of each slot (of a sample of them, if there are many) and scores the other
 * half, as if it were a gallery: of a row's 8 nearest there the share in its own cell, less the share of all there in
 * that cell. The latter is what an answer of the same length brings by chance, so cells gain nothing by being large.
 * Answers in `best` what does best for all slots together; a dearer one must gain half a percent. What some slot has
 * too few rows for, or fills with no more distinct prototypes than the candidate before can have, is not chosen, nor what
 * makes more than can be joined or packed.
 * −1 without memory. */
int pml_cells_choose(const struct pml_cell_choice *choice, unsigned *best);

/* The score: the sum over rows of (share of the 8 of the row's list that are in its cell − share of all rows that are).
 * `sizes`: zeros, one a cell. */
double pml_cells_score(const uint32_t *cells, const uint32_t *lists, size_t rows, uint32_t *sizes);

#endif
