/* SPDX-License-Identifier: Apache-2.0
 * crowd: plans what the clients of a crowd do for a promise, or tells what promise a policy gives. In: options alone. Out:
 * both promises, always with what the second one rests on. */
#include "cli/shared/command.h"

#include <inttypes.h>
#include <math.h>
#include <privatemail_crowd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELTA0 1e-12 /* that the μ shown is booked with */
static const double shares[] = {1.0, 0.5, 0.25};
enum { SHARES = sizeof shares / sizeof shares[0] };

struct arguments {
    uint64_t cells, clients, queries, copies_max, own, copies;
    double epsilon, delta, honest, floor, clusters, relay_clusters;
    const char *noise;
    bool json, plans, relay;
};

struct findings {
    pml_crowd crowd;
    bool needed;  /* there are fakes */
    bool crowded; /* ε is the crowd's; otherwise only the floor holds */
    double epsilon, mu, fakes;
    double by_share[SHARES]; /* ε when so many of the promised clients are honest; infinite: only the floor */
};

/* ---- options ---- */

static exit_code refuse(const char *message)
{
    return command_fail(&command_crowd, EXIT_USAGE, "%s", message);
}

static bool is_between(double value, double least, double most)
{
    return value >= least && value <= most;
}

static exit_code check(struct arguments *a)
{
    a->relay = strcmp(a->noise, "relay") == 0;
    if (!a->relay && strcmp(a->noise, "clients") != 0)
        return refuse("--noise must be clients or relay.");
    if (!is_between((double)a->cells, 2, PML_CROWD_CELLS_MAX))
        return refuse("--cells must be 2 to 1048576: slots times cells of the pack.");
    if (!a->relay && !is_between((double)a->clients, 1, (double)PML_CROWD_CLIENTS_MAX))
        return refuse("--clients must be 1 to 4294967296. Only --noise relay needs none.");
    if (a->relay && a->clients > 0)
        return refuse("--clients does not matter with --noise relay. Leave it out.");
    if (!is_between(a->honest, 0x1p-32, 1.0) || (!a->relay && (double)a->clients * a->honest < 1.0))
        return refuse("--honest must be above 0 and at most 1, and leave at least one client.");
    if (!is_between(a->delta, 0x1p-50, 1.0 - 0x1p-53))
        return refuse("--delta must be 1e-15 to below 1; 1e-8 is the default.");
    if (!is_between((double)a->queries, 1, PML_CROWD_QUERIES_MAX))
        return refuse("--queries must be 1 to 1048576.");
    if (!is_between((double)a->own, 1, PML_CROWD_OWN_MAX))
        return refuse("--own must be 1 to 8.");
    if (!is_between(a->floor, PML_CROWD_FLOOR_MIN, PML_EPSILON_MAX))
        return refuse("--floor must be 2e-5 to 16; 8 is the default.");
    return EXIT_OK;
}

static exit_code check_plan(const struct arguments *a)
{
    if (!is_between(a->epsilon, PML_EPSILON_MIN, PML_EPSILON_MAX))
        return refuse("--epsilon must be 1e-6 to 16.");
    if (!is_between((double)a->copies_max, 1, PML_CROWD_COPIES_MAX))
        return refuse("--copies-max must be 1 to 64; 8 is the default.");
    return EXIT_OK;
}

static exit_code check_policy(const struct arguments *a)
{
    if (!is_between((double)a->copies, 1, PML_CROWD_COPIES_MAX))
        return refuse("--copies must be 1 to 64.");
    if (!is_between(a->clusters, 0.0, PML_CROWD_CLUSTERS_MAX))
        return refuse("--clusters must be 0 to 4.");
    if (!is_between(a->relay_clusters, 0.0, PML_CROWD_RELAY_MAX))
        return refuse("--relay-clusters must be 0 to 16777216.");
    return EXIT_OK;
}

