/* SPDX-License-Identifier: Apache-2.0
 * In place of elementary.c, where a driver is about what is made of e^x: any double within twice the error that its header
 * names, by Eva's own exponential. It checks that x is in range. The drivers `ceilings` and `draws` have what is inside. */
#include "arbitrary.h"
#include "core/base/elementary.h"

double pml_exp(double x)
{
    if (x < -700.0)
        return 0.0;
    //@ assert \is_finite(x) && x <= 700.0;
    return exp(x) * Frama_C_double_interval(1.0 - 2 * PML_ELEMENTARY_ERROR, 1.0 + 2 * PML_ELEMENTARY_ERROR);
}

double pml_infinity(void)
{
    return 0x1p1023 * 2.0;
}
