/* SPDX-License-Identifier: Apache-2.0
 * Records epochs in a file. Only one process at a time reads and writes it. */
#define _XOPEN_SOURCE 700
#include "epoch_record.h"

#include "common/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_SIZE = 21 }; /* 20 digits and the end of the line: of one length, so that it is written in one piece */

char *epoch_record_path(const char *beside, const char *pack)
{
    const size_t length = strlen(beside) + strlen(pack) + sizeof "..epoch";
    char *path = malloc(length);
    if (path)
        snprintf(path, length, "%s.%s.epoch", beside, pack);
    return path;
}

static exit_code fail(const struct command *command, const char *path)
{
    return command_fail(command, EXIT_OUTPUT, "%s: %s: %s.", path, strerror(errno), pml_file_advice(errno));
}

/* The recorded epoch; 0 when there is none yet. */
static exit_code read_record(const struct command *command, const char *path, int file, uint64_t *epoch)
{
    char text[RECORD_SIZE + 1] = "";
    const ssize_t got = pread(file, text, RECORD_SIZE + 1, 0);
    *epoch = 0;
    if (got < 0)
        return fail(command, path);
    if (got == 0)
        return EXIT_OK;
    text[RECORD_SIZE] = 0;
    if (got != RECORD_SIZE || strspn(text, "0123456789") != RECORD_SIZE - 1 || text[RECORD_SIZE - 1] != '\n')
        return command_fail(
            command, EXIT_INPUT,
            "%s is no record of epochs. Remove it, but not before the epoch of your last query is over.", path);
    *epoch = strtoull(text, NULL, 10);
    return EXIT_OK;
}

static exit_code write_record(const struct command *command, const char *path, int file, uint64_t epoch)
{
    char text[RECORD_SIZE + 1];
    snprintf(text, sizeof text, "%020" PRIu64 "\n", epoch);
    if (pwrite(file, text, RECORD_SIZE, 0) != RECORD_SIZE || fsync(file) != 0)
        return fail(command, path);
    return EXIT_OK;
}

exit_code epoch_record_check(const struct command *command, const char *path, uint64_t epoch, bool claim, bool *is_free)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    uint64_t last = 0;
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (claim ? O_CREAT : 0), 0600);
    *is_free = file < 0 && errno == ENOENT;
    if (file < 0)
        return *is_free ? EXIT_OK : fail(command, path);
    int locked;
    do
        locked = fcntl(file, F_SETLKW, &whole);
    while (locked != 0 && errno == EINTR);
    exit_code code = locked == 0 ? read_record(command, path, file, &last) : fail(command, path);
    *is_free = code == EXIT_OK && epoch > last;
    if (*is_free && claim)
        code = write_record(command, path, file, epoch);
    close(file);
    return code;
}
