/* SPDX-License-Identifier: Apache-2.0
 * How many cells a slot should have. */
#ifndef PML_CELLS_RULE_H
#define PML_CELLS_RULE_H

/* What pack and index take when nobody says otherwise. */
#define PML_SHARE_DEFAULT 0.02
#define PML_EPSILON_DEFAULT 4.0

/* m for answers that carry the share f of the gallery, 0 < f ≤ 0.5, at ε: the smallest of 1.5·e^ε,
 * 0.55·(f·e^ε)^0.37/f and 8/f, rounded, 2 … PML_CELLS_MAX.
 *
 * With lists of a share (SPEC 6.5) an answer carries f whatever m is, so m is free. The true cell is released with
 * probability e^ε/(e^ε + m − 1): fewer cells are told more truly, but the list of a larger one holds less of what is
 * near its queries. The second term balances the two; at small ε the first keeps the true cell from drowning, and lists
 * become what is near to many; 8/f ends where nothing was measured. Measured on three sets with four shares and ε from 0.5 to 8 (docs/RESULTS.md). */
unsigned pml_cells_rule(double epsilon, double share);

/* The nearest number of cells that a slot can have. */
unsigned pml_cells_round(double cells);

#endif
