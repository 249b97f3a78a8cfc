/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_BUDGET_H
#define PML_BUDGET_H
#include "base/base.h"

/* The sums that a budget keeps (SPEC 4). */
enum pml_ledger {
    PML_LEDGER_RESPONSE, /* ε, in 2^-20 */
    PML_LEDGER_GAUSSIAN, /* μ², in 2^-40 */
    PML_LEDGER_FLOOR,    /* ε₀, in 2^-20 */
    PML_LEDGER_CROWD,    /* μ² of own messages, in 2^-40 */
    PML_LEDGER_DELTA0,   /* δ₀ of own messages, in 2^-64 */
    PML_LEDGER_COUNT
};

/* What is charged, stored and refunded together: integers in the ledgers' own units, rounded up. */
struct pml_price {
    uint64_t of[PML_LEDGER_COUNT];
    bool unpromised; /* own messages of a crowd that promises nothing: a budget that keeps a promise refuses them */
};

struct pml_price pml_budget_price(pml_mechanism mechanism, double epsilon, double mu);
struct pml_price pml_crowd_price(const pml_crowd *policy, double epsilon, pml_bundle bundle);

pml_status pml_budget_check(const pml_budget *budget);

/* Into `changed`, another budget than `budget`, which may be stored before that one follows. PML_ERROR_SPENT when the cap does not allow it. */
pml_status pml_budget_charge(const pml_budget *budget, const struct pml_price *price, pml_budget *changed);
pml_status pml_budget_refund(const pml_budget *budget, const struct pml_price *price, pml_budget *changed);

/* What never changes in a budget, and differs between two: owner and caps. */
#define PML_BUDGET_IDENTITY_AT 8u
#define PML_BUDGET_IDENTITY 64u

#endif
