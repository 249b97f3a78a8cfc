/* SPDX-License-Identifier: Apache-2.0
 * How many cells a slot should have. */
#ifndef PML_CELLS_RULE_H
#define PML_CELLS_RULE_H

#include <stddef.h>

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

/* The same in a crowd, where a client's fakes are answered too. */
struct pml_crowd_cells {
    unsigned cells; /* m */
    double share;   /* f of the lists */
};

/* `total`: the share T of the gallery that may come down to a client; `fakes`: how many fakes per cell of the pack a
 * client sends on average, 0 when the relay makes them; `floor`: ε₀; `rows`: public rows; `slots`: G. One own message:
 *
 *   m = 0.6·T^-0.3·(G·(0.1·fakes + e^-ε₀))^-0.6, at most a quarter of a slot's rows, rounded as above
 *   f = T/(1 + G·m·fakes)
 *
 * With several slots a message names one of G·m symbols and its answer has one slot. T and f are then shares of a slot.
 * A finer cell has a better list, but more cells need more fakes, and with them shorter lists, and are drawn wrongly more
 * often. Fitted on three sets for 10^3 to 10^7 clients, floors of 8 and 10 and totals of 0.5 to 10 % (docs/DESIGN.md). */
struct pml_crowd_cells pml_cells_rule_crowd(double total, double fakes, double floor, size_t rows, size_t slots);

/* The nearest number of cells that a slot can have. */
unsigned pml_cells_round(double cells);

#endif
