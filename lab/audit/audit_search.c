/* SPDX-License-Identifier: Apache-2.0
 * Finds the pair of records that releases tell apart best, by successive halving. */
#include "audit_pairs.h"

#include "common/clock.h"

#include <math.h>
#include <stdlib.h>

#define SEARCH_RISK 0.2     /* of a bound that only ranks */
#define EXPECTED_TRUST 0.05 /* standard deviation of what public arithmetic expects, in certified sensitivities */
enum { TRIALS_LEAST = 50 };

struct ranked {
    struct audit_pair pair;
    double score;
};

pml_status
audit_phase(struct audit_bench *bench, const struct audit_pair *pair, const struct audit_plan *plan, int phase,
            pml_status (*sink)(void *context, unsigned worker, unsigned side, const uint8_t *release, size_t size),
            void *context, uint64_t *made)
{
    static const char *const stages[AUDIT_PHASES] = {"learning where they differ", "choosing an event", "counting"};
    struct audit_run run = {.pair = pair,
                            .stage = plan->shown ? stages[phase] : NULL,
                            .trials = plan->trials[phase],
                            .deadline = plan->deadlines[phase],
                            .sink = sink,
                            .context = context};
    pml_status status = audit_bench_run(bench, &run);
    *made = run.done < TRIALS_LEAST ? 0 : run.done;
    return status;
}

/* How well releases tell the pair apart. Gaussian: their distance, as releases and public arithmetic together say. */
static pml_status rate(struct audit_bench *bench, struct ranked *ranked, uint64_t trials, double deadline)
{
    if (bench->config.mechanism == PML_RESPONSE) {
        struct audit_plan plan = {.trials = {trials / 3, trials / 3, trials / 3},
                                  .deadlines = {deadline, deadline, deadline},
                                  .risk = SEARCH_RISK};
        struct audit_verdict verdict;
        pml_status status = audit_response(bench, &ranked->pair, &plan, &verdict);
        ranked->score = verdict.enough ? verdict.epsilon_lower : -1.0;
        return status;
    }
    double distance, deviation, trust = EXPECTED_TRUST * bench->receipt.sensitivity;
    pml_status status = audit_gaussian_distance(bench, &ranked->pair, trials, deadline, &distance, &deviation);
    double share = trust * trust / (trust * trust + deviation * deviation);
    if (deviation <= 0.0) /* no trials were made, or there is no noise at all */
        share = distance > 0.0 ? 1.0 : 0.0;
    ranked->score = share * distance + (1.0 - share) * ranked->pair.expected;
    return status;
}

static int by_score(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    return (a->score < b->score) - (a->score > b->score);
}

static size_t rounds_of(size_t count)
{
    size_t rounds = 0;
    for (; count > 1; count = (count + 1) / 2)
        rounds++;
    return rounds;
}

pml_status audit_pairs_search(struct audit_bench *bench, struct audit_pair *pairs, size_t count, uint64_t trials,
                              double deadline)
{
    struct ranked *ranked = calloc(count, sizeof *ranked);
    double rounds = (double)rounds_of(count);
    pml_status status = ranked ? PML_OK : PML_ERROR_MEMORY;
    for (size_t i = 0; i < count && status == PML_OK; i++)
        ranked[i].pair = pairs[i];
    for (double round = 0.0; count > 1 && status == PML_OK; round += 1.0) {
        for (size_t i = 0; i < count && status == PML_OK && pml_clock_now() < deadline; i++) {
            progress_show(NULL, "searching for a pair", (round + (double)i / (double)count) / rounds);
            status = rate(bench, &ranked[i], trials, deadline);
        }
        if (status == PML_OK)
            qsort(ranked, count, sizeof *ranked, by_score);
        count = (count + 1) / 2;
        trials *= 2;
    }
    if (status == PML_OK)
        pairs[0] = ranked[0].pair;
    free(ranked);
    return status;
}
