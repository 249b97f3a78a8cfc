/* SPDX-License-Identifier: Apache-2.0
 * Cells, lists and fakes for a crowd, chosen together. */
#ifndef PML_CELLS_CROWD_H
#define PML_CELLS_CROWD_H

#include "cells_rule.h"

#include <privatemail_crowd.h>

/* Chooses cells and lists by the rule (cells_rule.h) for the share `total` that may come down and `rows` public rows, and
 * plans the fakes. goal->use.cells is not read; it becomes the number of cells. Returns PML_ERROR_MEMORY when memory runs
 * out, otherwise what pml_crowd_plan returns. */
pml_status pml_cells_plan_crowd(pml_crowd_goal *goal, double total, size_t rows, struct pml_crowd_cells *cells,
                                pml_crowd_planned *plan);

#endif
