/* SPDX-License-Identifier: Apache-2.0
 * crowd: plans what the clients of a crowd do for a promise, or tells what promise a policy gives. In: options alone. Out:
 * both promises, always with what the second one rests on. */
#include "cli/shared/crowd_policy.h"

#include <inttypes.h>
#include <math.h>
#include <privatemail_crowd.h>
#include <stdio.h>
#include <stdlib.h>

static const double shares[] = {1.0, 0.5, 0.25};
enum { SHARES = sizeof shares / sizeof shares[0] };

struct arguments {
    struct crowd_arguments crowd;
    uint64_t cells;
    double epsilon, delta;
    bool json;
};

struct findings {
    struct crowd_promise promise;
    double by_share[SHARES]; /* ε when so many of the promised clients are honest; infinite: only the floor */
};

/* ---- options ---- */

static exit_code parse(int argc, char **argv, struct arguments *a)
{
    enum { OWN = 5 };
    struct option_spec specs[OWN + CROWD_OPTIONS] = {
        {"epsilon", OPTION_NUMBER, &a->epsilon, false, false},
        {"delta", OPTION_NUMBER, &a->delta, false, false},
        {"cells", OPTION_COUNT, &a->cells, true, false},
        {"queries", OPTION_COUNT, &a->crowd.queries, false, false},
        {"json", OPTION_FLAG, &a->json, false, false},
    };
    crowd_options_fill(&a->crowd, specs + OWN);
    specs[OWN + CROWD_CLIENTS].name = "clients";
    a->crowd.asked = true;
    exit_code code = options_parse(&command_crowd, argc, argv, specs, OWN + CROWD_OPTIONS, NULL, 0, 0);
    if (code != EXIT_OK)
        return code;
    if (a->cells < 2 || a->cells > PML_CROWD_CELLS_MAX)
        return command_fail(&command_crowd, EXIT_USAGE, "--cells must be 2 to %u: slots times cells of the pack.",
                            PML_CROWD_CELLS_MAX);
    if (a->crowd.queries < 1 || a->crowd.queries > PML_CROWD_QUERIES_MAX)
        return command_fail(&command_crowd, EXIT_USAGE, "--queries must be 1 to %u.", PML_CROWD_QUERIES_MAX);
    code = crowd_options_check(&command_crowd, &a->crowd, specs + OWN, specs[0].given);
    return code == EXIT_OK ? crowd_goal_check(&command_crowd, &a->crowd, a->epsilon, a->delta) : code;
}

/* ---- arithmetic ---- */

/* The same policy when another share of the promised clients is honest; infinite when only the floor holds then. */
static double epsilon_of_share(const struct arguments *a, pml_crowd policy, double share, double *scratch)
{
    const pml_crowd_use use = {
        .cells = (uint32_t)a->cells, .queries = (uint32_t)a->crowd.queries, .floor = a->crowd.floor};
    double epsilon = INFINITY;
    policy.clients = (uint64_t)((double)a->crowd.clients * share);
    if (policy.clients == 0)
        policy.clusters = 0.0;
    if (pml_crowd_epsilon(&policy, &use, a->delta, scratch, PML_CROWD_SCRATCH_MAX, &epsilon) != PML_OK)
        return INFINITY;
    return epsilon < use.floor * use.queries ? epsilon : INFINITY;
}

/* Answers that come down per query: the own ones, and those to the client's fakes. */
static double answers(const struct findings *found)
{
    const pml_crowd *policy = &found->promise.policy;
    return policy->own + policy->clusters * (policy->copies + 1.0) / 2.0;
}

/* ---- report ---- */

static void print_shares(const struct arguments *a, const struct findings *found)
{
    printf("\nWhen so many of the %" PRIu64 " promised clients are honest:\n", a->crowd.clients);
    for (size_t i = 0; i < SHARES; i++) {
        printf("  %3.0f %% honest    ", 100.0 * shares[i]);
        if (isfinite(found->by_share[i]))
            printf("epsilon %.4g\n", found->by_share[i]);
        else
            printf("only the floor, epsilon %g\n", a->crowd.floor * (double)a->crowd.queries);
    }
}

static void print_findings(const struct arguments *a, const struct findings *found)
{
    const struct crowd_promise *promise = &found->promise;
    const pml_crowd *policy = &promise->policy;
    const uint64_t queries = a->crowd.queries;
    char assumption[CROWD_ASSUMPTION_MAX];
    crowd_promise_assumption(promise, assumption);
    if (promise->fakes <= 0.0 && !a->crowd.taken)
        printf("No fakes are needed: the floor of %g per query already keeps epsilon %g.\n\n", promise->floor,
               a->epsilon);
    else
        printf("fakes           %.6g per %s: %.6g clusters of 1 to %" PRIu32 " equal messages (means)\n",
               promise->fakes, a->crowd.relay ? "epoch by the relay" : "client",
               a->crowd.relay ? policy->relay_clusters : policy->clusters, policy->copies);
    printf("down            %.4g answers per query, %.4g %% of the gallery with lists of 1/%" PRIu64 "\n",
           answers(found), 100.0 * answers(found) / (double)a->cells, a->cells);
    printf("floor           epsilon %g of %" PRIu64 " quer%s, whoever works together against it\n",
           promise->floor * (double)queries, queries, queries == 1 ? "y" : "ies");
    if (promise->crowded)
        printf("crowd           epsilon %.4g, delta %g, %s\n", promise->epsilon, promise->delta, assumption);
    else if (promise->fakes > 0.0)
        printf("crowd           no promise at delta %g: too few fakes\n", a->delta);
    if (policy->mu > 0.0)
        printf("price           mu %.4g and delta0 %g per own message, for many queries\n", policy->mu, policy->delta0);
    if (promise->fakes > 0.0 && !a->crowd.relay)
        print_shares(a, found);
}

