/* SPDX-License-Identifier: Apache-2.0
 * pack --crowd: checks the options of a crowd, plans for them, and says what was planned. */
#include "pack_crowd.h"

#include <stdio.h>

#define EPSILON_DEFAULT 0.1
#define DELTA_DEFAULT 1e-8
#define HONEST_DEFAULT 0.5
#define FLOOR_DEFAULT 8.0
#define COPIES_DEFAULT 8u

exit_code pack_crowd_check(struct pack_crowd *crowd)
{
    if (crowd->clients == 0) {
        if (crowd->copies_max != 0 || crowd->delta != 0.0 || crowd->honest != 0.0 || crowd->floor != 0.0)
            return command_fail(&command_pack, EXIT_USAGE,
                                "--delta, --honest, --floor and --copies-max belong to --crowd. Leave them out, or add "
                                "that.");
        return EXIT_OK;
    }
    crowd->copies_max = crowd->copies_max != 0 ? crowd->copies_max : COPIES_DEFAULT;
    crowd->epsilon = crowd->epsilon != 0.0 ? crowd->epsilon : EPSILON_DEFAULT;
    crowd->delta = crowd->delta != 0.0 ? crowd->delta : DELTA_DEFAULT;
    crowd->honest = crowd->honest != 0.0 ? crowd->honest : HONEST_DEFAULT;
    crowd->floor = crowd->floor != 0.0 ? crowd->floor : FLOOR_DEFAULT;
    crowd->down = crowd->down != 0.0 ? crowd->down : PML_SHARE_DEFAULT;
    const struct {
        double value, least, most;
        const char *message;
    } limits[] = {
        {(double)crowd->clients, 1.0, (double)PML_CROWD_CLIENTS_MAX, "--crowd must be 1 to 4294967296 clients."},
        {(double)crowd->copies_max, 1.0, PML_CROWD_COPIES_MAX, "--copies-max must be 1 to 64."},
        {crowd->delta, 0x1p-50, 1.0 - 0x1p-53, "--delta must be 1e-15 to below 1."},
        {crowd->honest, 1.0 / (double)crowd->clients, 1.0,
         "--honest must be at most 1, and leave at least one client."},
        {crowd->floor, PML_CROWD_FLOOR_MIN, PML_EPSILON_MAX, "--floor must be 2e-5 to 16."},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (!(limits[i].value >= limits[i].least && limits[i].value <= limits[i].most))
            return command_fail(&command_pack, EXIT_USAGE, "%s", limits[i].message);
    return EXIT_OK;
}

#if PML_WITH_CROWD
exit_code pack_crowd_plan(struct pack_crowd *crowd, size_t rows)
{
    pml_crowd_goal goal = {.use = {.queries = 1, .floor = crowd->floor},
                           .clients = crowd->clients,
                           .honest = crowd->honest,
                           .epsilon = crowd->epsilon,
                           .delta = crowd->delta,
                           .copies_max = (uint32_t)crowd->copies_max,
                           .own = 1};
    const pml_status status = pml_cells_plan_crowd(&goal, crowd->down, rows, &crowd->cells, &crowd->plan);
    if (status == PML_ERROR_MEMORY)
        return command_no_memory(&command_pack);
    if (status != PML_OK)
        return command_fail(&command_pack, EXIT_PRIVACY,
                            "--crowd: so few clients would need more than %g fakes each for epsilon %g. Give more "
                            "clients, or a larger --epsilon, --delta or --copies-max.",
                            PML_CROWD_FAKES_MAX, crowd->epsilon);
    return EXIT_OK;
}
#else
exit_code pack_crowd_plan(struct pack_crowd *crowd, size_t rows)
{
    (void)crowd, (void)rows;
    return command_fail(&command_pack, EXIT_USAGE, "--crowd: this program was built without crowds. Leave it out.");
}
#endif

void pack_crowd_tell(const struct pack_crowd *crowd)
{
    fprintf(
        stderr,
        "privatemail pack: %u cells, chosen for a crowd in which %llu clients are honest, epsilon %g and a floor of "
        "%g: %.4g fakes per client (%.6g clusters of 1 to %u equal messages). The share %g comes down to a client "
        "with lists of %.6f (index --share %.6f).\n",
        crowd->cells.cells, (unsigned long long)crowd->plan.crowd.clients, crowd->epsilon, crowd->floor,
        crowd->plan.fakes, crowd->plan.crowd.clusters, (unsigned)crowd->plan.crowd.copies, crowd->down,
        crowd->cells.share, crowd->cells.share);
}

void pack_crowd_write(const struct pack_crowd *crowd, struct json *json)
{
    if (crowd->clients == 0) {
        json_text(json, "crowd", NULL);
        return;
    }
    json_open(json, "crowd", '{');
    json_count(json, "clients", crowd->plan.crowd.clients);
    json_number(json, "honest", crowd->honest);
    json_number(json, "delta", crowd->delta);
    json_number(json, "floor", crowd->floor);
    json_number(json, "clusters", crowd->plan.crowd.clusters);
    json_count(json, "copies", crowd->plan.crowd.copies);
    json_number(json, "fakes", crowd->plan.fakes);
    json_number(json, "down", crowd->down);
    json_close(json, '}');
}
