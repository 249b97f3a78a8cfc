/* SPDX-License-Identifier: Apache-2.0
 * Levels of a scalar quantiser by Lloyd and Max: those with the least squared error for a sample of numbers. */
#ifndef PML_QUANTISER_H
#define PML_QUANTISER_H

#include <stddef.h>

/* Writes `count` ≥ 2 ascending levels for the sample, which it sorts. Same numbers on every platform that has IEEE doubles.
 * `sums` is scratch, one number more than the sample has. */
void pml_quantiser_levels(double *sample, size_t size, double *sums, double *levels, size_t count);

#endif
