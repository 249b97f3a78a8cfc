/* SPDX-License-Identifier: Apache-2.0
 * Opens and locks FILE.building and finds the items it already has. A file that is not a store in the making is never
 * removed, and two processes never write the same one. */
#define _XOPEN_SOURCE 700
#include "store_sqlite_building.h"
#include "common/files.h"
#include "common/message.h"
#include "server/store/store_content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN PML_SQLITE_SHOWN
#define TRIES 100 /* to lock a file that others remove meanwhile */

/* ---- what went wrong ---- */

pml_outcome pml_building_say(const char *path, int error, struct pml_message *message)
{
    if (error == ENOMEM)
        return pml_say_memory(message);
    if (error == EEXIST)
        return pml_say(message, "%.*s: exists already: name another file, or add --force to replace it.", SHOWN, path);
    return pml_say(message, "%.*s: cannot be written (%s): %s.", SHOWN, path, strerror(error), pml_file_advice(error));
}

pml_outcome pml_building_fail(const struct pml_building *building, struct pml_message *message)
{
    const int latest = errno, code = sqlite3_errcode(building->database);
    int reason = 0; /* of the file that is built; of a journal or a copy SQLite does not keep it */
    if (code == SQLITE_NOMEM)
        return pml_say_memory(message);
    sqlite3_file_control(building->database, "main", SQLITE_FCNTL_LAST_ERRNO, &reason);
    if (reason == 0 && code == SQLITE_IOERR)
        reason = latest;
    if (code == SQLITE_READONLY || code == SQLITE_PERM)
        reason = EACCES;
    if (code == SQLITE_FULL)
        return pml_building_say(building->path, ENOSPC, message);
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
        return pml_say(message, "%.*s: is damaged, or something else: remove it, and start again.", SHOWN,
                       building->path);
    if (reason != 0)
        return pml_building_say(building->path, reason, message);
    return pml_say(message, "%.*s: cannot be written (%s): check the disk and try again.", SHOWN, building->path,
                   sqlite3_errmsg(building->database));
}

static pml_outcome say_busy(const struct pml_building *building, struct pml_message *message)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char who[40] = "";
    int file = open(building->path, O_RDWR | O_CLOEXEC);
    if (file >= 0 && fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0)
        snprintf(who, sizeof who, " (process %ld)", (long)lock.l_pid);
    if (file >= 0)
        close(file);
    return pml_say(message, "%.*s: another privatemail index%s is writing it: leave it alone until that has ended.",
                   SHOWN, building->target, who);
}

/* ---- lock ---- */

int pml_building_execute(struct pml_building *building, const char *text)
{
    return sqlite3_exec(building->database, text, NULL, NULL, NULL);
}

/* Opens the file and locks it until it is closed. *moved: its former owner has removed it meanwhile. A code of
 * SQLite's. */
