/* SPDX-License-Identifier: Apache-2.0
 * The device's side of an evaluation: every query becomes releases by the calls an app makes, the service answers, the
 * client ranks, and what it found is compared with the truth. */
#ifndef CLI_EVALUATE_TRIALS_H
#define CLI_EVALUATE_TRIALS_H

#include "evaluate_bench.h"

/* Figures of one release, or of one bundle. NaN where there are no classes. */
enum evaluate_figure {
    EVALUATE_INSTANCE,  /* share of the true nearest that were found */
    EVALUATE_REACHED,   /* share of them that the ranked part of the answer carried */
    EVALUATE_NOISELESS, /* the same without noise; NaN for response */
    EVALUATE_BASELINE,  /* as INSTANCE, when a random part of the gallery of the answer's size is ranked */
    EVALUATE_POPULAR,   /* the same of the part that is nearest to most of the gallery */
    EVALUATE_ORIGINAL,  /* as INSTANCE, by the features before the fronts; NaN when these cannot be compared */
    EVALUATE_CLASS,     /* 1 when one of those found has the query's class, else 0 */
    EVALUATE_PRECISION, /* share of those found that have it; 0 when nothing was found */
    EVALUATE_AT_TOP,    /* as PRECISION, but of EVALUATE_TOP, however many were found */
    EVALUATE_EXACT,     /* the same of the true nearest: a search that is not private */
    EVALUATE_CHANCE,    /* the same of the baseline's */
    EVALUATE_GAIN,      /* CLASS minus the baseline's */
    EVALUATE_CARRIED,   /* share of the gallery in the answer; in a crowd in all answers, those to fakes too */
    EVALUATE_UP,        /* bytes of the release or bundle */
    EVALUATE_DOWN,      /* bytes of the answers */
    EVALUATE_FIGURES
};

struct evaluate_result {
    double mean[EVALUATE_FIGURES];
    double error[EVALUATE_FIGURES]; /* standard error over queries, the releases of each averaged; NaN for one query */
};

/* Runs all queries at this ε, or in a crowd with this floor and policy, which is booked with nothing (μ = δ₀ = 0). Only
 * the clients that are measured are drawn. `crowd` and `progress` may be NULL. */
exit_code evaluate_trials_run(const struct evaluate_bench *bench, double epsilon, const pml_crowd *crowd,
                              const struct pml_progress *progress, struct evaluate_result *result);

#endif
