/* SPDX-License-Identifier: Apache-2.0
 * How to ask in a crowd, as options say it: a policy that is planned for a promise, or one that is taken as it is. Both
 * promises belong together: the floor, and the crowd's, which rests on an assumption that nobody can verify. */
#ifndef CLI_CROWD_POLICY_H
#define CLI_CROWD_POLICY_H

#include "command.h"

#include <privatemail_crowd.h>

#define CROWD_DELTA_DEFAULT 1e-8

struct crowd_arguments {
    uint64_t clients; /* promised per epoch */
    uint64_t queries; /* of one person, that ε and δ are for; only `crowd` has an option for it */
    uint64_t own, copies_max, copies;
    double honest, floor, clusters, relay_clusters;
    const char *noise, *clients_option; /* the second: what the option of `clients` is called */
    bool asked;                         /* there is a crowd at all */
    bool relay;                         /* the relay makes the fakes */
    bool taken;                         /* clusters and copies are given: nothing is planned */
    bool cover;                         /* idle clients send the list of a uniform cell too */
    bool kept;                          /* a kept cell is sent again: ε counts on no new draw */
};

/* The first ones, up to CROWD_PLAN_OPTIONS, are for commands that only plan, for one own message. */
enum crowd_option {
    CROWD_CLIENTS,
    CROWD_HONEST,
    CROWD_FLOOR,
    CROWD_COPIES_MAX,
    CROWD_NOISE,
    CROWD_PLAN_OPTIONS,
    CROWD_OWN = CROWD_PLAN_OPTIONS,
    CROWD_COPIES,
    CROWD_CLUSTERS,
    CROWD_RELAY_CLUSTERS,
    CROWD_OPTIONS
};

/* Fills in the defaults, and the options with these names; that of the clients is --crowd. */
void crowd_options_fill(struct crowd_arguments *arguments, struct option_spec specs[CROWD_OPTIONS]);

/* Checks them once they are parsed. `has_epsilon`: an ε to plan for was given. A command that is always about a crowd sets
 * `asked` before. */
exit_code crowd_options_check(const struct command *command, struct crowd_arguments *arguments,
                              const struct option_spec specs[CROWD_OPTIONS], bool has_epsilon);

/* Checks ε, if it is planned for, and δ. */
exit_code crowd_goal_check(const struct command *command, const struct crowd_arguments *arguments, double epsilon,
                           double delta);

/* What the options and these numbers ask for, and the message that no policy reaches it. */
pml_crowd_goal crowd_goal(const struct crowd_arguments *arguments, double epsilon, double delta, uint32_t cells);
exit_code crowd_goal_fail(const struct command *command, const struct crowd_arguments *arguments,
                          const pml_crowd_goal *goal);

struct crowd_promise {
    pml_crowd policy; /* δ₀ and μ are what one own message is booked with; 0 when the fakes are too few for that */
    bool crowded;     /* false: only the floor holds */
    double epsilon, delta; /* of `queries` queries: the crowd's, or the floor and 0 */
    double floor;          /* ε₀ */
    uint64_t clients;      /* promised per epoch; 0 when the relay makes the fakes */
    double honest;         /* share of them that counts */
    double fakes;          /* mean per client, or per epoch when the relay makes them */
};

/* Plans for (ε, δ), or accounts for the policy that was given at δ. `cells`: symbols of the pack, slots · cells. */
exit_code crowd_policy_make(const struct command *command, const struct crowd_arguments *arguments, double epsilon,
                            double delta, uint64_t cells, struct crowd_promise *promise);

/* "if the relay mixes and does not join the server, and at least N clients are honest", or what else the crowd's promise
 * rests on. */
enum { CROWD_ASSUMPTION_MAX = 128 };
void crowd_promise_assumption(const struct crowd_promise *promise, char text[CROWD_ASSUMPTION_MAX]);

#endif
