/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_NORMAL_H
#define PML_NORMAL_H
#include "base.h"

/* Φ(x), relative error at most PML_NORMAL_ERROR for −37 ≤ x (tested against 60 digits); 0 below, where Φ < 1e-298. */
#define PML_NORMAL_ERROR 1e-13
double pml_normal_cdf(double x);

#endif
