/* SPDX-License-Identifier: Apache-2.0
 * What counts say about probabilities, and what probabilities say about ε. All of it is independent of the library that
 * is audited. */
#ifndef CLI_AUDIT_BOUNDS_H
#define CLI_AUDIT_BOUNDS_H

#include <stdint.h>

/* I_x(a, b), the regularised incomplete beta function; a, b > 0. */
double audit_incomplete_beta(double a, double b, double x);

/* Clopper and Pearson: bounds of a probability after `successes` of `trials`, each wrong with probability at most
 * `risk`. Rounded outward. */
double audit_binomial_lower(uint64_t successes, uint64_t trials, double risk);
double audit_binomial_upper(uint64_t successes, uint64_t trials, double risk);

/* About what the bounds will be after `later` more trials, given these counts: quick, to choose events with. Wary of
 * events that only look good because the counts are small. */
double audit_promised_lower(uint64_t successes, uint64_t trials, double later, double risk);
double audit_promised_upper(uint64_t successes, uint64_t trials, double later, double risk);

double audit_normal_cdf(double x);
double audit_normal_quantile(double probability); /* infinite at 0 and 1 */

/* The least ε that lets one event have probability `likely` for a record and `unlikely` for its neighbour; below 0, down
 * to −∞, when any does. */
double audit_ratio_epsilon(double likely, double unlikely, double delta);

/* The least μ of a Gaussian mechanism that lets an event have these probabilities; likewise. */
double audit_gaussian_shift(double likely, double unlikely);

/* The ε that a Gaussian mechanism of shift μ cannot be below at δ, rounded down; at most 256. */
double audit_gaussian_epsilon(double mu, double delta);

#endif
