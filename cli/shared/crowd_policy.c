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

enum { CROWD, CLUSTERS, COPIES, COPIES_MAX, HONEST, OWN, FLOOR, NOISE };

void crowd_options_fill(struct crowd_arguments *arguments, struct option_spec specs[CROWD_OPTIONS])
{
    *arguments = (struct crowd_arguments){.own = 1, .copies_max = 8, .honest = 0.5, .floor = 8.0, .noise = "clients"};
    const struct option_spec filled[CROWD_OPTIONS] = {
        [CROWD] = {"crowd", OPTION_COUNT, &arguments->clients, false, false},
        [CLUSTERS] = {"clusters", OPTION_NUMBER, &arguments->clusters, false, false},
        [COPIES] = {"copies", OPTION_COUNT, &arguments->copies, false, false},
        [COPIES_MAX] = {"copies-max", OPTION_COUNT, &arguments->copies_max, false, false},
        [HONEST] = {"honest", OPTION_NUMBER, &arguments->honest, false, false},
        [OWN] = {"own", OPTION_COUNT, &arguments->own, false, false},
        [FLOOR] = {"floor", OPTION_NUMBER, &arguments->floor, false, false},
        [NOISE] = {"noise", OPTION_TEXT, &arguments->noise, false, false},
    };
    memcpy(specs, filled, sizeof filled);
}

static bool is_between(double value, double least, double most)
{
    return value >= least && value <= most;
}

static exit_code check_counts(const struct command *command, const struct crowd_arguments *arguments)
{
    if (!arguments->relay && !is_between((double)arguments->clients, 1, (double)PML_CROWD_CLIENTS_MAX))
        return command_fail(command, EXIT_USAGE,
                            "--crowd must be 1 to 4294967296: the clients that are promised per epoch.");
    if (!is_between(arguments->honest, 0x1p-32, 1.0) ||
        (!arguments->relay && (double)arguments->clients * arguments->honest < 1.0))
        return command_fail(command, EXIT_USAGE,
                            "--honest must be above 0 and at most 1, and leave at least one client.");
    if (!is_between((double)arguments->own, 1, PML_CROWD_OWN_MAX))
        return command_fail(command, EXIT_USAGE, "--own must be 1 to %u.", PML_CROWD_OWN_MAX);
    if (!is_between(arguments->floor, PML_CROWD_FLOOR_MIN, PML_EPSILON_MAX))
        return command_fail(command, EXIT_USAGE, "--floor must be 2e-5 to 16; 8 is the default.");
    if (!is_between((double)arguments->copies_max, 1, PML_CROWD_COPIES_MAX))
        return command_fail(command, EXIT_USAGE, "--copies-max must be 1 to %u; 8 is the default.",
                            PML_CROWD_COPIES_MAX);
    return EXIT_OK;
}

static exit_code check_taken(const struct command *command, const struct crowd_arguments *arguments,
                             const struct option_spec specs[CROWD_OPTIONS], bool has_epsilon)
{
    if (!specs[CLUSTERS].given || !specs[COPIES].given)
        return command_fail(command, EXIT_USAGE, "a policy needs both --clusters and --copies.");
    if (has_epsilon || specs[COPIES_MAX].given)
        return command_fail(command, EXIT_USAGE,
                            "--clusters and --copies are taken as they are. Leave --epsilon and --copies-max out, or "
                            "leave these two out to plan for --epsilon.");
    if (arguments->relay)
        return command_fail(command, EXIT_USAGE, "--clusters says what clients do. Leave it out with --noise relay.");
    if (!is_between(arguments->clusters, 0.0, PML_CROWD_CLUSTERS_MAX))
        return command_fail(command, EXIT_USAGE, "--clusters must be 0 to %g.", PML_CROWD_CLUSTERS_MAX);
    if (!is_between((double)arguments->copies, 1, PML_CROWD_COPIES_MAX))
        return command_fail(command, EXIT_USAGE, "--copies must be 1 to %u.", PML_CROWD_COPIES_MAX);
    return EXIT_OK;
}

