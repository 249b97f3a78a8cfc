/* SPDX-License-Identifier: Apache-2.0
 * Reads and writes whole files. A half-written file never has the final path; a temporary one is left only when the
 * process is killed. */
#define _POSIX_C_SOURCE 200809L
#include "files.h"
#include "file_commit.h"
#include "generator.h"
#include "leftovers.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHUNK ((size_t)1 << 30) /* systems refuse larger reads and writes, or cut them */
#define SHOWN 200               /* characters of a path in a message */
#define TRIES 100               /* of temporary names, if others have them already */

const char *pml_file_advice(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "free some space, or write elsewhere";
    case EACCES:
    case EPERM:
    case EROFS:
        return "you may not write there: choose another folder, or change its permissions";
    case ENOENT:
    case ENOTDIR:
        return "the folder does not exist: make it first";
    case EISDIR:
        return "a folder has that name: choose another name";
    case EFBIG:
        return "the file is too large for this file system or your limits";
    case ENAMETOOLONG:
        return "choose a shorter name";
    case ELOOP:
        return "the path is a link: name the file itself";
    default:
        return "check the disk and try again";
    }
}

static pml_outcome say_unwritten(struct pml_message *message, const char *path, int error)
{
    if (error == ENOMEM)
        return pml_say_memory(message);
    return pml_say(message, "%.*s: cannot be written (%s): %s.", SHOWN, path, strerror(error), pml_file_advice(error));
}

static pml_outcome say_exists(struct pml_message *message, const char *path)
{
    return pml_say(message, "%.*s: exists already: remove it, or choose another name.", SHOWN, path);
}

/* Returns 0 or an errno. */
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

static void remove_beside(char *name)
{
    unlink(name);
    pml_leftover_set(PML_LEFTOVER_FILE, NULL);
    free(name);
}

char *pml_file_beside(const char *path)
{
    static uint64_t calls;
    struct timespec now = {0};
    size_t room = strlen(path) + 32;
    char *name = malloc(room);
    if (!name)
        return NULL;
    clock_gettime(CLOCK_REALTIME, &now);
    struct pml_generator generator = pml_generator_start((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                                                         (uint64_t)getpid() ^ ++calls << 32);
    snprintf(name, room, "%s.tmp-%012jx", path, (uintmax_t)(pml_generator_next(&generator) >> 16));
    return name;
}

/* Makes a temporary file beside `path` and fills it. Returns 0 and its name, to be freed, or an errno and nothing. */
static int write_beside(const char *path, const uint8_t *bytes, size_t size, const mode_t *kept, mode_t mode,
                        char **name)
{
    int file, error = EEXIST;
    for (int tries = 0; tries < TRIES && error == EEXIST; tries++) {
        *name = pml_file_beside(path);
        if (!*name)
            return ENOMEM;
        pml_leftover_set(PML_LEFTOVER_FILE, *name);
        file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kept ? *kept : mode);
        error = file < 0 ? errno : 0;
        if (error != 0) {
            pml_leftover_set(PML_LEFTOVER_FILE, NULL);
            free(*name);
        }
    }
    if (error != 0)
        return error;
    error = write_all(file, bytes, size);
    if (kept)
        (void)!fchmod(file, *kept); /* where this fails, the file has fewer permissions, never more */
    if (close(file) != 0 && error == 0)
        error = errno;
    if (error != 0)
        remove_beside(*name);
    return error;
}

pml_outcome pml_file_write(const char *path, const void *bytes, size_t size, int how, struct pml_message *message)
{
    struct stat there;
    const bool exclusive = (how & PML_FILE_EXCLUSIVE) != 0;
    const bool exists = lstat(path, &there) == 0;
    if (exclusive && exists)
        return say_exists(message, path);
    const bool replaced = exists && S_ISREG(there.st_mode);
    const mode_t kept = replaced ? there.st_mode & 0777 : 0;
    char *beside;
    int error = write_beside(path, bytes, size, replaced ? &kept : NULL, how & PML_FILE_PRIVATE ? 0600 : 0666, &beside);
    if (error != 0)
        return say_unwritten(message, path, error);
    error = pml_file_rename(beside, path, exclusive);
    remove_beside(beside); /* after a rename there is nothing left to remove */
    if (error == EEXIST && exclusive)
        return say_exists(message, path);
    return error == 0 ? PML_DONE : say_unwritten(message, path, error);
}

pml_outcome pml_file_try(const char *path, size_t size, struct pml_message *message)
{
    char *beside;
    uint8_t *zeros = calloc(1, size > 0 ? size : 1);
    int error = zeros ? write_beside(path, zeros, size, NULL, 0600, &beside) : ENOMEM;
    free(zeros);
    if (error != 0)
        return say_unwritten(message, path, error);
    remove_beside(beside);
    return PML_DONE;
}

int pml_file_take(int file, void *bytes, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        size_t left = size - *got;
        ssize_t count = read(file, (uint8_t *)bytes + *got, left < CHUNK ? left : CHUNK);
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

static int open_plain(int folder, const char *name, int flags, const char *path, uint64_t *size,
                      struct pml_message *message)
{
    struct stat status;
    /* O_NONBLOCK: a pipe must not make us wait. It is refused below. */
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        *size = (uint64_t)status.st_size;
        return file;
    }
    if (file < 0) {
        pml_say(message, "%.*s: cannot be opened (%s): check the name and its permissions.", SHOWN, path,
                strerror(errno));
        return -1;
    }
    close(file);
    pml_say(message, "%.*s: is not a file: give the path of a file.", SHOWN, path);
    return -1;
}

int pml_file_open(const char *path, uint64_t *size, struct pml_message *message)
{
    return open_plain(AT_FDCWD, path, 0, path, size, message);
}

static pml_outcome read_open_file(int file, const char *path, size_t expected, uint8_t **bytes, size_t *size,
                                  struct pml_message *message)
{
    size_t got;
    uint8_t *room = malloc(expected > 0 ? expected : 1);
    if (!room)
        return pml_say_memory(message);
    int error = pml_file_take(file, room, expected, &got);
    if (error == 0 && got == expected) {
        *bytes = room;
        *size = expected;
        return PML_DONE;
    }
    free(room);
    if (error != 0)
        return pml_say(message, "%.*s: cannot be read (%s): check the disk.", SHOWN, path, strerror(error));
    return pml_say(message, "%.*s: became shorter while it was read: try again.", SHOWN, path);
}

static pml_outcome read_plain(int folder, const char *name, int flags, const char *path, size_t limit, uint8_t **bytes,
                              size_t *size, struct pml_message *message)
{
    uint64_t length;
    *bytes = NULL;
    *size = 0;
    int file = open_plain(folder, name, flags, path, &length, message);
    if (file < 0)
        return PML_REFUSED;
    pml_outcome outcome =
        length <= limit
            ? read_open_file(file, path, (size_t)length, bytes, size, message)
            : pml_say(message, "%.*s: has %ju bytes, more than the %zu such a file may have: is it the right file?",
                      SHOWN, path, (uintmax_t)length, limit);
    close(file);
    return outcome;
}

pml_outcome pml_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *size, struct pml_message *message)
{
    return read_plain(AT_FDCWD, path, 0, path, limit, bytes, size, message);
}

pml_outcome pml_file_read_in(int folder, const char *name, const char *path, size_t limit, uint8_t **bytes,
                             size_t *size, struct pml_message *message)
{
    return read_plain(folder, name, O_NOFOLLOW, path, limit, bytes, size, message);
}
