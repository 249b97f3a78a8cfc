/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_NORMAL_H
#define PML_NORMAL_H
#include "base/base.h"

/* Φ(x), relative error at most PML_NORMAL_ERROR for −37 ≤ x (tested against 60 digits); 0 below, where Φ < 1e-298. */
#define PML_NORMAL_ERROR 1e-13
double pml_normal_cdf(double x);

/* An upper bound of δ(ε) of the Gaussian mechanism with shift/σ = μ, for 2^-40 ≤ μ ≤ 64 and 0 ≤ ε ≤ 256. */
double pml_gaussian_delta(double mu, double epsilon);

/* A lower bound of it; may be negative. */
double pml_gaussian_delta_below(double mu, double epsilon);

#endif
