/* SPDX-License-Identifier: Apache-2.0
 * What a policy gives: δ, ε and μ (PRIVACY 11, theorems A and C). In: public parameters. Out: upper bounds. */
#include "crowd_account.h"
#include "base/elementary.h"
#include "base/random.h"
#include "normal.h"

#define EPSILON_MAX 256.0
#define MU_MAX 16.0
#define POINTS 256     /* of the certificate */
#define STEPS_MAX 4096 /* of one size in a search: two where the bound only falls, and some more where it is rounded */

static bool in_range(const pml_crowd *crowd, const pml_crowd_use *use)
{
    return crowd_in_range(crowd) && use->cells - 2u <= PML_CROWD_CELLS_MAX - 2u &&
           use->queries - 1u < PML_CROWD_QUERIES_MAX &&
           (use->floor == 0.0 || (use->floor >= PML_CROWD_FLOOR_MIN && use->floor <= PML_EPSILON_MAX));
}

/* Clusters per cell that the samplers draw (SPEC 5.16, 5.17), rounded down: κ is a multiple of 2^-29 there, and of R less
 * than 2^-31 of it and 2^-32 are lost. */
static PML_NOINLINE pml_fakes fakes_of(const pml_crowd *crowd, uint32_t cells)
{
    double clients = (double)crowd->clients * (double)poisson_rate(crowd->clusters) * 0x1p-29;
    double relay = crowd->relay_clusters * (1.0 - 0x1p-30) - 0x1p-32;
    return (pml_fakes){(clients + (relay > 0.0 ? relay : 0.0)) * (1.0 - 0x1p-50) / cells, crowd->copies};
}

size_t pml_crowd_scratch(const pml_crowd *crowd, const pml_crowd_use *use)
{
    if (!crowd || !use || !in_range(crowd, use))
        return 0;
    pml_fakes fakes = fakes_of(crowd, use->cells);
    return 2u * pml_law_counts(&fakes) + 3u * PML_CROWD_GRID;
}

/* 1−γ = (e^ε₀ − 1)/(e^ε₀ + m − 1), rounded up, is known of the one draw of one query. A kept cell that is sent again has no
 * draw, so several queries do not count on it. */
static double told(const pml_crowd_use *use)
{
    double power = pml_exp(use->floor);
    return use->floor == 0.0 || use->queries > 1 ? 1.0 : (power - 1.0) / (power + use->cells - 1.0) * (1.0 + 0x1p-30);
}

pml_status pml_account_make(const pml_crowd *crowd, const pml_crowd_use *use, double *scratch, size_t count,
                            pml_account *account)
{
    if (!crowd || !use || !scratch)
        return PML_ERROR_ARGUMENT;
    size_t needed = pml_crowd_scratch(crowd, use);
    if (needed == 0)
        return PML_ERROR_CROWD;
    if (count < needed)
        return PML_ERROR_MEMORY;
    pml_law_make(fakes_of(crowd, use->cells), scratch, &account->law);
    account->spare = scratch + (needed - 3u * PML_CROWD_GRID);
    account->times = crowd->own * use->queries;
    if (account->times > 1)
        pml_losses_make(&account->law, account->times, account->spare, &account->losses);
    account->told = told(use);
    account->sampler = (double)crowd->clients * PML_CROWD_SAMPLER_ERROR * use->queries;
    account->floor = use->floor * use->queries;
    return PML_OK;
}

double pml_account_delta(const pml_account *account, double epsilon)
{
    if (account->floor > 0.0 && epsilon >= account->floor)
        return 0.0;
    double ideal =
        account->times > 1 ? pml_losses_delta(&account->losses, epsilon) : pml_law_delta(&account->law, epsilon);
    double delta = ideal * account->told + (1.0 + pml_exp(epsilon)) * account->sampler;
    return delta < 1.0 ? delta : 1.0;
}

double pml_ascend(double start, double end, int bits, bool (*is_enough)(void *context, double value), void *context)
{
    double step = 2.0, found = 2.0 * end;
    for (int i = 0; i <= bits; i++) {
        for (int left = STEPS_MAX; start <= end && !is_enough(context, start * step); left--) {
            if (left == 0)
                return found;
            start *= step;
        }
        if (start > end)
            return found;
        found = start * step;
        step = 0.5 * step + 0.5;
    }
    return found;
}

