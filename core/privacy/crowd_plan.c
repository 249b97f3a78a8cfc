/* SPDX-License-Identifier: Apache-2.0
 * Which policy gives what is asked for, with fewest fakes. In: public parameters. Out: a policy whose δ, as
 * crowd_account.c bounds it, is at most the one asked for. */
#include "crowd_account.h"

#define PRECISION 12  /* bits of clusters and fakes */
#define NONE 0x1p-40  /* the samplers draw multiples of 2^-29 and 2^-32: so few clusters are none */

typedef struct trial {
    const pml_crowd_goal *goal;
    double *scratch;
    pml_crowd crowd;
    double delta;
} trial;

/* Does the policy with so many clusters reach the goal? */
static bool reaches(void *context, double clusters)
{
    trial *t = context;
    pml_account account;
    *(t->goal->relay ? &t->crowd.relay_clusters : &t->crowd.clusters) = clusters;
    t->delta = 1.0;
    if (pml_account_make(&t->crowd, &t->goal->use, t->scratch, PML_CROWD_SCRATCH_MAX, &account) == PML_OK)
        t->delta = pml_account_delta(&account, t->goal->epsilon);
    return t->delta <= t->goal->delta;
}

/* From the largest size down. A size is searched only if it needs less than the best so far, which one δ tells. */
static void find(trial *t, pml_crowd_planned *plan)
{
    double fakes = t->goal->relay ? 0x1p60 : PML_CROWD_FAKES_MAX;
    for (uint32_t copies = t->goal->copies_max; copies > 0; copies--) {
        double each = 0.5 * (copies + 1u), limit = t->goal->relay ? PML_CROWD_RELAY_MAX : PML_CROWD_CLUSTERS_MAX;
        if (limit > fakes / each)
            limit = fakes / each;
        t->crowd.copies = copies;
        /* So many clients may have a sampler's error that only fewer clusters are enough. */
        if (!reaches(t, limit) && (plan->needed || !reaches(t, limit *= 0.5)))
            continue;
        double low = limit;
        do
            low *= 0.5;
        while (low > NONE && reaches(t, low));
        double clusters = pml_ascend(low, limit, PRECISION, reaches, t);
        plan->needed = reaches(t, clusters);
        plan->crowd = t->crowd;
        plan->delta = t->delta;
        plan->fakes = fakes = clusters * each;
    }
}

pml_status pml_crowd_plan(const pml_crowd_goal *goal, double *scratch, size_t count, pml_crowd_planned *plan)
{
    if (!plan)
        return PML_ERROR_ARGUMENT;
    *plan = (pml_crowd_planned){.delta = 1.0};
    if (!goal || !scratch)
        return PML_ERROR_ARGUMENT;
    if (!epsilon_in_range(goal->epsilon, PML_EPSILON_MAX))
        return PML_ERROR_EPSILON;
    if (!delta_in_range(goal->delta))
        return PML_ERROR_DELTA;
    /* Only honest clients count, and none when the relay makes the fakes. */
    trial t = {.goal = goal, .scratch = scratch, .crowd = {.copies = goal->copies_max, .own = goal->own}};
    if (!goal->relay && goal->honest > 0.0 && goal->honest <= 1.0 && goal->clients <= PML_CROWD_CLIENTS_MAX)
        t.crowd.clients = (uint64_t)((double)goal->clients * goal->honest);
    if (pml_crowd_scratch(&t.crowd, &goal->use) == 0 || (!goal->relay && t.crowd.clients == 0))
        return PML_ERROR_CROWD;
    if (count < PML_CROWD_SCRATCH_MAX)
        return PML_ERROR_MEMORY;
    if (reaches(&t, 0.0)) {
        plan->crowd = t.crowd;
        plan->delta = t.delta;
        return PML_OK;
    }
    find(&t, plan);
    return plan->needed ? PML_OK : PML_ERROR_CROWD;
}
