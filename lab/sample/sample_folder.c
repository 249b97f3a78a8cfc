/* SPDX-License-Identifier: Apache-2.0
 * Folders that appear complete or not at all. In: a path. Out: a folder under a temporary name, later renamed. */
#define _XOPEN_SOURCE 700
#include "sample_folder.h"

#include "common/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct pml_message *message, const char *what, const char *path)
{
    int error = errno;
    snprintf(message->text, sizeof message->text, "%s %s (%s): %s.", what, path, strerror(error),
             pml_file_advice(error));
    return -1;
}

/* 0 when nothing or an empty folder is there. */
static int check_free(const char *path, struct pml_message *message)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return errno == ENOENT ? 0 : fail(message, "cannot look at", path);
    if (!S_ISDIR(status.st_mode)) {
        snprintf(message->text, sizeof message->text, "%s exists and is no folder. Give another name for --out.", path);
        return -1;
    }
    DIR *listing = opendir(path);
    if (!listing)
        return fail(message, "cannot look into", path);
    int found = 0;
    for (struct dirent *entry = readdir(listing); entry; entry = readdir(listing))
        found |= strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(listing);
    if (!found)
        return 0;
    snprintf(message->text, sizeof message->text,
             "%s exists and is not empty. Remove it, or give another name for --out.", path);
    return -1;
}

static int make_inside(const struct folder *folder, const char *name, struct pml_message *message)
{
    size_t size = strlen(folder->temporary) + strlen(name) + 2;
    char *path = malloc(size);
    if (!path)
        return fail(message, "cannot create", name);
    snprintf(path, size, "%s/%s", folder->temporary, name);
    int result = mkdir(path, 0777) == 0 ? 0 : fail(message, "cannot create", path);
    free(path);
    return result;
}

/* Under a name that nobody has; on failure there is none. */
static int make_temporary(struct folder *folder, struct pml_message *message)
{
    for (int tries = 0; tries < 100; tries++) {
        folder->temporary = pml_file_beside(folder->final);
        if (folder->temporary && mkdir(folder->temporary, 0777) == 0)
            return 0;
        int error = errno;
        free(folder->temporary);
        folder->temporary = NULL;
        errno = error;
        if (error != EEXIST)
            break;
    }
    return fail(message, "cannot create", folder->final);
}

int folder_begin(struct folder *folder, const char *path, const char *const *inside, struct pml_message *message)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    folder->temporary = NULL;
    folder->final = malloc(length + 1);
    if (!folder->final)
        return fail(message, "cannot create", path);
    snprintf(folder->final, length + 1, "%s", path);
    int result = check_free(folder->final, message);
    if (result == 0)
        result = make_temporary(folder, message);
    for (; result == 0 && *inside; inside++)
        result = make_inside(folder, *inside, message);
    if (result != 0)
        folder_drop(folder);
    return result;
}

int folder_finish(struct folder *folder, struct pml_message *message)
{
    /* Replaces an empty folder and nothing else: rename refuses files and folders with something in them. */
    if (rename(folder->temporary, folder->final) != 0)
        return fail(message, "cannot create", folder->final);
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void folder_drop(struct folder *folder)
{
    if (folder->temporary)
        nftw(folder->temporary, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(folder->final);
    free(folder->temporary);
}
