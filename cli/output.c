/* SPDX-License-Identifier: Apache-2.0
 * Output files. In: a path and bytes. Out: the whole file, or a message that says what to do. */
#define _POSIX_C_SOURCE 200809L
#include "output.h"

#include "../server/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int output_check(const struct command *command, const char *path, bool force)
{
    struct stat found;
    bool exists = stat(path, &found) == 0;
    if (exists && S_ISDIR(found.st_mode))
        return command_fail(command, EXIT_OUTPUT, "%s is a folder. Name a file for --out.", path);
    if (exists && !force)
        return command_fail(command, EXIT_OUTPUT, "%s exists already. Name another file, or add --force to replace it.",
                            path);
    return -1;
}

int output_try(const struct command *command, const char *path, size_t size)
{
    struct pml_message message = {""};
    size_t length = strlen(path) + 32;
    char *probe = malloc(length);
    void *zeros = calloc(1, size > 0 ? size : 1);
    int code = -1;
    if (!probe || !zeros) {
        code = command_fail(command, EXIT_FAULT, "there is no memory for %s. Close other programs.", path);
    } else {
        snprintf(probe, length, "%s.try-%ld", path, (long)getpid());
        if (pml_file_write(probe, zeros, size, 1, &message) != 0)
            code = command_fail(command, EXIT_OUTPUT, "%s cannot be written: %s", path, message.text);
        else
            unlink(probe);
    }
    free(probe);
    free(zeros);
    return code;
}

int output_write(const struct command *command, const char *path, bool force, const void *bytes, size_t size)
{
    struct pml_message message = {""};
    if (pml_file_write(path, bytes, size, !force, &message) != 0)
        return command_fail(command, EXIT_OUTPUT, "%s", message.text);
    return -1;
}
