/* SPDX-License-Identifier: Apache-2.0
 * In: a complete file under another name. Out: the file in its place, on the disk.
 * Never leaves the place empty in between, and never replaces when asked not to. */
#define _POSIX_C_SOURCE 200809L
#include "file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 0 or an errno; what cannot be flushed (some file systems' folders) needs no flush. */
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
    return error == EACCES ? 0 : error; /* a folder may be writable and not readable */
}

/* link refuses to replace, rename does not; some file systems have no links, and there a glance before must do. */
static int move(const char *from, const char *path, int exclusive)
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

int pml_file_put(const char *from, const char *path, int exclusive)
{
    int error = move(from, path, exclusive);
    return error == 0 ? flush_folder(path) : error;
}

int pml_file_place(const char *from, const char *path, int exclusive)
{
    int error = flush(from);
    return error == 0 ? pml_file_put(from, path, exclusive) : error;
}