static exit_code parse(int argc, char **argv, struct arguments *a)
{
    struct option_spec specs[] = {
        {"epsilon", OPTION_NUMBER, &a->epsilon, false, false},
        {"copies-max", OPTION_COUNT, &a->copies_max, false, false},
        {"copies", OPTION_COUNT, &a->copies, false, false},
        {"clusters", OPTION_NUMBER, &a->clusters, false, false},
        {"relay-clusters", OPTION_NUMBER, &a->relay_clusters, false, false},
        {"cells", OPTION_COUNT, &a->cells, true, false},
        {"clients", OPTION_COUNT, &a->clients, false, false},
        {"delta", OPTION_NUMBER, &a->delta, false, false},
        {"queries", OPTION_COUNT, &a->queries, false, false},
        {"honest", OPTION_NUMBER, &a->honest, false, false},
        {"own", OPTION_COUNT, &a->own, false, false},
        {"floor", OPTION_NUMBER, &a->floor, false, false},
        {"noise", OPTION_TEXT, &a->noise, false, false},
        {"json", OPTION_FLAG, &a->json, false, false},
    };
    *a = (struct arguments){
        .queries = 1, .copies_max = 8, .own = 1, .delta = 1e-8, .honest = 0.5, .floor = 8.0, .noise = "clients"};
    exit_code code = options_parse(&command_crowd, argc, argv, specs, sizeof specs / sizeof specs[0], NULL, 0, 0);
    if (code != EXIT_OK)
        return code;
    bool policy = specs[2].given || specs[3].given || specs[4].given;
    a->plans = specs[0].given || specs[1].given;
    if (a->plans == policy)
        return refuse(
            "give --epsilon to plan, or --copies with --clusters or --relay-clusters to account for a policy.");
    if (policy && !(specs[2].given && (a->relay_clusters > 0.0 || specs[3].given)))
        return refuse("a policy needs --copies, and --clusters or --relay-clusters.");
    if (policy && specs[4].given && !specs[3].given)
        a->noise = "relay";
    code = check(a);
    if (code != EXIT_OK)
        return code;
    return a->plans ? check_plan(a) : check_policy(a);
}

/* ---- arithmetic ---- */

static pml_crowd_use use_of(const struct arguments *a)
{
    return (pml_crowd_use){.cells = (uint32_t)a->cells, .queries = (uint32_t)a->queries, .floor = a->floor};
}

/* The same policy when another share of the promised clients is honest; infinite when only the floor holds then. */
static double epsilon_of_share(const struct arguments *a, pml_crowd crowd, double share, double *scratch)
{
    pml_crowd_use use = use_of(a);
    double epsilon = INFINITY;
    crowd.clients = (uint64_t)((double)a->clients * share);
    if (crowd.clients == 0)
        crowd.clusters = 0.0;
    if (pml_crowd_epsilon(&crowd, &use, a->delta, scratch, PML_CROWD_SCRATCH_MAX, &epsilon) != PML_OK)
        return INFINITY;
    return epsilon < use.floor * use.queries ? epsilon : INFINITY;
}

static pml_status plan(const struct arguments *a, double *scratch, struct findings *found)
{
    pml_crowd_goal goal = {.use = use_of(a),
                           .clients = a->clients,
                           .honest = a->honest,
                           .epsilon = a->epsilon,
                           .delta = a->delta,
                           .copies_max = (uint32_t)a->copies_max,
                           .own = (uint32_t)a->own,
                           .relay = a->relay};
    pml_crowd_planned planned;
    pml_status status = pml_crowd_plan(&goal, scratch, PML_CROWD_SCRATCH_MAX, &planned);
    found->crowd = planned.crowd;
    found->needed = found->crowded = planned.needed;
    found->epsilon = a->epsilon;
    return status;
}

static void account(const struct arguments *a, double *scratch, struct findings *found)
{
    found->crowd = (pml_crowd){.clients = (uint64_t)((double)a->clients * a->honest),
                               .clusters = a->clusters,
                               .copies = (uint32_t)a->copies,
                               .own = (uint32_t)a->own,
                               .relay_clusters = a->relay_clusters};
    found->needed = a->clusters > 0.0 || a->relay_clusters > 0.0;
    found->epsilon = epsilon_of_share(a, found->crowd, a->honest, scratch);
    found->crowded = isfinite(found->epsilon);
    if (!found->crowded)
        found->epsilon = a->floor * (double)a->queries;
}

static void complete(const struct arguments *a, double *scratch, struct findings *found)
{
    double clusters = a->relay ? found->crowd.relay_clusters : found->crowd.clusters;
    found->fakes = clusters * (found->crowd.copies + 1.0) / 2.0;
    if (pml_crowd_mu(&found->crowd, (uint32_t)a->cells, DELTA0, scratch, PML_CROWD_SCRATCH_MAX, &found->mu) != PML_OK)
        found->mu = NAN;
    for (size_t i = 0; i < SHARES; i++)
        found->by_share[i] = epsilon_of_share(a, found->crowd, shares[i], scratch);
}

/* Answers that come down per query: the own ones, and those to the client's fakes. */
static double answers(const struct arguments *a, const struct findings *found)
{
    return (double)a->own + found->crowd.clusters * (found->crowd.copies + 1.0) / 2.0;
}

/* ---- report ---- */

static void print_shares(const struct arguments *a, const struct findings *found)
{
    for (size_t i = 0; i < SHARES; i++) {
        printf("  %3.0f %% honest    ", 100.0 * shares[i]);
        if (isfinite(found->by_share[i]))
            printf("epsilon %.4g\n", found->by_share[i]);
        else
            printf("only the floor, epsilon %g\n", a->floor * (double)a->queries);
    }
}

