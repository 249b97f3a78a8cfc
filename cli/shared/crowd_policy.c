/* SPDX-License-Identifier: Apache-2.0
 * Options of a crowd, and the policy that follows from them. In: options alone, never a query. */
#include "crowd_policy.h"

#include <inttypes.h>
#include <math.h>
#include <privatemail_crowd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

void crowd_options_fill(struct crowd_arguments *arguments, struct option_spec specs[CROWD_OPTIONS])
{
    *arguments = (struct crowd_arguments){
        .queries = 1, .own = 1, .copies_max = 8, .honest = 0.5, .floor = 8.0, .noise = "clients"};
    const struct option_spec filled[CROWD_OPTIONS] = {
        [CROWD_CLIENTS] = {"crowd", OPTION_COUNT, &arguments->clients, false, false},
        [CROWD_HONEST] = {"honest", OPTION_NUMBER, &arguments->honest, false, false},
        [CROWD_FLOOR] = {"floor", OPTION_NUMBER, &arguments->floor, false, false},
        [CROWD_COPIES_MAX] = {"copies-max", OPTION_COUNT, &arguments->copies_max, false, false},
        [CROWD_NOISE] = {"noise", OPTION_TEXT, &arguments->noise, false, false},
        [CROWD_OWN] = {"own", OPTION_COUNT, &arguments->own, false, false},
        [CROWD_COPIES] = {"copies", OPTION_COUNT, &arguments->copies, false, false},
        [CROWD_CLUSTERS] = {"clusters", OPTION_NUMBER, &arguments->clusters, false, false},
        [CROWD_RELAY_CLUSTERS] = {"relay-clusters", OPTION_NUMBER, &arguments->relay_clusters, false, false},
    };
    memcpy(specs, filled, sizeof filled);
}

static exit_code check_ranges(const struct command *command, const struct crowd_arguments *arguments,
                              const struct option_spec specs[CROWD_OPTIONS])
{
    const double clients = (double)arguments->clients;
    static const char honest[] = "above 0 and at most 1, and leave at least one client";
    const struct {
        enum crowd_option option;
        double value, least, most;
        const char *text;
    } ranges[] = {
        {CROWD_CLIENTS, arguments->relay ? 1.0 : clients, 1.0, (double)PML_CROWD_CLIENTS_MAX,
         "1 to 4294967296: the clients that are promised per epoch. Only --noise relay needs none"},
        {CROWD_HONEST, arguments->honest, 0x1p-32, 1.0, honest},
        {CROWD_HONEST, arguments->relay ? 1.0 : clients * arguments->honest, 1.0, INFINITY, honest},
        {CROWD_OWN, (double)arguments->own, 1, PML_CROWD_OWN_MAX, "1 to 8"},
        {CROWD_FLOOR, arguments->floor, PML_CROWD_FLOOR_MIN, PML_EPSILON_MAX, "2e-5 to 16; 8 is the default"},
        {CROWD_COPIES_MAX, (double)arguments->copies_max, 1, PML_CROWD_COPIES_MAX, "1 to 64; 8 is the default"},
        {CROWD_COPIES, arguments->taken ? (double)arguments->copies : 1.0, 1, PML_CROWD_COPIES_MAX, "1 to 64"},
        {CROWD_CLUSTERS, arguments->clusters, 0.0, PML_CROWD_CLUSTERS_MAX, "0 to 4"},
        {CROWD_RELAY_CLUSTERS, arguments->relay_clusters, 0.0, PML_CROWD_RELAY_MAX, "0 to 16777216"},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (!(ranges[i].value >= ranges[i].least && ranges[i].value <= ranges[i].most))
            return command_fail(command, EXIT_USAGE, "--%s must be %s.", specs[ranges[i].option].name, ranges[i].text);
    }
    return EXIT_OK;
}

static exit_code check_taken(const struct command *command, const struct crowd_arguments *arguments,
                             const struct option_spec specs[CROWD_OPTIONS], bool has_epsilon)
{
    if (has_epsilon || specs[CROWD_COPIES_MAX].given)
        return command_fail(command, EXIT_USAGE,
                            "--clusters, --relay-clusters and --copies are taken as they are. Leave --epsilon and "
                            "--copies-max out, or leave these out to plan for --epsilon.");
    if (!specs[CROWD_COPIES].given || !(specs[CROWD_CLUSTERS].given || specs[CROWD_RELAY_CLUSTERS].given))
        return command_fail(command, EXIT_USAGE, "a policy needs --copies, and --clusters or --relay-clusters.");
    if (arguments->relay && specs[CROWD_CLUSTERS].given)
        return command_fail(command, EXIT_USAGE, "--clusters says what clients do. Leave it out with --noise relay.");
    return EXIT_OK;
}