static void write_findings(const struct arguments *a, const struct findings *found)
{
    const struct crowd_promise *promise = &found->promise;
    const pml_crowd *policy = &promise->policy;
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_count(&json, "cells", a->cells);
    json_count(&json, "clients", a->crowd.clients);
    json_number(&json, "honest", a->crowd.honest);
    json_count(&json, "queries", a->crowd.queries);
    json_count(&json, "own", a->crowd.own);
    json_text(&json, "noise", a->crowd.noise);
    json_text(&json, "promise", promise->crowded ? "crowd" : "floor");
    json_number(&json, "epsilon", promise->epsilon);
    json_number(&json, "delta", a->delta);
    json_number(&json, "floor", promise->floor);
    json_bool(&json, "needed", promise->fakes > 0.0);
    json_number(&json, "clusters", policy->clusters);
    json_number(&json, "relay_clusters", policy->relay_clusters);
    json_count(&json, "copies", policy->copies);
    json_number(&json, "fakes", promise->fakes);
    json_number(&json, "answers", answers(found));
    json_number(&json, "share", answers(found) / (double)a->cells);
    json_number(&json, "mu", policy->mu > 0.0 ? policy->mu : NAN);
    json_number(&json, "delta0", policy->mu > 0.0 ? policy->delta0 : NAN);
    json_open(&json, "by_honest", '[');
    for (size_t i = 0; i < SHARES; i++) {
        json_open(&json, NULL, '{');
        json_number(&json, "honest", shares[i]);
        json_number(&json, "epsilon", found->by_share[i]);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

/* ---- command ---- */

static exit_code run(int argc, char **argv)
{
    struct arguments arguments = {.delta = CROWD_DELTA_DEFAULT};
    struct findings found;
    exit_code code = parse(argc, argv, &arguments);
    if (code == EXIT_OK)
        code = crowd_policy_make(&command_crowd, &arguments.crowd, arguments.epsilon, arguments.delta, arguments.cells,
                                 &found.promise);
    if (code != EXIT_OK)
        return code;
    double *scratch = malloc(PML_CROWD_SCRATCH_MAX * sizeof *scratch);
    if (!scratch)
        return command_no_memory(&command_crowd);
    for (size_t i = 0; i < SHARES; i++)
        found.by_share[i] = epsilon_of_share(&arguments, found.promise.policy, shares[i], scratch);
    free(scratch);
    (arguments.json ? write_findings : print_findings)(&arguments, &found);
    return EXIT_OK;
}

static const char help[] =
    "Usage: privatemail crowd --cells M --clients N --epsilon E [OPTIONS]\n"
    "       privatemail crowd --cells M --epsilon E --noise relay [OPTIONS]\n"
    "       privatemail crowd --cells M --clients N --clusters K --copies V [OPTIONS]\n\n"
    "Plans what the clients of a crowd, or its relay, must add so that the server learns no more than epsilon and\n"
    "delta of one person; or tells which epsilon a policy gives. Both promises are shown: the floor, and the crowd's,\n"
    "which holds if the relay mixes and does not join the server, and so many clients are honest. Nobody can verify\n"
    "that from outside.\n\n"
    "Options:\n"
    "  --cells M            cells that a message chooses from, slots times cells of the pack, 2 to 1048576\n"
    "  --clients N          clients that are promised per epoch, 1 to 4294967296\n"
    "  --honest H           share of them that is counted on, above 0 to 1. Default: 0.5\n"
    "  --epsilon E          plan for this epsilon, 1e-6 to 16\n"
    "  --delta D            of all queries together, 1e-15 to below 1. Default: 1e-8\n"
    "  --queries Q          of one person, each in an epoch of its own, 1 to 1048576. Default: 1\n"
    "  --own W              own messages per query, 1 to 8. Default: 1\n"
    "  --floor E0           epsilon of a drawn cell, which nothing can lower, 2e-5 to 16. Default: 8\n"
    "  --copies-max V       largest cluster that a plan may use, 1 to 64. Default: 8\n"
    "  --noise WHO          clients, or relay: then no client is counted on. Default: clients\n"
    "  --clusters K         of a policy: mean clusters per client, 0 to 4\n"
    "  --relay-clusters R   of a policy: mean clusters of the relay per epoch, 0 to 16777216\n"
    "  --copies V           of a policy: largest cluster, 1 to 64\n"
    "  --json               JSON on stdout instead of text (docs/CLI.md). Default: text\n"
    "  --help               this text\n\n"
    "Exit codes: 0 done, 2 wrong options, 4 stdout cannot be written, 6 no policy keeps the promise, 7 no memory.\n\n"
    "Example: privatemail crowd --cells 125 --clients 100000 --epsilon 0.1 --delta 1e-6\n";

const struct command command_crowd = {"crowd", "plan how many ask together, and what that hides", help, run};
