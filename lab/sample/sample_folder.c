/* SPDX-License-Identifier: Apache-2.0
 * Fills a folder under a temporary name, then renames it. */
#define _XOPEN_SOURCE 700
#include "sample_folder.h"

#include "common/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pml_outcome fail(struct pml_message *message, const char *what, const char *path)
{
    int error = errno;
    return pml_say(message, "%s %s (%s): %s.", what, path, strerror(error), pml_file_advice(error));
}

/* Fails unless nothing, or an empty folder, exists at `path`. */
static pml_outcome check_free(const char *path, struct pml_message *message)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return errno == ENOENT ? PML_DONE : fail(message, "cannot look at", path);
    if (!S_ISDIR(status.st_mode))
        return pml_say(message, "%s exists and is not a folder. Give another name for --out.", path);
    DIR *listing = opendir(path);
    if (!listing)
        return fail(message, "cannot look into", path);
    bool found = false;
    for (struct dirent *entry = readdir(listing); entry; entry = readdir(listing))
        found |= strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(listing);
    if (found)
        return pml_say(message, "%s exists and is not empty. Remove it, or give another name for --out.", path);
    return PML_DONE;
}

static pml_outcome make_inside(const struct folder *folder, const char *name, struct pml_message *message)
{
    size_t size = strlen(folder->temporary) + strlen(name) + 2;
    char *path = malloc(size);
    if (!path)
        return fail(message, "cannot create", name);
    snprintf(path, size, "%s/%s", folder->temporary, name);
    pml_outcome outcome = mkdir(path, 0777) == 0 ? PML_DONE : fail(message, "cannot create", path);
    free(path);
    return outcome;
}

/* Under a name that nobody has; on failure there is none. */
static pml_outcome make_temporary(struct folder *folder, struct pml_message *message)
{
    for (int tries = 0; tries < 100; tries++) {
        folder->temporary = pml_file_beside(folder->final);
        if (folder->temporary && mkdir(folder->temporary, 0777) == 0)
            return PML_DONE;
        int error = errno;
        free(folder->temporary);
        folder->temporary = NULL;
        errno = error;
        if (error != EEXIST)
            break;
    }
    return fail(message, "cannot create", folder->final);
}

pml_outcome folder_begin(struct folder *folder, const char *path, const char *const *inside,
                         struct pml_message *message)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    folder->temporary = NULL;
    folder->final = malloc(length + 1);
    if (!folder->final)
        return fail(message, "cannot create", path);
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
    /* Replaces an empty folder and nothing else: rename refuses files and folders with something in them. */
    if (rename(folder->temporary, folder->final) != 0)
        return fail(message, "cannot create", folder->final);
    return PML_DONE;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *position)
{
    (void)status;
    (void)kind;
    (void)position;
    return remove(path);
}

void folder_drop(struct folder *folder)
{
    if (folder->temporary)
        nftw(folder->temporary, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(folder->final);
    free(folder->temporary);
}
