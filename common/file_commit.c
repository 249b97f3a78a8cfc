/* SPDX-License-Identifier: Apache-2.0
 * Renames a complete file to its final path. The path is never empty in between, and an existing file is replaced only
 * when that is wanted. */
#define _POSIX_C_SOURCE 200809L
#include "file_commit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns 0 or an errno. What cannot be flushed (folders of some file systems) needs no flush. */
static int flush(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    int error = fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
    close(file);
    return error;
}

static int flush_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return flush(slash ? "/" : ".");
    char *folder = strdup(path);
    if (!folder)
        return ENOMEM;
    folder[slash - path] = 0;
    int error = flush(folder);
    free(folder);
    return error == EACCES ? 0 : error; /* a folder may be writable but not readable */
}

/* link refuses to replace, rename does not. Some file systems have no links; there we look before we rename. */
static int move(const char *from, const char *path, bool exclusive)
{
    if (exclusive) {
        if (link(from, path) == 0)
            return unlink(from) == 0 ? 0 : errno;
        if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS && errno != EMLINK)
            return errno;
        if (access(path, F_OK) == 0)
            return EEXIST;
    }
    return rename(from, path) == 0 ? 0 : errno;
}

int pml_file_rename(const char *from, const char *path, bool exclusive)
{
    int error = move(from, path, exclusive);
    return error == 0 ? flush_folder(path) : error;
}

int pml_file_commit(const char *from, const char *path, bool exclusive)
{
    int error = flush(from);
    return error == 0 ? pml_file_rename(from, path, exclusive) : error;
}
