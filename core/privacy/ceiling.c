/* SPDX-License-Identifier: Apache-2.0
 * What ε buys: the ceiling of recall (PRIVACY.md, ceilings). In: public parameters. Out: ceilings, rounded up. */
#include "base/elementary.h"

double pml_recall_ceiling(double epsilon, double share)
{
    if (!(epsilon >= 0.0 && epsilon <= 64.0 && share >= 0.0 && share <= 1.0))
        return pml_not_a_number();
    double odds = share * pml_exp(epsilon);
    double chance = odds / (1.0 - share + odds) * (1.0 + 4 * PML_ELEMENTARY_ERROR);
    return chance < 1.0 ? chance : 1.0;
}

double pml_epsilon_for(double probability, double share)
{
    if (!(share > 1e-100 && probability < 1.0 && share <= probability))
        return pml_not_a_number();
    double ratio = probability / share * ((1.0 - share) / (1.0 - probability));
    double epsilon = pml_log(ratio);
    return epsilon + (epsilon + 1.0) * 8 * PML_ELEMENTARY_ERROR;
}
