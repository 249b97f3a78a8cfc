/* SPDX-License-Identifier: Apache-2.0
 * In: a path and bytes, or a path. Out: the whole file or none; its bytes.
 * Never leaves a half-written file under its name, and none beside it. */
#define _POSIX_C_SOURCE 200809L
#include "files.h"
#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK ((size_t)1 << 30) /* systems refuse larger reads and writes, or cut them */
#define SHOWN 200               /* characters of a path in a message */

static const char *advice(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "free some room, or write elsewhere";
    case EACCES:
    case EPERM:
    case EROFS:
        return "you may not write there: choose another folder, or change its permissions";
    case ENOENT:
    case ENOTDIR:
        return "the folder is not there: make it first";
    case EISDIR:
        return "a folder has that name: choose another name";
    case EFBIG:
        return "the file is too large for this file system or your limits";
    default:
        return "check the disk and try again";
    }
}

static int say_unwritten(struct pml_message *message, const char *path, int error)
{
    return pml_say(message, "%.*s: cannot be written (%s): %s.", SHOWN, path, strerror(error), advice(error));
}

static int say_exists(struct pml_message *message, const char *path)
{
    return pml_say(message, "%.*s: is there already: remove it, or choose another name.", SHOWN, path);
}

/* 0 or an errno */
static int write_all(int file, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(file, bytes, size < CHUNK ? size : CHUNK);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : ENOSPC;
        bytes += written;
        size -= (size_t)written;
    }
    return fsync(file) == 0 ? 0 : errno;
}

static int write_new(const char *path, const uint8_t *bytes, size_t size)
{
    /* A file of this name and process number was left by a crash: numbers come again, in containers often. */
    if (unlink(path) != 0 && errno != ENOENT)
        return errno;
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return errno;
    int error = write_all(file, bytes, size);
    if (close(file) != 0 && error == 0)
        error = errno;
    return error;
}

/* Makes the new name last; file systems that cannot flush a folder need no flush. */
static int flush_folder(char *path)
{
    char *slash = strrchr(path, '/');
    const char *folder = ".";
    if (slash == path)
        folder = "/";
    else if (slash) {
        *slash = 0;
        folder = path;
    }
    int file = open(folder, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno == EACCES ? 0 : errno; /* a folder may be writable and not readable */
    int error = fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
    close(file);
    return error;
}

/* link refuses to replace, rename does not; some file systems have no links, and there a glance before must do. */
static int put_in_place(const char *from, const char *path, int exclusive)
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

int pml_file_write(const char *path, const void *bytes, size_t size, int exclusive, struct pml_message *message)
{
    struct stat there;
    if (exclusive && lstat(path, &there) == 0)
        return say_exists(message, path);
    size_t room = strlen(path) + 32;
    char *beside = malloc(room);
    if (!beside)
        return pml_say_memory(message);
    snprintf(beside, room, "%s.tmp-%ld", path, (long)getpid());
    int error = write_new(beside, bytes, size);
    if (error == 0)
        error = put_in_place(beside, path, exclusive);
    if (error != 0)
        unlink(beside);
    else
        error = flush_folder(beside);
    free(beside);
    if (error == EEXIST && exclusive)
        return say_exists(message, path);
    return error == 0 ? 0 : say_unwritten(message, path, error);
}

static int read_all(int file, uint8_t *bytes, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        size_t left = size - *got;
        ssize_t count = read(file, bytes + *got, left < CHUNK ? left : CHUNK);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno;
        if (count == 0)
            break;
        *got += (size_t)count;
    }
    return 0;
}

static int read_open_file(int file, const char *path, size_t limit, uint8_t **bytes, size_t *size,
                          struct pml_message *message)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return pml_say(message, "%.*s: cannot be read (%s).", SHOWN, path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return pml_say(message, "%.*s: is not a file: give the path of a file.", SHOWN, path);
    if ((uintmax_t)status.st_size > limit)
        return pml_say(message, "%.*s: has %ju bytes, more than the %zu such a file may have: is it the right file?",
                       SHOWN, path, (uintmax_t)status.st_size, limit);
    size_t expected = (size_t)status.st_size, got;
    uint8_t *room = malloc(expected > 0 ? expected : 1);
    if (!room)
        return pml_say_memory(message);
    int error = read_all(file, room, expected, &got);
    if (error == 0 && got == expected) {
        *bytes = room;
        *size = expected;
        return 0;
    }
    free(room);
    if (error != 0)
        return pml_say(message, "%.*s: cannot be read (%s): check the disk.", SHOWN, path, strerror(error));
    return pml_say(message, "%.*s: became shorter while it was read: try again.", SHOWN, path);
}

int pml_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *size, struct pml_message *message)
{
    *bytes = NULL;
    *size = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not make us wait: it is refused */
    if (file < 0)
        return pml_say(message, "%.*s: cannot be opened (%s): check the name and its permissions.", SHOWN, path,
                       strerror(errno));
    int status = read_open_file(file, path, limit, bytes, size, message);
    close(file);
    return status;
}
