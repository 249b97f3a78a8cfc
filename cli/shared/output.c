/* SPDX-License-Identifier: Apache-2.0
 * Checks and writes output files. */
#define _XOPEN_SOURCE 700
#include "output.h"

#include "common/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *name_in_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The real path of the folder that holds `path`, to be freed. NULL when there is none. */
static char *folder_of(const char *path)
{
    int length = (int)(name_in_folder(path) - path);
    char *text = malloc((size_t)length + 2);
    if (!text)
        return NULL;
    snprintf(text, (size_t)length + 2, "%.*s", length > 0 ? length : 1, length > 0 ? path : ".");
    char *folder = realpath(text, NULL);
    free(text);
    return folder;
}

bool output_is(const char *left, const char *right)
{
    struct stat left_found, right_found;
    if (stat(left, &left_found) == 0 && stat(right, &right_found) == 0 && left_found.st_dev == right_found.st_dev &&
        left_found.st_ino == right_found.st_ino)
        return true;
    if (strcmp(name_in_folder(left), name_in_folder(right)) != 0)
        return false;
    char *left_folder = folder_of(left), *right_folder = folder_of(right);
    bool same = left_folder && right_folder && strcmp(left_folder, right_folder) == 0;
    free(left_folder);
    free(right_folder);
    return same;
}

exit_code output_apart(const struct command *command, const char *path, const char *input, const char *what)
{
    if (!input || !output_is(path, input))
        return EXIT_OK;
    return command_fail(command, EXIT_USAGE, "--out %s would overwrite %s. Choose another --out.", path, what);
}

exit_code output_check(const struct command *command, const char *path, bool force)
{
    struct stat found;
    bool exists = lstat(path, &found) == 0;
    if (exists && S_ISDIR(found.st_mode))
        return command_fail(command, EXIT_OUTPUT, "%s is a folder. Name a file.", path);
    if (exists && !S_ISREG(found.st_mode))
        return command_fail(command, EXIT_OUTPUT,
                            "%s is a link, a device or a pipe, not a plain file. Name another file.", path);
    if (exists && !force)
        return command_fail(command, EXIT_OUTPUT, "%s exists already. Name another file, or add --force to replace it.",
                            path);
    return EXIT_OK;
}

exit_code output_try(const struct command *command, const char *path, size_t size)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_file_try(path, size, &message);
    return outcome == PML_DONE ? EXIT_OK : command_output(command, outcome, &message);
}

static exit_code write_file(const struct command *command, const char *path, const void *bytes, size_t size, int how)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_file_write(path, bytes, size, how, &message);
    return outcome == PML_DONE ? EXIT_OK : command_output(command, outcome, &message);
}

exit_code output_write(const struct command *command, const char *path, bool force, const void *bytes, size_t size)
{
    return write_file(command, path, bytes, size, force ? 0 : PML_FILE_EXCLUSIVE);
}

exit_code output_write_private(const struct command *command, const char *path, bool force, const void *bytes,
                               size_t size)
{
    return write_file(command, path, bytes, size, PML_FILE_PRIVATE | (force ? 0 : PML_FILE_EXCLUSIVE));
}
