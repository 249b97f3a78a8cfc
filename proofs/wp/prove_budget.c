/* SPDX-License-Identifier: Apache-2.0
 * The budget, and what follows from the contracts of charge and refund together. */
#include "../../core/privacy/budget.c"

/*@ requires \valid_read(budget) && \valid_read(price) && \valid(charged) && \valid(refunded);
    requires \separated(charged, refunded, budget, price);
    terminates \true;
    assigns *charged, *refunded;
    ensures \result == PML_OK ==> \forall integer k; 0 <= k < PML_LEDGER_COUNT ==>
      kept(refunded, k, SPENT) == \old(kept(budget, k, SPENT)) &&
      kept(refunded, k, CAP) == \old(kept(budget, k, CAP)); */
static pml_status charge_and_refund(const pml_budget *budget, const struct pml_price *price, pml_budget *charged,
                                    pml_budget *refunded)
{
    pml_status status = pml_budget_charge(budget, price, charged);
    //@ assert \forall integer k; 0 <= k < PML_LEDGER_COUNT ==> price->of[k] == \at(price->of[k], Pre);
    return status == PML_OK ? pml_budget_refund(charged, price, refunded) : status;
}