exit_code crowd_options_check(const struct command *command, struct crowd_arguments *arguments,
                              const struct option_spec specs[CROWD_OPTIONS], bool has_epsilon)
{
    if (specs[CROWD_RELAY_CLUSTERS].given && !specs[CROWD_CLUSTERS].given)
        arguments->noise = "relay";
    arguments->clients_option = specs[CROWD_CLIENTS].name;
    arguments->relay = strcmp(arguments->noise, "relay") == 0;
    arguments->asked |= specs[CROWD_CLIENTS].given || arguments->relay;
    arguments->taken = specs[CROWD_CLUSTERS].given || specs[CROWD_COPIES].given || specs[CROWD_RELAY_CLUSTERS].given;
    if (!arguments->relay && strcmp(arguments->noise, "clients") != 0)
        return command_fail(command, EXIT_USAGE, "--noise must be clients or relay, not '%s'.", arguments->noise);
    for (size_t i = 0; i < CROWD_OPTIONS && !arguments->asked; i++) {
        if (specs[i].given)
            return command_fail(command, EXIT_USAGE, "--%s needs --%s N, or --noise relay.", specs[i].name,
                                arguments->clients_option);
    }
    if (!arguments->asked)
        return EXIT_OK;
    if (arguments->relay && specs[CROWD_CLIENTS].given)
        return command_fail(command, EXIT_USAGE, "--%s does not matter with --noise relay. Leave it out.",
                            arguments->clients_option);
    if (!arguments->taken && !has_epsilon)
        return command_fail(command, EXIT_USAGE,
                            "--epsilon is missing. Give it to plan for, or --clusters and --copies as they are.");
    exit_code code = arguments->taken ? check_taken(command, arguments, specs, has_epsilon) : EXIT_OK;
    return code == EXIT_OK ? check_ranges(command, arguments, specs) : code;
}

exit_code crowd_goal_check(const struct command *command, const struct crowd_arguments *arguments, double epsilon,
                           double delta)
{
    if (!arguments->taken && !(epsilon >= PML_EPSILON_MIN && epsilon <= PML_EPSILON_MAX))
        return command_fail(command, EXIT_USAGE, "--epsilon must be 1e-6 to 16. In a crowd 0.1 to 1 is usual.");
    if (!(delta >= 0x1p-50 && delta < 1.0))
        return command_fail(command, EXIT_USAGE, "--delta must be 1e-15 to below 1; %g is the default in a crowd.",
                            CROWD_DELTA_DEFAULT);
    return EXIT_OK;
}

/* ---- policy ---- */

pml_crowd_goal crowd_goal(const struct crowd_arguments *arguments, double epsilon, double delta, uint32_t cells)
{
    return (pml_crowd_goal){.use = {.cells = cells, .queries = (uint32_t)arguments->queries, .floor = arguments->floor},
                            .clients = arguments->relay ? 0 : arguments->clients,
                            .honest = arguments->honest,
                            .epsilon = epsilon,
                            .delta = delta,
                            .copies_max = (uint32_t)arguments->copies_max,
                            .own = (uint32_t)arguments->own,
                            .relay = arguments->relay};
}

exit_code crowd_goal_fail(const struct command *command, const struct crowd_arguments *arguments,
                          const pml_crowd_goal *goal)
{
    return command_fail(command, EXIT_PRIVACY,
                        "no policy keeps epsilon %g, delta %g with %u cells: it would need more than %g fakes per "
                        "client, %g clusters per client, or %g clusters of the relay. Give a larger --%s, --honest, "
                        "--epsilon, --delta or --copies-max, or use --noise relay.",
                        goal->epsilon, goal->delta, goal->use.cells, PML_CROWD_FAKES_MAX, PML_CROWD_CLUSTERS_MAX,
                        PML_CROWD_RELAY_MAX, arguments->clients_option);
}

void crowd_promise_assumption(const struct crowd_promise *promise, char text[CROWD_ASSUMPTION_MAX])
{
    const pml_crowd *policy = &promise->policy;
    int length = snprintf(text, CROWD_ASSUMPTION_MAX, "if the relay mixes%s and does not join the server",
                          policy->relay_clusters > 0.0 ? ", adds its fakes" : "");
    if (policy->clients > 0)
        snprintf(text + length, CROWD_ASSUMPTION_MAX - (size_t)length, ", and at least %" PRIu64 " clients are honest",
                 policy->clients);
}

