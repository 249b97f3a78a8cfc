/* SPDX-License-Identifier: Apache-2.0
 * Checks and writes output files. */
#include "output.h"

#include "common/files.h"
#include "common/system.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The real path of the folder that holds `path`, to be freed. NULL when there is none. */
static char *folder_of(const char *path)
{
    int length = (int)(pml_system_last_name(path) - path);
    char *text = malloc((size_t)length + 2);
    if (!text)
        return NULL;
    snprintf(text, (size_t)length + 2, "%.*s", length > 0 ? length : 1, length > 0 ? path : ".");
    char *folder = pml_system_real_path(text);
    free(text);
    return folder;
}

/* Whether the system may take one letter for the other. Of letters beyond ASCII it is not asked which are alike. */
static bool same_letter(unsigned char left, unsigned char right)
{
    return left == right || (pml_system_ignores_case && (tolower(left) == tolower(right) || (left & right & 0x80)));
}

/* Whether two last names can be those of one file that is not there yet. */
static bool same_name(const char *left, const char *right)
{
    while (*left && *right && same_letter((unsigned char)*left, (unsigned char)*right)) {
        left++;
        right++;
    }
    return *left == *right;
}

bool output_is(const char *left, const char *right)
{
    struct pml_found left_found, right_found;
    if (pml_system_look(PML_HERE, left, true, &left_found) == 0 &&
        pml_system_look(PML_HERE, right, true, &right_found) == 0 && pml_found_same(&left_found, &right_found))
        return true;
    if (!same_name(pml_system_last_name(left), pml_system_last_name(right)))
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
    struct pml_found found;
    bool exists = pml_system_look(PML_HERE, path, false, &found) == 0;
    if (exists && found.kind == PML_KIND_FOLDER)
        return command_fail(command, EXIT_OUTPUT, "%s is a folder. Name a file.", path);
    if (exists && found.kind != PML_KIND_FILE)
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
