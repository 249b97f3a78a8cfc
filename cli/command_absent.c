/* SPDX-License-Identifier: Apache-2.0
 * The commands that a build without network lacks (cmake/find_parts.cmake): they say what to do. */
#include "cli/shared/command.h"

#ifdef PML_NETWORK_REMEDY

static exit_code refuse(const struct command *command)
{
    return command_fail(command, EXIT_USAGE, "this command was built without network: " PML_NETWORK_REMEDY ".");
}

#define ABSENT(name)                                                                                                   \
    static exit_code run_##name(int argc, char **argv)                                                                 \
    {                                                                                                                  \
        (void)argc;                                                                                                    \
        (void)argv;                                                                                                    \
        return refuse(&command_##name);                                                                                \
    }                                                                                                                  \
    const struct command command_##name = {                                                                            \
        #name, "(not in this build)", "privatemail " #name " was built without network: " PML_NETWORK_REMEDY ".\n",    \
        run_##name}

ABSENT(serve);
ABSENT(query);
ABSENT(keys);
#if PML_WITH_CROWD
ABSENT(relay);
#endif

#endif
