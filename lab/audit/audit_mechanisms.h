/* SPDX-License-Identifier: Apache-2.0
 * What the releases of a pair of records prove about ε, for each mechanism. */
#ifndef CLI_AUDIT_MECHANISMS_H
#define CLI_AUDIT_MECHANISMS_H

#include "audit_trials.h"

/* The trials of each side have three phases. The first learns where releases differ, the second chooses an event, and
 * only the third, on fresh releases, counts. */
enum { AUDIT_LEARN, AUDIT_CHOOSE, AUDIT_COUNT, AUDIT_PHASES };

struct audit_plan {
    uint64_t trials[AUDIT_PHASES];
    double deadlines[AUDIT_PHASES]; /* of pml_clock_now */
    double risk;                    /* that any bound of the verdict is wrong */
    bool shown;                     /* show progress */
};

struct audit_verdict {
    bool enough;          /* false: the deadlines left too few trials, and nothing else here means anything */
    uint64_t trials;      /* made of each side, all phases */
    double epsilon_lower; /* Gaussian: by way of μ */
    double ratio_lower;   /* Gaussian: of one event's probabilities, whatever the noise */
    double mu_lower;      /* Gaussian */
    double distance;      /* Gaussian: estimated distance of the mean rows, embedding units */
};

pml_status audit_response(struct audit_bench *bench, const struct audit_pair *pair, const struct audit_plan *plan,
                          struct audit_verdict *verdict);
pml_status audit_gaussian(struct audit_bench *bench, const struct audit_pair *pair, const struct audit_plan *plan,
                          struct audit_verdict *verdict);

/* In a crowd: a bound of ε at δ. */
pml_status audit_crowd(struct audit_bench *bench, const struct audit_pair *pair, const struct audit_plan *plan,
                       double delta, struct audit_verdict *verdict);

/* The distance of the mean rows alone, and the standard deviation of this estimate. */
pml_status audit_gaussian_distance(struct audit_bench *bench, const struct audit_pair *pair, uint64_t trials,
                                   double deadline, double *distance, double *deviation);

/* Runs one phase. `made` is 0 when it had too few trials to say anything. */
pml_status
audit_phase(struct audit_bench *bench, const struct audit_pair *pair, const struct audit_plan *plan, int phase,
            pml_status (*sink)(void *context, unsigned worker, unsigned side, const uint8_t *release, size_t size),
            void *context, uint64_t *made);

#endif
