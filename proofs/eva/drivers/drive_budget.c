/* SPDX-License-Identifier: Apache-2.0
 * Budgets: arbitrary stored bytes, caps, prices and orders of calls.
 * eva: sources privacy/budget.c privacy/normal.c base/elementary.c base/wipe.c
 * eva: stubs stubs_hash.c
 * eva: options -eva-slevel 50 -eva-auto-loop-unroll 16
 * eva: options -eva-split-return-function epsilon_in_range:0,delta_in_range:0,is_sum:0,mu2_cap:0 */
#include "core/privacy/budget.h"
#include "arbitrary.h"

static pml_budget budget, changed;
static uint8_t owner[16], stored[PML_BUDGET_SIZE];

static void prices(void)
{
    pml_crowd policy;
    struct pml_price price;
    ANY(price.of);
    price.unpromised = any_bool();
    (void)pml_budget_charge(&budget, &price, &changed);
    (void)pml_budget_refund(&budget, &price, &changed);
    /* what check_config and policy_sound allow, and what a calibration can be */
    double epsilon = any_double(), mu = any_double();
    if (!(epsilon == epsilon && epsilon >= 0x1p-20 && epsilon <= 16.0 && mu == mu && mu >= 0.0 && mu <= 1024.0))
        return;
    price = pml_budget_price(any_bool() ? PML_GAUSSIAN : PML_RESPONSE, epsilon, mu);
    (void)pml_budget_charge(&budget, &price, &changed);
    ANY(policy);
    policy.cover = any_bool();
    if (!(policy.mu == policy.mu && policy.mu >= 0.0 && policy.mu <= 16.0 && policy.delta0 == policy.delta0 &&
          policy.delta0 >= 0.0 && policy.delta0 <= 0x1p-10))
        return;
    price = pml_crowd_price(&policy, epsilon, (pml_bundle)Frama_C_interval(1, 3));
    (void)pml_budget_charge(&budget, &price, &changed);
    (void)pml_budget_refund(&changed, &price, &budget);
}

int main(void)
{
    pml_budget_caps caps;
    pml_budget_left left;
    ANY(owner);
    while (any_bool()) {
        ANY(caps);
        ANY(stored);
        switch (Frama_C_interval(0, 4)) {
        case 0:
            (void)pml_budget_create(MAYBE(&budget), MAYBE(owner), MAYBE(&caps));
            break;
        case 1:
            (void)pml_budget_restore(MAYBE(&budget), MAYBE(owner), MAYBE(stored), any_size(PML_BUDGET_SIZE));
            break;
        case 2:
            (void)pml_budget_remaining(MAYBE(&budget), MAYBE(&left));
            break;
        case 3:
            prices();
            break;
        default:
            ANY(budget);
            break;
        }
    }
    return 0;
}