#if PML_WITH_CROWD

/* What one own message is booked with. A small δ₀ allows many queries, but needs many fakes: the smallest that the fakes
 * allow is taken, and none that would leave a budget of this δ fewer than five messages. */
static void book(pml_crowd *policy, uint32_t cells, double delta, double *scratch)
{
    const double tried[] = {fmin(1e-12, delta / 10), delta / 1000, delta / 100, delta / 10};
    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        policy->delta0 = fmin(tried[i], PML_CROWD_DELTA0_MAX);
        if (pml_crowd_mu(policy, cells, policy->delta0, scratch, PML_CROWD_SCRATCH_MAX, &policy->mu) == PML_OK)
            return;
    }
    policy->delta0 = policy->mu = 0.0;
}

static pml_status plan(const pml_crowd_goal *goal, double *scratch, struct crowd_promise *promise)
{
    pml_crowd_planned planned;
    const pml_status status = pml_crowd_plan(goal, scratch, PML_CROWD_SCRATCH_MAX, &planned);
    promise->policy = planned.crowd;
    promise->crowded = planned.needed;
    promise->epsilon = goal->epsilon;
    return status;
}

static void take(const struct crowd_arguments *arguments, const pml_crowd_goal *goal, struct crowd_promise *promise)
{
    promise->policy = (pml_crowd){.clients = (uint64_t)((double)goal->clients * goal->honest),
                                  .clusters = arguments->clusters,
                                  .copies = (uint32_t)arguments->copies,
                                  .own = goal->own,
                                  .relay_clusters = arguments->relay_clusters};
}

/* A kept cell has no new coin, so the factor 1−γ does not count for it (PRIVACY, section 11). */
static void account(const pml_crowd_goal *goal, bool kept, double *scratch, struct crowd_promise *promise)
{
    pml_crowd_use use = goal->use;
    use.floor = kept ? 0.0 : use.floor;
    promise->crowded = pml_crowd_epsilon(&promise->policy, &use, goal->delta, scratch, PML_CROWD_SCRATCH_MAX,
                                         &promise->epsilon) == PML_OK &&
                       promise->epsilon < goal->use.floor * goal->use.queries;
}

exit_code crowd_policy_make(const struct command *command, const struct crowd_arguments *arguments, double epsilon,
                            double delta, uint64_t cells, struct crowd_promise *promise)
{
    const pml_crowd_goal goal = crowd_goal(arguments, epsilon, delta, (uint32_t)cells);
    *promise = (struct crowd_promise){
        .floor = arguments->floor, .delta = delta, .clients = goal.clients, .honest = arguments->honest};
    if (cells < 2 || cells > PML_CROWD_CELLS_MAX)
        return command_fail(command, EXIT_PRIVACY,
                            "a crowd needs a pack of 2 to %u cells, all slots together; this one has %" PRIu64
                            ". Build another pack (privatemail pack).",
                            PML_CROWD_CELLS_MAX, cells);
    double *scratch = malloc(PML_CROWD_SCRATCH_MAX * sizeof *scratch);
    if (!scratch)
        return command_no_memory(command);
    pml_status status = PML_OK;
    if (arguments->taken)
        take(arguments, &goal, promise);
    else
        status = plan(&goal, scratch, promise);
    if (status == PML_OK && (arguments->taken || arguments->kept))
        account(&goal, arguments->kept, scratch, promise);
    promise->policy.cover = arguments->cover;
    if (status == PML_OK && promise->crowded)
        book(&promise->policy, goal.use.cells, delta, scratch);
    free(scratch);
    if (status != PML_OK)
        return crowd_goal_fail(command, arguments, &goal);
    const pml_crowd *policy = &promise->policy;
    promise->fakes = (arguments->relay ? policy->relay_clusters : policy->clusters) * (policy->copies + 1.0) / 2.0;
    if (!promise->crowded) {
        promise->epsilon = promise->floor * goal.use.queries;
        promise->delta = 0.0;
    }
    return EXIT_OK;
}

#else

exit_code crowd_policy_make(const struct command *command, const struct crowd_arguments *arguments, double epsilon,
                            double delta, uint64_t cells, struct crowd_promise *promise)
{
    (void)arguments, (void)epsilon, (void)delta, (void)cells;
    *promise = (struct crowd_promise){0};
    return command_fail(command, EXIT_PRIVACY, "this build has no crowd. Use one with PRIVATEMAIL_CROWD.");
}

#endif
