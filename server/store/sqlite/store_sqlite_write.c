/* SPDX-License-Identifier: Apache-2.0
 * Writing a SQLite store (SPEC 8): the whole store as FILE, or FILE.building, which a later begin continues. FILE is not
 * touched before the new store is complete, on the disk, and has been read back. */
#define _XOPEN_SOURCE 700
#include "common/digest.h"
#include "common/file_commit.h"
#include "common/files.h"
#include "common/leftovers.h"
#include "common/message.h"
#include "server/store/store_content.h"
#include "store_sqlite_building.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN PML_SQLITE_SHOWN

struct sqlite_writer {
    struct pml_store_writer base;
    struct pml_building building;
    bool force;
    sqlite3_stmt *add_item, *add_cell;
    struct pml_bytes candidate; /* room for one */
};

static pml_outcome free_writer(struct sqlite_writer *writer, pml_outcome outcome)
{
    sqlite3_finalize(writer->add_item);
    sqlite3_finalize(writer->add_cell);
    pml_building_close(&writer->building);
    pml_bytes_free(&writer->candidate);
    free(writer);
    return outcome;
}

/* ---- begin ---- */

static pml_outcome check_target(const char *path, bool force, struct pml_message *message)
{
    static const uint8_t ours[4] = {0x50, 0x4D, 0x4C, 0x53};
    uint8_t head[72]; /* SQLite has the application's id at 68 */
    struct stat found;
    size_t got = 0;
    if (lstat(path, &found) != 0)
        return errno == ENOENT ? PML_DONE : pml_building_say(path, errno, message);
    if (!S_ISREG(found.st_mode))
        return pml_say(message, "%.*s: is not a plain file but a folder, a link or a device: name another file.", SHOWN,
                       path);
    if (!force)
        return pml_building_say(path, EEXIST, message);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int error = file < 0 ? errno : pml_file_take(file, head, sizeof head, &got);
    if (file >= 0)
        close(file);
    if (error != 0)
        return pml_building_say(path, error, message);
    if (got < sizeof head || memcmp(head + 68, ours, sizeof ours) != 0)
        return pml_say(message, "%.*s: is not a store, so it is not replaced: name another file, or remove it.", SHOWN,
                       path);
    return PML_DONE;
}

static int prepare(struct sqlite_writer *writer, struct pml_message *message)
{
    if (sqlite3_prepare_v3(writer->building.database, "INSERT INTO items VALUES(?1, ?2, ?3, ?4, ?5)", -1,
                           SQLITE_PREPARE_PERSISTENT, &writer->add_item, NULL) == SQLITE_OK &&
        sqlite3_prepare_v3(writer->building.database, "INSERT INTO cells VALUES(?1, ?2, ?3)", -1,
                           SQLITE_PREPARE_PERSISTENT, &writer->add_cell, NULL) == SQLITE_OK)
        return PML_DONE;
    return pml_building_fail(&writer->building, message);
}

pml_outcome pml_sqlite_begin(struct pml_store_writer **out, const char *path, const struct pml_store_info *info,
                             const uint8_t source[32], bool force, uint64_t *done, struct pml_message *message)
{
    pml_outcome outcome = check_target(path, force, message);
    if (outcome != PML_DONE)
        return outcome;
    struct sqlite_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return pml_say_memory(message);
    writer->base.info = *info;
    writer->force = force;
    outcome = pml_building_open(&writer->building, path, info, source, done, message);
    if (outcome == PML_DONE)
        outcome = prepare(writer, message);
    if (outcome != PML_DONE)
        return free_writer(writer, outcome);
    *out = &writer->base;
    return PML_DONE;
}

/* ---- add ---- */

static pml_outcome insert(struct sqlite_writer *writer, sqlite3_stmt *statement, uint64_t item,
                          struct pml_message *message)
{
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    if (code == SQLITE_DONE)
        return PML_DONE;
    if ((code & 0xFF) == SQLITE_CONSTRAINT)
        return pml_store_say_twice(item, message);
    return pml_building_fail(&writer->building, message);
}

