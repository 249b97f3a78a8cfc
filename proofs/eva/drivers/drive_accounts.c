/* SPDX-License-Identifier: Apache-2.0
 * The accounts and plans of a crowd: any policy, use and goal, any ε and δ, NaN and infinities among them, in scratch of
 * exactly the size that pml_crowd_scratch gives. A law gives any δ: the driver `law` has what is inside.
 * eva: sources privacy/crowd_account.c privacy/crowd_plan.c privacy/normal.c base/elementary.c
 * eva: stubs stubs_law.c
 * eva: options -eva-slevel 20 -eva-auto-loop-unroll 16
 * eva: options -eva-slevel-function pml_ascend:0,dominates:0,pml_normal_cdf:0,find:0 */
#include "arbitrary.h"

#include <stdlib.h>

extern size_t eva_counts;
static pml_crowd crowd;
static pml_crowd_use use;

/* One message or several: Eva would forget which of the two has losses. */
enum messages { ONE, QUERIES, OWN };

static void count(enum messages messages, uint32_t *own, uint32_t *queries)
{
    *own = messages == ONE ? (uint32_t)any_size(1) : messages == QUERIES ? any_u32() : Frama_C_unsigned_int_interval(2, UINT32_MAX);
    *queries = messages == QUERIES ? Frama_C_unsigned_int_interval(2, UINT32_MAX) : (uint32_t)any_size(1);
}

static void fresh(enum messages messages)
{
    ANY(crowd);
    crowd.cover = any_bool();
    ANY(use);
    count(messages, &crowd.own, &use.queries);
}

static double *any_scratch(size_t size)
{
    double *scratch = malloc(size * sizeof *scratch);
    make_any(scratch, size * sizeof *scratch);
    return scratch;
}

static void accounts(size_t counts, enum messages messages)
{
    double found;
    const size_t size = 2 * counts + 3 * PML_CROWD_GRID;
    double *scratch = any_scratch(size);
    eva_counts = counts;
    fresh(messages);
    (void)pml_crowd_scratch(MAYBE(&crowd), MAYBE(&use));
    (void)pml_crowd_delta(MAYBE(&crowd), MAYBE(&use), any_double(), MAYBE(scratch), any_size(size), MAYBE(&found));
    (void)pml_crowd_epsilon(MAYBE(&crowd), MAYBE(&use), any_double(), MAYBE(scratch), any_size(size), MAYBE(&found));
    if (messages == ONE)
        (void)pml_crowd_mu(MAYBE(&crowd), any_u32(), any_double(), MAYBE(scratch), any_size(size), MAYBE(&found));
}

static void plan(enum messages messages)
{
    pml_crowd_goal goal;
    pml_crowd_planned planned;
    double *scratch = any_scratch(PML_CROWD_SCRATCH_MAX);
    eva_counts = PML_CROWD_COUNTS_MAX;
    ANY(goal);
    goal.relay = any_bool();
    count(messages, &goal.own, &goal.use.queries);
    (void)pml_crowd_plan(MAYBE(&goal), MAYBE(scratch), any_size(PML_CROWD_SCRATCH_MAX), MAYBE(&planned));
}

int main(void)
{
    accounts(39, ONE);
    accounts(39, QUERIES);
    accounts(39, OWN);
    accounts(PML_CROWD_COUNTS_MAX, QUERIES);
    plan(ONE);
    plan(QUERIES);
    plan(OWN);
    (void)pml_gaussian_recall_ceiling(any_double(), any_double()); /* also in `ceilings` */
    return 0;
}
