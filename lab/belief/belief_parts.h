/* SPDX-License-Identifier: Apache-2.0
 * What the files of the belief share; for them alone. */
#ifndef PML_BELIEF_PARTS_H
#define PML_BELIEF_PARTS_H

#include "belief.h"

/* Logarithms of likelihoods, up to a common summand, become probabilities, in place. Returns false when all of them are
 * −∞. */
bool belief_normalise(double *values, size_t count);

/* p_hi of `cells` symbols, and p_lo, which differ from what a device draws with by one rounding each. Returns false when ε is
 * out of range. */
struct belief_odds {
    double high, low;
};
bool belief_odds_of(double epsilon, uint32_t cells, struct belief_odds *odds);

#endif