/* ---- δ and ε ---- */

pml_status pml_crowd_delta(const pml_crowd *crowd, const pml_crowd_use *use, double epsilon, double *scratch,
                           size_t count, double *delta)
{
    pml_account account;
    if (!delta)
        return PML_ERROR_ARGUMENT;
    *delta = 1.0;
    if (!(epsilon >= 0.0 && epsilon <= EPSILON_MAX))
        return PML_ERROR_EPSILON;
    pml_status status = pml_account_make(crowd, use, scratch, count, &account);
    if (status == PML_OK)
        *delta = pml_account_delta(&account, epsilon);
    return status;
}

typedef struct search {
    pml_account account;
    double delta;
    double end; /* of the certificate's grid */
} search;

static bool allows_epsilon(void *context, double epsilon)
{
    const search *s = context;
    return pml_account_delta(&s->account, epsilon) <= s->delta;
}

/* From below: the sampler's part grows with ε, so the bound may rise again. */
static pml_status find_epsilon(const pml_crowd *crowd, const pml_crowd_use *use, search *s, double *scratch,
                               size_t count)
{
    pml_status status = pml_account_make(crowd, use, scratch, count, &s->account);
    if (status != PML_OK)
        return status;
    s->end = pml_ascend(0.5 * PML_EPSILON_MIN, EPSILON_MAX, 40, allows_epsilon, s);
    if (s->end > EPSILON_MAX)
        s->end = s->account.floor;
    return s->end > 0.0 ? PML_OK : PML_ERROR_CROWD;
}

pml_status pml_crowd_epsilon(const pml_crowd *crowd, const pml_crowd_use *use, double delta, double *scratch,
                             size_t count, double *epsilon)
{
    search s = {.delta = delta};
    if (!epsilon)
        return PML_ERROR_ARGUMENT;
    *epsilon = pml_infinity();
    if (!(delta >= PML_CROWD_DELTA_MIN && delta < 1.0))
        return PML_ERROR_DELTA;
    pml_status status = find_epsilon(crowd, use, &s, scratch, count);
    if (status == PML_OK)
        *epsilon = s.end;
    return status;
}

/* ---- μ ---- */

/* δ ≤ δ₀ + (1−δ₀)·δ_μ at the next point, for every point of the grid. */
static bool dominates(void *context, double mu)
{
    const search *s = context;
    for (int i = 0; i < POINTS; i++)
        if (s->account.spare[i] > s->delta + (1.0 - s->delta) * pml_gaussian_delta_below(mu, s->end * (i + 1) / POINTS))
            return false;
    return true;
}

pml_status pml_crowd_mu(const pml_crowd *crowd, uint32_t cells, double delta0, double *scratch, size_t count,
                        double *mu)
{
    search s = {.delta = delta0 * (1.0 - 0x1p-30)}; /* the rest pays for the sampler, over all epochs */
    if (!mu)
        return PML_ERROR_ARGUMENT;
    *mu = pml_infinity();
    if (!crowd)
        return PML_ERROR_ARGUMENT;
    if (!(delta0 >= PML_CROWD_DELTA_MIN && delta0 <= PML_CROWD_DELTA0_MAX))
        return PML_ERROR_DELTA;
    /* One message that counts on no draw: it may be a kept cell. */
    pml_crowd_use use = {.cells = cells, .queries = 1};
    pml_crowd one = *crowd;
    one.own = pml_crowd_scratch(crowd, &use) > 0 ? 1 : 0;
    pml_status status = find_epsilon(&one, &use, &s, scratch, count);
    if (status != PML_OK)
        return status;
    for (int i = 0; i < POINTS; i++)
        s.account.spare[i] = pml_account_delta(&s.account, s.end * i / POINTS) * (1.0 + 0x1p-50);
    double least = pml_ascend(0x1p-21, MU_MAX, 20, dominates, &s);
    if (least > MU_MAX)
        return PML_ERROR_CROWD;
    *mu = least;
    return PML_OK;
}
