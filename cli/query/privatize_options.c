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
    if (arguments->has_repeat && (arguments->repeat < 1 || arguments->repeat > REPEAT_MAX))
        return command_fail(command, EXIT_USAGE, "--repeat must be 1 to %d.", REPEAT_MAX);
    if (to_stdout && (arguments->query.json || arguments->has_repeat))
        return command_fail(command, EXIT_USAGE,
                            "--out - leaves stdout to one release. Name a file to use --json or "
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
    struct option_spec own[] = {
        {"repeat", OPTION_COUNT, &arguments->repeat, false, false},
        {"out", OPTION_TEXT, &arguments->out, true, false},
        {"force", OPTION_FLAG, &arguments->force, false, false},
    };
    exit_code code =
        query_options_parse(&command_privatize, argc, argv, &arguments->query, own, sizeof own / sizeof own[0]);
    arguments->has_repeat = own[0].given;
    return code == EXIT_OK ? check(arguments) : code;
}
