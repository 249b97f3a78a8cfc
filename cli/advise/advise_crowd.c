/* SPDX-License-Identifier: Apache-2.0
 * What asking in a crowd costs and finds. The crowd's ε bounds what the server learns; what is found is bounded by the
 * floor, because an own message is drawn with it. */
#include "advise.h"

#include "tools/pack/cells_rule.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SEALED 160.0 /* bytes that sealing and padding add to an answer: Binary HTTP, nonce and tag (SPEC 10) */
enum { NEAREST = 8, FEWEST = 2 };

static const double ladder[] = {0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0};
enum { STEPS = sizeof ladder / sizeof ladder[0] };

static void describe(const struct advise_question *question, const struct crowd_promise *promise,
                     struct advise_way *way)
{
    char assumption[CROWD_ASSUMPTION_MAX];
    crowd_promise_assumption(promise, assumption);
    snprintf(way->promise, sizeof way->promise,
             "What the server sees of one query is (%g, %g)-private %s. Towards relay and server together only the "
             "floor holds, epsilon %g. Each further query costs more.",
             way->epsilon, way->delta, assumption, way->floor);
    snprintf(way->assumption, sizeof way->assumption, "It holds %s; nobody can verify that.%s", assumption,
             question->crowd.relay ? "" : " Somebody else than the server runs the relay.");
}

static void explain(const struct advise_question *question, const struct crowd_promise *promise, struct advise_way *way)
{
    int length = snprintf(way->reason, sizeof way->reason,
                          "With epsilon %g, delta %g and a floor of %g, %.4g fakes per %s are needed, so %.4g answers "
                          "of %" PRIu64 " items come down per query. ",
                          way->epsilon, way->delta, way->floor, promise->fakes,
                          question->crowd.relay ? "epoch by the relay" : "client", way->answers, way->items);
    char *text = way->reason + length;
    const size_t left = sizeof way->reason - (size_t)length;
    if (way->items < NEAREST)
        snprintf(text, left, "8 are looked for: allow more --bytes-down, or use --noise relay.");
    else if (isnan(way->found))
        snprintf(text, left,
                 "No method finds more than %.3f of the 8 nearest with that%s, if all items are wanted equally often. Real "
                 "galleries found half of such a ceiling or more (docs/RESULTS.md): %s.",
                 way->found_most, way->fits ? "" : ", and --found asks for more",
                 question->features ? "--features has too few rows to measure such answers" : "give --features to measure");
    else
        snprintf(text, left, "It found %.3f of the 8 nearest (standard error %.3f); a fixed download found %.3f%s.",
                 way->found, way->error, way->popular, way->fits ? "" : ", so it is not worth asking");
}

#if PML_WITH_CROWD

static pml_status plan(const struct advise_question *question, double epsilon, uint32_t cells, double *scratch,
                       struct crowd_promise *promise)
{
    const pml_crowd_goal goal = crowd_goal(&question->crowd, epsilon, question->delta, cells);
    pml_crowd_planned planned;
    const pml_status status = pml_crowd_plan(&goal, scratch, PML_CROWD_SCRATCH_MAX, &planned);
    *promise = (struct crowd_promise){.policy = planned.crowd,
                                      .crowded = planned.needed,
                                      .epsilon = epsilon,
                                      .delta = question->delta,
                                      .floor = question->crowd.floor,
                                      .clients = goal.clients,
                                      .honest = goal.honest,
                                      .fakes = planned.fakes};
    return status;
}

/* Cells by pack's rule, then the policy for them, then the list that the bytes leave room for. Returns false when no
 * policy keeps the promise. */
static bool fill(const struct advise_question *question, const struct advise_measure *measure, double *scratch,
                 struct crowd_promise *promise, struct advise_way *way)
{
    const bool relay = question->crowd.relay;
    const size_t rows = measure ? advise_measure_public(measure) : (size_t)question->items;
    const double items = (double)question->items, sketch = (double)question->sketch,
                 bytes = (double)question->bytes_down;
    const double total = fmin(0.5, (double)advise_listed(question->items, bytes, question->sketch) / items);
    if (plan(question, way->epsilon, FEWEST, scratch, promise) != PML_OK)
        return false;
    const double each = relay ? 0.0 : promise->fakes / (double)FEWEST;
    const unsigned cells = pml_cells_rule_crowd(fmax(total, 1e-9), each, way->floor, rows, 1).cells;
    if (plan(question, way->epsilon, cells, scratch, promise) != PML_OK)
        return false;
    way->cells = cells;
    way->answers = 1.0 + (relay ? 0.0 : promise->fakes);
    way->items = advise_listed(question->items, bytes / way->answers - SEALED, question->sketch);
    if (way->items > question->items / 2)
        way->items = question->items / 2;
    way->share = (double)way->items / items;
    way->bytes = way->answers * (SEALED + advise_answer_bytes(items, (double)way->items, sketch));
    way->found_most = advise_ceiling(way->floor, way->share);
    return true;
}

static exit_code climb(const struct advise_question *question, struct advise_measure *measure, double *scratch,
                       struct advise_way *way)
{
    struct crowd_promise promise;
    for (size_t step = 0;; step++) {
        way->epsilon = step < STEPS && ladder[step] < question->crowd_epsilon ? ladder[step] : question->crowd_epsilon;
        const bool last = way->epsilon >= question->crowd_epsilon;
        way->found = way->error = way->popular = NAN;
        if (!fill(question, measure, scratch, &promise, way)) {
            snprintf(way->reason, sizeof way->reason,
                     "No policy keeps epsilon %g and delta %g with so few people. Give more --users, a larger "
                     "--crowd-epsilon, or --noise relay.",
                     way->epsilon, way->delta);
            if (last)
                return EXIT_OK;
            continue;
        }
        if (measure && way->items >= NEAREST && advise_measure_can(measure, way->share)) {
            exit_code code = advise_measure_crowd(measure, &promise.policy, way);
            if (code != EXIT_OK)
                return code;
            way->found_most = advise_ceiling(way->floor, fmax(way->share, way->popular)); /* theorem 9b */
        }
        way->fits = way->items >= NEAREST && advise_is_enough(question, way);
        if (way->fits || last) {
            describe(question, &promise, way);
            explain(question, &promise, way);
            return EXIT_OK;
        }
    }
}

exit_code advise_crowd(const struct advise_question *question, struct advise_measure *measure, struct advise_way *way)
{
    *way = advise_way_make("crowd");
    way->floor = question->crowd.floor;
    way->delta = question->delta;
    if (!question->crowd.asked) {
        way->epsilon = way->delta = way->floor = NAN;
        snprintf(way->reason, sizeof way->reason,
                 "How many people ask in one epoch is not known. Give --users, or --noise relay for a relay that makes "
                 "the fakes.");
        snprintf(way->assumption, sizeof way->assumption, "A relay mixes and stays apart from the server.");
        return EXIT_OK;
    }
    double *scratch = malloc(PML_CROWD_SCRATCH_MAX * sizeof *scratch);
    if (!scratch)
        return command_no_memory(&command_advise);
    exit_code code = climb(question, measure, scratch, way);
    free(scratch);
    return code;
}

#else

exit_code advise_crowd(const struct advise_question *question, struct advise_measure *measure, struct advise_way *way)
{
    (void)question, (void)measure, (void)describe, (void)explain, (void)ladder;
    *way = advise_way_make("crowd");
    snprintf(way->reason, sizeof way->reason, "This build has no crowd. Use one with PRIVATEMAIL_CROWD.");
    return EXIT_OK;
}

#endif