static void print_findings(const struct arguments *a, const struct findings *found)
{
    const pml_crowd *crowd = &found->crowd;
    if (!found->needed && a->plans)
        printf("No fakes are needed: the floor of %g per query already keeps epsilon %g.\n\n", a->floor, a->epsilon);
    else if (a->relay)
        printf("fakes           %.6g per epoch by the relay: %.6g clusters of 1 to %" PRIu32 " equal messages\n",
               found->fakes, crowd->relay_clusters, crowd->copies);
    else
        printf("fakes           %.4g per client: %.6g clusters of 1 to %" PRIu32 " equal messages (means)\n",
               found->fakes, crowd->clusters, crowd->copies);
    printf("down            %.4g answers per query, %.4g %% of the gallery with lists of 1/%" PRIu64 "\n",
           answers(a, found), 100.0 * answers(a, found) / (double)a->cells, a->cells);
    printf("floor           epsilon %g of %" PRIu64 " quer%s, whoever works together against it\n",
           a->floor * (double)a->queries, a->queries, a->queries == 1 ? "y" : "ies");
    if (found->crowded && a->relay)
        printf(
            "crowd           epsilon %.4g, delta %g, if the relay mixes, adds its fakes and does not join the server\n",
            found->epsilon, a->delta);
    else if (found->crowded)
        printf("crowd           epsilon %.4g, delta %g, if the relay mixes and at least %" PRIu64
               " clients are honest\n",
               found->epsilon, a->delta, crowd->clients);
    else if (found->needed)
        printf("crowd           no promise at delta %g: too few fakes\n", a->delta);
    if (found->crowded && isfinite(found->mu))
        printf("price           mu %.4g and delta0 %g per own message, for many queries\n", found->mu, DELTA0);
    if (found->needed && !a->relay) {
        printf("\nWhen so many of the %" PRIu64 " promised clients are honest:\n", a->clients);
        print_shares(a, found);
    }
}

static void write_findings(const struct arguments *a, const struct findings *found)
{
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_count(&json, "cells", a->cells);
    json_count(&json, "clients", a->clients);
    json_number(&json, "honest", a->honest);
    json_count(&json, "queries", a->queries);
    json_count(&json, "own", a->own);
    json_text(&json, "noise", a->noise);
    json_text(&json, "promise", found->crowded ? "crowd" : "floor");
    json_number(&json, "epsilon", found->epsilon);
    json_number(&json, "delta", a->delta);
    json_number(&json, "floor", a->floor);
    json_bool(&json, "needed", found->needed);
    json_number(&json, "clusters", found->crowd.clusters);
    json_number(&json, "relay_clusters", found->crowd.relay_clusters);
    json_count(&json, "copies", found->crowd.copies);
    json_number(&json, "fakes", found->fakes);
    json_number(&json, "answers", answers(a, found));
    json_number(&json, "share", answers(a, found) / (double)a->cells);
    json_number(&json, "mu", found->mu);
    json_number(&json, "delta0", DELTA0);
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

static exit_code examine(const struct arguments *a, double *scratch)
{
    struct findings found = {0};
    if (!a->plans)
        account(a, scratch, &found);
    else if (plan(a, scratch, &found) != PML_OK)
        return command_fail(
            &command_crowd, EXIT_PRIVACY,
            "no policy keeps epsilon %g, delta %g here: it would need more than %g fakes per client, %g "
            "clusters per client, or %g clusters of the relay. Give more --clients, a larger --epsilon, "
            "--delta, --honest or --copies-max, or use --noise relay.",
            a->epsilon, a->delta, PML_CROWD_FAKES_MAX, PML_CROWD_CLUSTERS_MAX, PML_CROWD_RELAY_MAX);
    complete(a, scratch, &found);
    if (a->json)
        write_findings(a, &found);
    else
        print_findings(a, &found);
    return EXIT_OK;
}

static exit_code run(int argc, char **argv)
{
    struct arguments arguments;
    exit_code code = parse(argc, argv, &arguments);
    if (code != EXIT_OK)
        return code;
    double *scratch = malloc(PML_CROWD_SCRATCH_MAX * sizeof *scratch);
    if (!scratch)
        return command_no_memory(&command_crowd);
    code = examine(&arguments, scratch);
    free(scratch);
    return code;
}

static const char help[] =
    "Usage: privatemail crowd --cells M --clients N --epsilon E [OPTIONS]\n"
    "       privatemail crowd --cells M --epsilon E --noise relay [OPTIONS]\n"
    "       privatemail crowd --cells M --clients N --clusters K --copies V [OPTIONS]\n\n"
    "Plans what the clients of a crowd, or its relay, must add so that the server learns no more than epsilon and\n"
    "delta of one person; or tells which epsilon a policy gives. Both promises are shown: the floor, and the crowd's,\n"
    "which holds if the relay mixes and so many clients are honest. Nobody can verify that from outside.\n\n"
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