pml_outcome pml_sqlite_add(struct pml_store_writer *base, const struct pml_store_item *item,
                           struct pml_message *message)
{
    struct sqlite_writer *writer = (struct sqlite_writer *)base;
    struct pml_bytes *candidate = &writer->candidate;
    uint8_t place[4 * PML_DIMENSIONS_MAX];
    const uint64_t number = item->candidate.item;
    candidate->size = 0;
    if (pml_candidate_write(candidate, &item->candidate) != PML_DONE)
        return pml_say_memory(message);
    sqlite3_bind_int64(writer->add_item, 1, (sqlite3_int64)number);
    sqlite3_bind_int64(writer->add_item, 2, item->slot);
    if (base->info.dimensions > 0)
        sqlite3_bind_blob(writer->add_item, 3, place,
                          (int)pml_store_place_bytes(item->place, base->info.dimensions, place), SQLITE_STATIC);
    sqlite3_bind_int64(writer->add_item, 4, (sqlite3_int64)pml_digest_string(0, candidate->bytes, candidate->size));
    sqlite3_bind_blob(writer->add_item, 5, candidate->bytes, (int)candidate->size, SQLITE_STATIC);
    pml_outcome outcome = insert(writer, writer->add_item, number, message);
    for (uint32_t i = 0; i < item->cell_count && outcome == PML_DONE; i++) {
        sqlite3_bind_int64(writer->add_cell, 1, item->slot);
        sqlite3_bind_int64(writer->add_cell, 2, item->cells[i]);
        sqlite3_bind_int64(writer->add_cell, 3, (sqlite3_int64)number);
        outcome = insert(writer, writer->add_cell, number, message);
    }
    return outcome;
}

pml_outcome pml_sqlite_checkpoint(struct pml_store_writer *base, struct pml_message *message)
{
    struct sqlite_writer *writer = (struct sqlite_writer *)base;
    return pml_building_execute(&writer->building, "COMMIT; BEGIN") == SQLITE_OK
               ? PML_DONE
               : pml_building_fail(&writer->building, message);
}

/* ---- finish ---- */

/* Nothing is missing: says so inside, for good. */
static pml_outcome complete(struct sqlite_writer *writer, struct pml_message *message)
{
    uint64_t digest;
    pml_outcome outcome = pml_sqlite_scan(writer->building.database, &writer->base.info, NULL, &digest);
    if (outcome == PML_REFUSED)
        return pml_store_say_full(writer->building.target, message);
    if (outcome == PML_DAMAGED)
        return pml_say(message, "%.*s: is damaged: remove it, and start again.", SHOWN, writer->building.path);
    if (outcome != PML_DONE || pml_building_put(&writer->building, "digest", (int64_t)digest) != SQLITE_OK ||
        pml_building_put(&writer->building, "done", 1) != SQLITE_OK ||
        pml_building_execute(&writer->building, "COMMIT") != SQLITE_OK)
        return pml_building_fail(&writer->building, message);
    return PML_DONE;
}

/* A copy in the order of the keys, without gaps: the same items give the same bytes, however often the work was
 * interrupted. */
static pml_outcome copy_ordered(struct sqlite_writer *writer, const char *copy, struct pml_message *message)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(writer->building.database, "VACUUM INTO ?1", -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, copy, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement) == SQLITE_DONE ? SQLITE_OK : sqlite3_errcode(writer->building.database);
    sqlite3_finalize(statement);
    return code == SQLITE_OK ? PML_DONE : pml_building_fail(&writer->building, message);
}

static pml_outcome move_to_target(struct sqlite_writer *writer, const char *copy, struct pml_message *message)
{
    struct pml_store *read_back = NULL;
    struct stat replaced;
    pml_outcome outcome = copy_ordered(writer, copy, message);
    if (outcome == PML_DONE && lstat(writer->building.target, &replaced) == 0)
        (void)!chmod(copy, replaced.st_mode & 0777);
    if (outcome == PML_DONE)
        outcome = pml_sqlite_open(&read_back, copy, NULL, message);
    if (outcome != PML_DONE)
        return outcome;
    pml_store_sqlite.close(read_back);
    int error = pml_file_commit(copy, writer->building.target, !writer->force);
    return error == 0 ? PML_DONE : pml_building_say(writer->building.target, error, message);
}

pml_outcome pml_sqlite_finish(struct pml_store_writer *base, struct pml_message *message)
{
    struct sqlite_writer *writer = (struct sqlite_writer *)base;
    pml_outcome outcome = complete(writer, message);
    if (outcome != PML_DONE)
        return free_writer(writer, outcome);
    char *copy = pml_file_beside(writer->building.target);
    if (!copy)
        return free_writer(writer, pml_say_memory(message));
    pml_leftover_set(PML_LEFTOVER_FILE, copy);
    outcome = move_to_target(writer, copy, message);
    if (outcome == PML_DONE)
        pml_building_remove(&writer->building);
    else
        unlink(copy);
    pml_leftover_set(PML_LEFTOVER_FILE, NULL);
    free(copy);
    return free_writer(writer, outcome);
}

void pml_sqlite_abandon(struct pml_store_writer *base)
{
    free_writer((struct sqlite_writer *)base, PML_DONE);
}