static int open_locked(struct pml_building *building, int *moved)
{
    *moved = 0;
    int code = sqlite3_open_v2(building->path, &building->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (code == SQLITE_OK)
        code = pml_sqlite_distrust(building->database);
    if (code == SQLITE_OK)
        code = pml_building_execute(building, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536;"
                                              "PRAGMA synchronous = FULL;"
                                              "BEGIN EXCLUSIVE");
    if (code == SQLITE_OK)
        code = sqlite3_file_control(building->database, "main", SQLITE_FCNTL_HAS_MOVED, moved);
    return code;
}

static pml_outcome lock(struct pml_building *building, struct pml_message *message)
{
    struct stat found;
    for (int tries = 0; tries < TRIES; tries++) {
        int moved;
        if (lstat(building->path, &found) == 0 && !S_ISREG(found.st_mode))
            return pml_say(message, "%.*s: is not a plain file: remove it, the store is built there.", SHOWN,
                           building->path);
        int file = open(building->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666); /* SQLite would hide why not */
        if (file < 0 && errno != EEXIST)
            return pml_building_say(building->path, errno, message);
        if (file >= 0)
            close(file);
        int code = open_locked(building, &moved);
        if (code == SQLITE_OK && !moved)
            return PML_DONE;
        if (code != SQLITE_OK && code != SQLITE_BUSY)
            return pml_building_fail(building, message);
        sqlite3_close(building->database); /* before say_busy: closing any descriptor of the file drops our locks */
        building->database = NULL;
        if (code == SQLITE_BUSY)
            break;
    }
    return say_busy(building, message);
}

/* ---- content ---- */

static int put(struct pml_building *building, const char *key, int64_t number, const char *text, const void *blob,
               int size)
{
    /* A key keeps its row, so that the order of rows does not depend on how often they were written. */
    static const char query[] = "INSERT INTO meta VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = excluded.value";
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(building->database, query, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = text   ? sqlite3_bind_text(statement, 2, text, -1, SQLITE_STATIC)
               : blob ? sqlite3_bind_blob(statement, 2, blob, size, SQLITE_STATIC)
                      : sqlite3_bind_int64(statement, 2, number);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement) == SQLITE_DONE ? SQLITE_OK : sqlite3_errcode(building->database);
    sqlite3_finalize(statement);
    return code;
}

int pml_building_put(struct pml_building *building, const char *key, int64_t number)
{
    return put(building, key, number, NULL, NULL, 0);
}

static int put_lists(struct pml_building *building, const struct pml_store_info *info)
{
    int code = put(building, "lists", 0, pml_store_lists_name(info), NULL, 0);
    if (code == SQLITE_OK)
        code = pml_building_put(building, "cells_per_item", info->cells_per_item);
    return code == SQLITE_OK ? pml_building_put(building, "share", info->share) : code;
}

/* In the transaction that is open. */
static int create(struct pml_building *building, const struct pml_store_info *info, const uint8_t source[32])
{
    char head[100];
    snprintf(head, sizeof head, "PRAGMA application_id = %d; PRAGMA user_version = %d", PML_SQLITE_APPLICATION,
             PML_SQLITE_VERSION);
    bool made = pml_building_execute(building, head) == SQLITE_OK &&
                pml_building_execute(building, pml_sqlite_create) == SQLITE_OK &&
                put(building, "pack", 0, NULL, info->pack, PML_ID_SIZE) == SQLITE_OK &&
                put(building, "source", 0, NULL, source, 32) == SQLITE_OK &&
                pml_building_put(building, "items", (int64_t)info->items) == SQLITE_OK &&
                pml_building_put(building, "sketch", info->sketch) == SQLITE_OK &&
                pml_building_put(building, "dimensions", info->dimensions) == SQLITE_OK &&
                put_lists(building, info) == SQLITE_OK &&
                pml_building_put(building, "iterations", info->iterations) == SQLITE_OK &&
                pml_building_put(building, "digest", 0) == SQLITE_OK &&
                pml_building_put(building, "done", 0) == SQLITE_OK;
    return made ? SQLITE_OK : sqlite3_errcode(building->database);
}

/* Makes a new file in the place of the one that is locked; the new one may become another process's. */
static pml_outcome start_over(struct pml_building *building, struct pml_message *message)
{
    if (pml_building_execute(building, "COMMIT") != SQLITE_OK)
        return pml_building_fail(building, message);
    pml_building_remove(building);
    sqlite3_close(building->database);
    building->database = NULL;
    return lock(building, message);
}

/* The locked file becomes one that holds the first *done items of this source. */
static pml_outcome take_up(struct pml_building *building, const struct pml_store_info *info, const uint8_t source[32],
                           uint64_t *done, struct pml_message *message)
{
    struct pml_sqlite_meta meta;
    int64_t tables = 0, application = 0, items = 0;
    if (pml_sqlite_number(building->database, "SELECT count(*) FROM sqlite_schema", &tables) != PML_DONE ||
        pml_sqlite_number(building->database, "PRAGMA application_id", &application) != PML_DONE)
        return pml_building_fail(building, message);
    pml_outcome schema = tables > 0 ? pml_sqlite_check_schema(building->database) : PML_DONE;
    if (schema != PML_DONE && schema != PML_DAMAGED)
        return pml_building_fail(building, message);
    if (schema != PML_DONE || (tables > 0 && application != PML_SQLITE_APPLICATION))
        return pml_say(message, "%.*s: is a database of something else: remove it, the store is built there.", SHOWN,
                       building->path);
    if (tables > 0 && pml_sqlite_read_meta(building->database, &meta) == PML_DONE &&
        pml_store_same_info(&meta.info, info) && memcmp(meta.source, source, sizeof meta.source) == 0) {
        if (pml_sqlite_number(building->database, "SELECT count(*) FROM items", &items) != PML_DONE)
            return pml_building_fail(building, message);
        *done = (uint64_t)items;
        return PML_DONE;
    }
    if (tables > 0) {
        pml_outcome outcome = start_over(building, message);
        if (outcome == PML_DONE)
            outcome = take_up(building, info, source, done, message);
        if (outcome == PML_DONE)
            pml_say(message, "%.*s was begun from other inputs or options: starting again.", SHOWN, building->path);
        return outcome;
    }
    *done = 0;
    if (create(building, info, source) != SQLITE_OK || pml_building_execute(building, "COMMIT; BEGIN") != SQLITE_OK)
        return pml_building_fail(building, message);
    return PML_DONE;
}

/* ---- all of it ---- */

pml_outcome pml_building_open(struct pml_building *building, const char *target, const struct pml_store_info *info,
                              const uint8_t source[32], uint64_t *done, struct pml_message *message)
{
    const char *before = target[0] != '/' && strchr(target, ':') ? "./" : ""; /* SQLite must not take it for a URI */
    const size_t room = strlen(before) + strlen(target) + sizeof ".building";
    *building = (struct pml_building){.target = malloc(room), .path = malloc(room)};
    if (!building->target || !building->path)
        return pml_say_memory(message);
    snprintf(building->target, room, "%s%s", before, target);
    snprintf(building->path, room, "%s.building", building->target);
    pml_outcome outcome = lock(building, message);
    return outcome == PML_DONE ? take_up(building, info, source, done, message) : outcome;
}

void pml_building_close(struct pml_building *building)
{
    sqlite3_close(building->database);
    free(building->path);
    free(building->target);
    *building = (struct pml_building){0};
}

void pml_building_remove(struct pml_building *building)
{
    /* The journal goes first: once the file is gone, its name may belong to somebody else's. */
    char *journal = malloc(strlen(building->path) + sizeof "-journal");
    if (journal && pml_building_execute(building, "PRAGMA journal_mode = MEMORY") == SQLITE_OK) {
        sprintf(journal, "%s-journal", building->path);
        unlink(journal);
        unlink(building->path);
    }
    free(journal);
}
