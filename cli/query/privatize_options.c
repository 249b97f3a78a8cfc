/* SPDX-License-Identifier: Apache-2.0
 * The options of privatize. */
#include "privatize_options.h"

#include "cli/shared/crowd_kept.h"
#include "common/system.h"

#include <string.h>

enum { REPEAT_MAX = 10000 };

/* A bundle is about a query, a kept cell or nothing. */
static exit_code check_bundle(struct privatize_arguments *arguments)
{
    const struct command *command = &command_privatize;
    struct query_arguments *query = &arguments->query;
    if (!query->crowd.asked && (arguments->own_out || query->keep || arguments->idle || query->crowd.cover))
        return command_fail(command, EXIT_USAGE, "--%s needs --crowd N, or --noise relay: only bundles have it.",
                            arguments->own_out ? "own-out"
                            : query->keep      ? "keep"
                            : arguments->idle  ? "idle"
                                               : "cover");
    if (query->crowd.cover && !arguments->idle)
        return command_fail(command, EXIT_USAGE, "--cover belongs to --idle. Leave it out, or add that.");
    if (query->keep && arguments->has_repeat)
        return command_fail(command, EXIT_USAGE, "--keep is for one cell, and sends it once. Leave --repeat out.");
    if (arguments->idle &&
        (query->keep || arguments->own_out || query->features || query->labels || query->has_label || query->row != 0))
        return command_fail(command, EXIT_USAGE,
                            "--idle has no query. Leave --features, --row, --label, --labels, --keep and --own-out "
                            "out.");
    query->crowd.kept = query->keep && crowd_kept_exists(query->keep);
    query->bundle = arguments->idle ? PML_BUNDLE_IDLE : query->crowd.kept ? PML_BUNDLE_KEPT : PML_BUNDLE_QUERY;
    if (query->bundle == PML_BUNDLE_QUERY && !query->features)
        return command_fail(command, EXIT_USAGE,
                            "--features is missing. privatemail privatize --help explains what "
                            "it is.");
    return EXIT_OK;
}

static exit_code check(struct privatize_arguments *arguments)
{
    const struct command *command = &command_privatize;
    bool to_stdout = strcmp(arguments->out, "-") == 0;
    if (arguments->has_repeat && (arguments->repeat < 1 || arguments->repeat > REPEAT_MAX))
        return command_fail(command, EXIT_USAGE, "--repeat must be 1 to %d.", REPEAT_MAX);
    if (to_stdout && (arguments->query.json || arguments->has_repeat))
        return command_fail(command, EXIT_USAGE,
                            "--out - leaves stdout to one release or bundle. Name a file to use --json or "
                            "--repeat.");
    if (to_stdout && pml_system_is_terminal(PML_OUTPUT))
        return command_fail(command, EXIT_USAGE,
                            "--out - would write bytes to a terminal. Send stdout to a file or a pipe.");
    if (!arguments->has_repeat)
        arguments->repeat = 1;
    return query_options_check(command, &arguments->query);
}

exit_code privatize_options(int argc, char **argv, struct privatize_arguments *arguments)
{
    struct query_arguments *query = &arguments->query;
    enum { OWN = 7 };
    struct option_spec specs[OWN + CROWD_OPTIONS] = {
        {"repeat", OPTION_COUNT, &arguments->repeat, false, false},
        {"out", OPTION_TEXT, &arguments->out, true, false},
        {"own-out", OPTION_TEXT, &arguments->own_out, false, false},
        {"force", OPTION_FLAG, &arguments->force, false, false},
        {"idle", OPTION_FLAG, &arguments->idle, false, false},
        {"cover", OPTION_FLAG, &query->crowd.cover, false, false},
        {"keep", OPTION_TEXT, &query->keep, false, false},
    };
    crowd_options_fill(&query->crowd, specs + OWN);
    query->may_lack_features = true;
    exit_code code = query_options_parse(&command_privatize, argc, argv, query, specs, OWN + CROWD_OPTIONS);
    arguments->has_repeat = specs[0].given;
    if (code == EXIT_OK)
        code = crowd_options_check(&command_privatize, &query->crowd, specs + OWN, query->has_epsilon);
    if (code == EXIT_OK)
        code = check_bundle(arguments);
    return code == EXIT_OK ? check(arguments) : code;
}
