/* SPDX-License-Identifier: Apache-2.0
 * How many cells a slot should have. */
#ifndef PML_CELLS_RULE_H
#define PML_CELLS_RULE_H

/* Defaults of pack and index. */
#define PML_SHARE_DEFAULT 0.02
#define PML_EPSILON_DEFAULT 4.0

/* The number of cells m for answers that carry the share f of the gallery, 0 < f ≤ 0.5, at ε: the smallest of 1.5·e^ε,
 * 0.55·(f·e^ε)^0.37/f and 8/f, rounded, 2 … PML_CELLS_MAX.
 *
 * With lists of a share (SPEC 6.5) an answer carries f whatever m is, so m can be chosen freely. The true cell is released
 * with probability e^ε/(e^ε + m − 1): with fewer cells, the true one is released more often, but the list of a larger cell
 * holds less of what is near its queries. The second term balances the two. At small ε the first term keeps the true cell
 * probable enough to matter. The third, 8/f, is the largest m that was measured. All terms were fitted on three sets, with
 * four shares and ε from 0.5 to 8 (docs/RESULTS.md). */
unsigned pml_cells_rule(double epsilon, double share);

/* The nearest number of cells that a slot can have. */
unsigned pml_cells_round(double cells);

#endif
