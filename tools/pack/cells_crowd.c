/* SPDX-License-Identifier: Apache-2.0
 * Plans twice: how many fakes a cell needs does not depend on the number of cells, and that number depends on them. */
#include "cells_crowd.h"

#include <stdlib.h>

pml_status pml_cells_plan_crowd(pml_crowd_goal *goal, double total, size_t rows, struct pml_crowd_cells *cells,
                                pml_crowd_planned *plan)
{
    double *scratch = malloc(PML_CROWD_SCRATCH_MAX * sizeof *scratch);
    if (!scratch)
        return PML_ERROR_MEMORY;
    goal->use.cells = 2; /* the fewest: if the promise needs too many fakes, then not because of them */
    pml_status status = pml_crowd_plan(goal, scratch, PML_CROWD_SCRATCH_MAX, plan);
    if (status == PML_OK) {
        *cells = pml_cells_rule_crowd(total, goal->relay ? 0.0 : plan->fakes / 2.0, goal->use.floor, rows, 1);
        goal->use.cells = cells->cells;
        status = pml_crowd_plan(goal, scratch, PML_CROWD_SCRATCH_MAX, plan);
    }
    free(scratch);
    return status;
}
