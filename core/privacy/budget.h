/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_BUDGET_H
#define PML_BUDGET_H
#include "base/base.h"

/* Prices are integers in the budget's own units (SPEC 4), rounded up: ε in 2^-20, μ² in 2^-40. */
uint64_t pml_budget_price(pml_mechanism mechanism, double epsilon, double mu);

pml_status pml_budget_check(const pml_budget *budget);

/* Into `changed`, which may be stored before `budget` follows. PML_ERROR_SPENT when the cap does not allow it. */
pml_status pml_budget_charge(const pml_budget *budget, pml_mechanism mechanism, uint64_t price, pml_budget *changed);
pml_status pml_budget_refund(const pml_budget *budget, pml_mechanism mechanism, uint64_t price, pml_budget *changed);

/* What never changes in a budget: owner and caps, the first bytes of it. */
#define PML_BUDGET_IDENTITY 44u

#endif
