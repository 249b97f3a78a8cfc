/* SPDX-License-Identifier: Apache-2.0
 * The number of cells for an ε and a share. The rule was found on public sets and looks at no data. */
#include "cells_rule.h"

#include <math.h>
#include <privatemail.h>

unsigned pml_cells_round(double cells)
{
    cells = floor(cells + 0.5);
    return cells < 2.0 ? 2 : cells > PML_CELLS_MAX ? PML_CELLS_MAX : (unsigned)cells;
}

unsigned pml_cells_rule(double epsilon, double share)
{
    const double odds = exp(epsilon);
    return pml_cells_round(fmin(1.5 * odds, fmin(0.55 * pow(share * odds, 0.37), 8.0) / share));
}

struct pml_crowd_cells pml_cells_rule_crowd(double total, double fakes, double floor, size_t rows, size_t slots)
{
    const double each = (double)slots;
    const double cells = 0.6 * pow(total, -0.3) * pow(each * (0.1 * fakes + exp(-floor)), -0.6);
    const unsigned rounded = pml_cells_round(fmin(cells, 0.25 * (double)rows / each));
    return (struct pml_crowd_cells){rounded, total / (1.0 + each * rounded * fakes)};
}