exit_code crowd_options_check(const struct command *command, struct crowd_arguments *arguments,
                              const struct option_spec specs[CROWD_OPTIONS], bool has_epsilon)
{
    arguments->relay = strcmp(arguments->noise, "relay") == 0;
    arguments->asked = specs[CROWD].given || arguments->relay;
    arguments->taken = specs[CLUSTERS].given || specs[COPIES].given;
    if (!arguments->relay && strcmp(arguments->noise, "clients") != 0)
        return command_fail(command, EXIT_USAGE, "--noise must be clients or relay, not '%s'.", arguments->noise);
    for (size_t i = 0; i < CROWD_OPTIONS && !arguments->asked; i++) {
        if (specs[i].given)
            return command_fail(command, EXIT_USAGE, "--%s needs --crowd N, or --noise relay.", specs[i].name);
    }
    if (!arguments->asked)
        return EXIT_OK;
    exit_code code = check_counts(command, arguments);
    if (code == EXIT_OK && arguments->taken)
        return check_taken(command, arguments, specs, has_epsilon);
    if (code == EXIT_OK && !has_epsilon)
        return command_fail(command, EXIT_USAGE,
                            "--epsilon is missing. Give it to plan for, or --clusters and --copies as they are.");
    return code;
}

/* ---- policy ---- */

void crowd_promise_assumption(const struct crowd_promise *promise, char text[CROWD_ASSUMPTION_MAX])
{
    if (promise->policy.relay_clusters > 0.0)
        snprintf(text, CROWD_ASSUMPTION_MAX, "if the relay mixes, adds its fakes and does not join the server");
    else
        snprintf(text, CROWD_ASSUMPTION_MAX, "if the relay mixes and at least %" PRIu64 " clients are honest",
                 promise->policy.clients);
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

static pml_status plan(const struct crowd_arguments *arguments, double epsilon, double delta, const pml_crowd_use *use,
                       double *scratch, struct crowd_promise *promise)
{
    const pml_crowd_goal goal = {.use = *use,
                                 .clients = arguments->relay ? 0 : arguments->clients,
                                 .honest = arguments->honest,
                                 .epsilon = epsilon,
                                 .delta = delta,
                                 .copies_max = (uint32_t)arguments->copies_max,
                                 .own = (uint32_t)arguments->own,
                                 .relay = arguments->relay};
    pml_crowd_planned planned;
    const pml_status status = pml_crowd_plan(&goal, scratch, PML_CROWD_SCRATCH_MAX, &planned);
    promise->policy = planned.crowd;
    promise->crowded = planned.needed;
    promise->epsilon = epsilon;
    return status;
}

static void account(const struct crowd_arguments *arguments, double delta, const pml_crowd_use *use, double *scratch,
                    struct crowd_promise *promise)
{
    promise->policy = (pml_crowd){.clients = (uint64_t)((double)arguments->clients * arguments->honest),
                                  .clusters = arguments->clusters,
                                  .copies = (uint32_t)arguments->copies,
                                  .own = (uint32_t)arguments->own};
    promise->crowded =
        pml_crowd_epsilon(&promise->policy, use, delta, scratch, PML_CROWD_SCRATCH_MAX, &promise->epsilon) == PML_OK &&
        promise->epsilon < arguments->floor;
}

exit_code crowd_policy_make(const struct command *command, const struct crowd_arguments *arguments, double epsilon,
                            double delta, uint64_t cells, struct crowd_promise *promise)
{
    *promise = (struct crowd_promise){.floor = arguments->floor,
                                      .delta = delta,
                                      .clients = arguments->relay ? 0 : arguments->clients,
                                      .honest = arguments->honest};
    if (cells < 2 || cells > PML_CROWD_CELLS_MAX)
        return command_fail(command, EXIT_PRIVACY,
                            "a crowd needs a pack of 2 to %u cells, all slots together; this one has %" PRIu64
                            ". Build another pack (privatemail pack).",
                            PML_CROWD_CELLS_MAX, cells);
    double *scratch = malloc(PML_CROWD_SCRATCH_MAX * sizeof *scratch);
    if (!scratch)
        return command_no_memory(command);
    const pml_crowd_use use = {.cells = (uint32_t)cells, .queries = 1, .floor = arguments->floor};
    pml_status status = PML_OK;
    if (arguments->taken)
        account(arguments, delta, &use, scratch, promise);
    else
        status = plan(arguments, epsilon, delta, &use, scratch, promise);
    if (status == PML_OK && promise->crowded)
        book(&promise->policy, use.cells, delta, scratch);
    free(scratch);
    if (status != PML_OK)
        return command_fail(command, EXIT_PRIVACY,
                            "no policy keeps epsilon %g, delta %g with %" PRIu64 " cells: %s. Give a larger --crowd, "
                            "--honest, --epsilon, --delta or --copies-max, or use --noise relay.",
                            epsilon, delta, cells, pml_status_text(status));
    const pml_crowd *policy = &promise->policy;
    promise->fakes = (arguments->relay ? policy->relay_clusters : policy->clusters) * (policy->copies + 1.0) / 2.0;
    if (!promise->crowded) {
        promise->epsilon = promise->floor;
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
