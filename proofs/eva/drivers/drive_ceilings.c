/* SPDX-License-Identifier: Apache-2.0
 * Ceilings, and the μ and the ratio of a Gaussian, of any numbers: NaN, infinities, zeros, negative and huge ones.
 * eva: sources privacy/ceiling.c privacy/normal.c base/elementary.c
 * eva: options -eva-slevel 50 -eva-auto-loop-unroll 16 */
#include "arbitrary.h"
#include "core/base/elementary.h"
#include "core/privacy/normal.h"

int main(void)
{
    (void)pml_recall_ceiling(any_double(), any_double());
    (void)pml_epsilon_for(any_double(), any_double());
    (void)pml_gaussian_recall_ceiling(any_double(), any_double());
    (void)pml_gaussian_mu(any_double(), any_double());
    (void)pml_gaussian_ratio(any_double(), any_double());
    (void)pml_log(any_double());
    (void)pml_infinity();
    return 0;
}
