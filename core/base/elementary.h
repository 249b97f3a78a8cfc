/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_ELEMENTARY_H
#define PML_ELEMENTARY_H
#include "base.h"

/* Relative error at most PML_ELEMENTARY_ERROR (tested against 60 digits); built from + − × ÷ only, so every platform
 * with IEEE-754 doubles gives the same bits. */
#define PML_ELEMENTARY_ERROR (1.0 / 1125899906842624.0) /* 2^-50 */

double pml_exp(double x); /* −700 … 700; 0 below */
double pml_log(double x); /* normal positive x */

double pml_not_a_number(void);
double pml_infinity(void);

#endif
