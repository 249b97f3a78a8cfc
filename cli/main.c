/* SPDX-License-Identifier: Apache-2.0
 * privatemail: the table of commands. */
#include "cli/shared/command.h"
#include "common/system.h"

#include <privatemail.h>
#include <stdio.h>
#include <string.h>

const char command_program[] = "privatemail ";

static const struct command *const commands[] = {
    &command_pack,     &command_inspect, &command_privatize, &command_decode, &command_audit,
    &command_sample,   &command_index,   &command_serve,     &command_find,   &command_query,
    &command_evaluate, &command_keys,    &command_train,     &command_guess,  &command_map,
    &command_groups,   &command_gallery, &command_publish,   &command_advise,
#if PML_WITH_CROWD
    &command_crowd,    &command_relay,
#endif
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_overview(FILE *stream)
{
    fprintf(stream, "privatemail: search a remote collection without revealing what you look for\n\n"
                    "Usage: privatemail COMMAND [OPTIONS]\n\nCommands:\n");
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(stream, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(stream, "\nprivatemail COMMAND --help explains every option and the exit codes, and shows an example.\n"
                    "privatemail --version prints the version.\n");
}

/* Output may still be in a buffer: a full disk or a closed pipe shows here at the latest. */
static int finish(exit_code code)
{
    bool failed = fflush(stdout) != 0 || ferror(stdout) != 0;
    if (failed && code == EXIT_OK) {
        fprintf(stderr, "privatemail: the output could not be written. Free space where stdout goes, or send it "
                        "elsewhere.\n");
        return EXIT_OUTPUT;
    }
    return (int)code;
}

static int unknown_command(const char *word)
{
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    const char *near = command_suggest(word, names, COMMANDS);
    fprintf(stderr, "privatemail: there is no command '%s'.", word);
    if (near)
        fprintf(stderr, " Did you mean '%s'?", near);
    fprintf(stderr, " privatemail --help lists all commands.\n");
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    pml_system_start(&argc, &argv);
    interrupts_watch();
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_overview(stdout);
        return finish(EXIT_OK);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("privatemail %s\n", pml_version());
        return finish(EXIT_OK);
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i]->name) == 0) {
            const bool help = options_help(commands[i], argc - 1, argv + 1);
            return finish(help ? EXIT_OK : commands[i]->run(argc - 1, argv + 1));
        }
    }
    return unknown_command(argv[1]);
}
