/* SPDX-License-Identifier: Apache-2.0
 * Reads and writes whole files. A half-written file never has the final path; a temporary one is left only when the
 * process is killed. */
#include "files.h"
#include "generator.h"
#include "leftovers.h"
#include "message.h"
#include "system.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 200 /* characters of a path in a message */
#define TRIES 100 /* of temporary names, if others have them already */

bool pml_file_is_full(int error)
{
#ifdef EDQUOT /* which Windows does not have */
    if (error == EDQUOT)
        return true;
#endif
    return error == ENOSPC;
}

const char *pml_file_advice(int error)
{
    if (pml_file_is_full(error))
        return "free some space, or write elsewhere";
    switch (error) {
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
    case EINVAL:
    case EILSEQ:
        return "the file system does not allow that, or not that name: choose another name or folder";
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

static void remove_beside(char *name)
{
    (void)pml_system_remove(PML_HERE, name);
    pml_leftover_set(PML_LEFTOVER_FILE, NULL);
    free(name);
}

char *pml_file_beside(const char *path)
{
    static uint64_t calls;
    size_t room = strlen(path) + 32;
    char *name = malloc(room);
    if (!name)
        return NULL;
    struct pml_generator generator = pml_generator_start(pml_system_seed(), ++calls);
    snprintf(name, room, "%s.tmp-%012jx", path, (uintmax_t)(pml_generator_next(&generator) >> 16));
    return name;
}

/* Makes a temporary file beside `path` and fills it. It is private, or has the permissions of the file `like`. Returns 0
 * and its name, to be freed, or an errno and nothing. */
static int write_beside(const char *path, const void *bytes, size_t size, bool private, const char *like, char **name)
{
    struct pml_found there;
    int file, error = EEXIST;
    if (pml_system_look(PML_HERE, path, false, &there) == EINVAL) /* the name beside it could be one where it is none */
        return EINVAL;
    for (int tries = 0; tries < TRIES && error == EEXIST; tries++) {
        *name = pml_file_beside(path);
        if (!*name)
            return ENOMEM;
        pml_system_hold_interrupts(true);
        pml_leftover_set(PML_LEFTOVER_FILE, *name);
        error = pml_system_create(PML_HERE, *name, private, like, &file);
        pml_system_hold_interrupts(false);
        if (error != 0) {
            pml_leftover_set(PML_LEFTOVER_FILE, NULL);
            free(*name);
        }
    }
    if (error != 0)
        return error;
    error = pml_system_write(file, bytes, size);
    if (error == 0)
        error = pml_system_flush(file);
    const int closing = pml_system_close(file);
    error = error != 0 ? error : closing;
    if (error != 0)
        remove_beside(*name);
    return error;
}

pml_outcome pml_file_write(const char *path, const void *bytes, size_t size, int how, struct pml_message *message)
{
    struct pml_found there;
    const bool exclusive = (how & PML_FILE_EXCLUSIVE) != 0;
    if (exclusive && pml_system_look(PML_HERE, path, false, &there) == 0)
        return say_exists(message, path);
    char *beside;
    int error = write_beside(path, bytes, size, (how & PML_FILE_PRIVATE) != 0, path, &beside);
    if (error != 0)
        return say_unwritten(message, path, error);
    error = pml_system_commit(beside, path, exclusive);
    remove_beside(beside); /* after a rename there is nothing left to remove */
    if (error == EEXIST && exclusive)
        return say_exists(message, path);
    return error == 0 ? PML_DONE : say_unwritten(message, path, error);
}

pml_outcome pml_file_try(const char *path, size_t size, struct pml_message *message)
{
    char *beside;
    uint8_t *zeros = calloc(1, size > 0 ? size : 1);
    int error = zeros ? write_beside(path, zeros, size, true, NULL, &beside) : ENOMEM;
    free(zeros);
    if (error != 0)
        return say_unwritten(message, path, error);
    remove_beside(beside);
    return PML_DONE;
}

static int open_plain(int folder, const char *name, bool follow, const char *path, uint64_t *size,
                      struct pml_message *message)
{
    struct pml_found found;
    int file;
    int error = pml_system_open(folder, name, follow, &file);
    if (error == 0) {
        error = pml_system_look_open(file, &found);
        if (error == 0 && found.kind == PML_KIND_FILE) {
            *size = found.size;
            return file;
        }
        pml_system_close(file);
    }
    if (error == 0)
        pml_say(message, "%.*s: is not a file: give the path of a file.", SHOWN, path);
    else
        pml_say(message, "%.*s: cannot be opened (%s): check the name and its permissions.", SHOWN, path,
                strerror(error));
    return -1;
}

int pml_file_open(const char *path, uint64_t *size, struct pml_message *message)
{
    return open_plain(PML_HERE, path, true, path, size, message);
}

static pml_outcome read_open_file(int file, const char *path, size_t expected, uint8_t **bytes, size_t *size,
                                  struct pml_message *message)
{
    size_t got;
    uint8_t *room = malloc(expected > 0 ? expected : 1);
    if (!room)
        return pml_say_memory(message);
    int error = pml_system_read(file, room, expected, &got);
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

static pml_outcome read_plain(int folder, const char *name, bool follow, const char *path, size_t limit,
                              uint8_t **bytes, size_t *size, struct pml_message *message)
{
    uint64_t length;
    *bytes = NULL;
    *size = 0;
    int file = open_plain(folder, name, follow, path, &length, message);
    if (file < 0)
        return PML_REFUSED;
    pml_outcome outcome =
        length <= limit
            ? read_open_file(file, path, (size_t)length, bytes, size, message)
            : pml_say(message, "%.*s: has %ju bytes, more than the %zu such a file may have: is it the right file?",
                      SHOWN, path, (uintmax_t)length, limit);
    pml_system_close(file);
    return outcome;
}

pml_outcome pml_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *size, struct pml_message *message)
{
    return read_plain(PML_HERE, path, true, path, limit, bytes, size, message);
}

pml_outcome pml_file_read_in(int folder, const char *name, const char *path, size_t limit, uint8_t **bytes,
                             size_t *size, struct pml_message *message)
{
    return read_plain(folder, name, false, path, limit, bytes, size, message);
}
