/* SPDX-License-Identifier: Apache-2.0
 * How many cells a slot should have. */
#ifndef PML_CELLS_RULE_H
#define PML_CELLS_RULE_H

/* m for answers that carry the share f of the gallery, 0 < f ≤ 0.5, at ε: round(h/f), 2 … PML_CELLS_MAX.
 *
 * With lists of a share (SPEC 6.5) an answer carries f whatever m is, so m is free. The true cell is released with
 * probability e^ε/(e^ε + m − 1): fewer cells are told more truly, but the list of a larger one holds less of what is
 * near its queries. What decides is x = f·e^ε, the odds that m = 1/f cells leave the true one: below 0.8 noise is the
 * larger loss, and half as many cells (h = ½) win; from 16 on the truth comes through anyway, and twice as many do;
 * between, the lists fill the cells (h = 1). */
unsigned pml_cells_rule(double epsilon, double share);

/* The nearest number of cells that a slot can have. */
unsigned pml_cells_round(double cells);

#endif
