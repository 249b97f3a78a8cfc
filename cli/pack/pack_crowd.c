/* SPDX-License-Identifier: Apache-2.0
 * pack --crowd: checks the options of a crowd, plans for them, and says what was planned. */
#include "pack_crowd.h"

#include <stdio.h>

exit_code pack_crowd_check(struct pack_crowd *crowd, const struct option_spec specs[CROWD_OPTIONS])
{
    exit_code code = crowd_options_check(&command_pack, &crowd->arguments, specs, true); /* there is always an ε */
    if (code == EXIT_OK && !crowd->arguments.asked && crowd->delta != 0.0)
        code = command_fail(&command_pack, EXIT_USAGE, "--delta needs --crowd N, or --noise relay.");
    if (code != EXIT_OK || !crowd->arguments.asked)
        return code;
    crowd->epsilon = crowd->epsilon != 0.0 ? crowd->epsilon : 0.1;
    crowd->delta = crowd->delta != 0.0 ? crowd->delta : CROWD_DELTA_DEFAULT;
    crowd->down = crowd->down != 0.0 ? crowd->down : PML_SHARE_DEFAULT;
    return crowd_goal_check(&command_pack, &crowd->arguments, crowd->epsilon, crowd->delta);
}

#if PML_WITH_CROWD
exit_code pack_crowd_plan(struct pack_crowd *crowd, size_t rows)
{
    pml_crowd_goal goal = crowd_goal(&crowd->arguments, crowd->epsilon, crowd->delta, 0);
    const pml_status status = pml_cells_plan_crowd(&goal, crowd->down, rows, &crowd->cells, &crowd->plan);
    if (status == PML_ERROR_MEMORY)
        return command_no_memory(&command_pack);
    return status == PML_OK ? EXIT_OK : crowd_goal_fail(&command_pack, &crowd->arguments, &goal);
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
    const pml_crowd *policy = &crowd->plan.crowd;
    char who[48] = "whose relay makes the fakes";
    if (!crowd->arguments.relay)
        snprintf(who, sizeof who, "in which %llu clients are honest", (unsigned long long)policy->clients);
    fprintf(stderr,
            "privatemail pack: %u cells, chosen for a crowd %s, epsilon %g and a floor of %g: %.4g fakes per %s (%.6g "
            "clusters of 1 to %u equal messages). The share %g comes down to a client with lists of %.6f (index "
            "--share %.6f).\n",
            crowd->cells.cells, who, crowd->epsilon, crowd->arguments.floor, crowd->plan.fakes,
            crowd->arguments.relay ? "epoch" : "client",
            crowd->arguments.relay ? policy->relay_clusters : policy->clusters, (unsigned)policy->copies, crowd->down,
            crowd->cells.share, crowd->cells.share);
}

void pack_crowd_write(const struct pack_crowd *crowd, struct json *json)
{
    if (!crowd->arguments.asked) {
        json_text(json, "crowd", NULL);
        return;
    }
    json_open(json, "crowd", '{');
    json_count(json, "clients", crowd->plan.crowd.clients);
    json_number(json, "honest", crowd->arguments.honest);
    json_number(json, "delta", crowd->delta);
    json_number(json, "floor", crowd->arguments.floor);
    json_text(json, "noise", crowd->arguments.noise);
    json_number(json, "clusters", crowd->plan.crowd.clusters);
    json_number(json, "relay_clusters", crowd->plan.crowd.relay_clusters);
    json_count(json, "copies", crowd->plan.crowd.copies);
    json_number(json, "fakes", crowd->plan.fakes);
    json_number(json, "down", crowd->down);
    json_close(json, '}');
}
