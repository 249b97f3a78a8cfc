/* SPDX-License-Identifier: Apache-2.0
 * Fills a folder under a temporary name, then renames it. */
#include "sample_folder.h"

#include "common/files.h"
#include "common/system.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pml_outcome fail(struct pml_message *message, const char *what, const char *path, int error)
{
    return pml_say(message, "%s %s (%s): %s.", what, path, strerror(error), pml_file_advice(error));
}

static int find_something(void *context, const char *name)
{
    (void)context;
    (void)name;
    return ENOTEMPTY;
}

/* Fails unless nothing, or an empty folder, exists at `path`. */
static pml_outcome check_free(const char *path, struct pml_message *message)
{
    struct pml_found found;
    int folder, error = pml_system_look(PML_HERE, path, false, &found);
    if (error != 0)
        return error == ENOENT ? PML_DONE : fail(message, "cannot look at", path, error);
    if (found.kind != PML_KIND_FOLDER)
        return pml_say(message, "%s exists and is not a folder. Give another name for --out.", path);
    error = pml_system_open_folder(PML_HERE, path, false, &folder);
    if (error == 0) {
        error = pml_system_list(folder, find_something, NULL);
        pml_system_close(folder);
    }
    if (error == ENOTEMPTY)
        return pml_say(message, "%s exists and is not empty. Remove it, or give another name for --out.", path);
    return error == 0 ? PML_DONE : fail(message, "cannot look into", path, error);
}

static pml_outcome make_inside(const struct folder *folder, const char *name, struct pml_message *message)
{
    size_t size = strlen(folder->temporary) + strlen(name) + 2;
    char *path = malloc(size);
    if (!path)
        return pml_say_memory(message);
    snprintf(path, size, "%s/%s", folder->temporary, name);
    const int error = pml_system_make_folder(PML_HERE, path, false);
    pml_outcome outcome = error == 0 ? PML_DONE : fail(message, "cannot create", path, error);
    free(path);
    return outcome;
}

/* Under a name that nobody has; on failure there is none. */
static pml_outcome make_temporary(struct folder *folder, struct pml_message *message)
{
    int error = EEXIST;
    for (int tries = 0; tries < 100 && error == EEXIST; tries++) {
        folder->temporary = pml_file_beside(folder->final);
        if (!folder->temporary)
            return pml_say_memory(message);
        error = pml_system_make_folder(PML_HERE, folder->temporary, false);
        if (error == 0)
            return PML_DONE;
        free(folder->temporary);
        folder->temporary = NULL;
    }
    return fail(message, "cannot create", folder->final, error);
}

pml_outcome folder_begin(struct folder *folder, const char *path, const char *const *inside,
                         struct pml_message *message)
{
    size_t length = strlen(path);
    while (length > 1 && pml_system_is_separator(path[length - 1]))
        length--;
    folder->temporary = NULL;
    folder->final = malloc(length + 1);
    if (!folder->final)
        return pml_say_memory(message);
    snprintf(folder->final, length + 1, "%s", path);
    pml_outcome outcome = check_free(folder->final, message);
    if (outcome == PML_DONE)
        outcome = make_temporary(folder, message);
    for (; outcome == PML_DONE && *inside; inside++)
        outcome = make_inside(folder, *inside, message);
    if (outcome != PML_DONE)
        folder_drop(folder);
    return outcome;
}

pml_outcome folder_finish(struct folder *folder, struct pml_message *message)
{
    const int error = pml_system_move_folder(folder->temporary, folder->final);
    return error == 0 ? PML_DONE : fail(message, "cannot create", folder->final, error);
}

void folder_drop(struct folder *folder)
{
    if (folder->temporary)
        pml_system_remove_folder(folder->temporary);
    free(folder->final);
    free(folder->temporary);
}
