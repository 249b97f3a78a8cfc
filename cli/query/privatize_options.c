/* SPDX-License-Identifier: Apache-2.0
 * The options of privatize. */
#define _POSIX_C_SOURCE 200809L
#include "privatize_options.h"

#include <string.h>
#include <unistd.h>

enum { REPEAT_MAX = 10000 };

static exit_code check(struct privatize_arguments *arguments)
{
    const struct command *command = &command_privatize;
    bool to_stdout = strcmp(arguments->out, "-") == 0;
    if (arguments->own_out && !arguments->query.crowd.asked)
        return command_fail(command, EXIT_USAGE, "--own-out needs --crowd N: only bundles have fakes in them.");
    if (arguments->has_repeat && (arguments->repeat < 1 || arguments->repeat > REPEAT_MAX))
        return command_fail(command, EXIT_USAGE, "--repeat must be 1 to %d.", REPEAT_MAX);
    if (to_stdout && (arguments->query.json || arguments->has_repeat))
        return command_fail(command, EXIT_USAGE,
                            "--out - leaves stdout to one release or bundle. Name a file to use --json or "
                            "--repeat.");
    if (to_stdout && isatty(STDOUT_FILENO))
        return command_fail(command, EXIT_USAGE,
                            "--out - would write bytes to a terminal. Send stdout to a file or a pipe.");
    if (!arguments->has_repeat)
        arguments->repeat = 1;
    return query_options_check(command, &arguments->query);
}

exit_code privatize_options(int argc, char **argv, struct privatize_arguments *arguments)
{
    enum { OWN = 4 };
    struct option_spec specs[OWN + CROWD_OPTIONS] = {
        {"repeat", OPTION_COUNT, &arguments->repeat, false, false},
        {"out", OPTION_TEXT, &arguments->out, true, false},
        {"own-out", OPTION_TEXT, &arguments->own_out, false, false},
        {"force", OPTION_FLAG, &arguments->force, false, false},
    };
    struct query_arguments *query = &arguments->query;
    crowd_options_fill(&query->crowd, specs + OWN);
    exit_code code = query_options_parse(&command_privatize, argc, argv, query, specs, OWN + CROWD_OPTIONS);
    arguments->has_repeat = specs[0].given;
    if (code == EXIT_OK)
        code = crowd_options_check(&command_privatize, &query->crowd, specs + OWN, query->has_epsilon);
    return code == EXIT_OK ? check(arguments) : code;
}
