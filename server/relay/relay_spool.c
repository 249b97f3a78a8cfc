/* SPDX-License-Identifier: Apache-2.0
 * Unnamed files: O_TMPFILE, or a name that is removed at once where a file system does not know that. */
#define _GNU_SOURCE
#include "relay_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESERVE_MORE ((uint64_t)16 << 20) /* bytes at a time, so that few calls are needed */

static int open_unnamed(const char *folder)
{
#ifdef O_TMPFILE
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (file >= 0)
        return file;
#endif
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/privatemail-relay-XXXXXX", folder);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int named = mkstemp(path);
    if (named >= 0) {
        unlink(path);
        fcntl(named, F_SETFD, FD_CLOEXEC);
    }
    return named;
}

pml_outcome relay_spool_open(struct relay_spool *spool, const char *folder, struct pml_message *message)
{
    *spool = (struct relay_spool){.file = open_unnamed(folder)};
    if (spool->file >= 0)
        return PML_DONE;
    pml_say(message, "%s cannot hold the spool (%s). Give a folder with --spool that can be written.", folder,
            strerror(errno));
    return PML_UNAVAILABLE;
}

void relay_spool_close(struct relay_spool *spool)
{
    if (spool->file >= 0)
        close(spool->file);
    *spool = (struct relay_spool){.file = -1};
}

pml_outcome relay_spool_reserve(struct relay_spool *spool, uint64_t size)
{
#ifdef __linux__
    if (size <= spool->reserved)
        return PML_DONE;
    const uint64_t ahead = size + RESERVE_MORE;
    const uint64_t wanted[] = {ahead, size}; /* on a disk that is almost full only what is needed */
    for (size_t i = 0; i < 2; i++) {
        if (fallocate(spool->file, 0, (off_t)spool->reserved, (off_t)(wanted[i] - spool->reserved)) == 0 ||
            errno == EOPNOTSUPP) {
            spool->reserved = wanted[i];
            return PML_DONE;
        }
    }
    return PML_UNAVAILABLE;
#else
    spool->reserved = size;
    return PML_DONE;
#endif
}

pml_outcome relay_spool_write(const struct relay_spool *spool, const void *bytes, size_t size, uint64_t offset)
{
    const uint8_t *at = bytes;
    while (size > 0) {
        ssize_t written = pwrite(spool->file, at, size, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return PML_UNAVAILABLE;
        at += written;
        offset += (uint64_t)written;
        size -= (size_t)written;
    }
    return PML_DONE;
}

pml_outcome relay_spool_read(const struct relay_spool *spool, void *bytes, size_t size, uint64_t offset)
{
    uint8_t *at = bytes;
    while (size > 0) {
        ssize_t got = pread(spool->file, at, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return PML_UNAVAILABLE;
        at += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return PML_DONE;
}

void relay_spool_forget(const struct relay_spool *spool, uint64_t offset, uint64_t size)
{
#ifdef __linux__
    if (size > 0 && spool->file >= 0)
        (void)!fallocate(spool->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
#else
    (void)spool, (void)offset, (void)size;
#endif
}
