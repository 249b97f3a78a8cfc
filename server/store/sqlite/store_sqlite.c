/* SPDX-License-Identifier: Apache-2.0
 * A SQLite store (SPEC 9). Readers: a thread takes an idle connection, or opens one when all are busy; when another file
 * has taken the place of the one they read, they are closed. The writer commits blobs in batches, since nothing leads to
 * them yet, and a pointer with all that is left of them; every commit is flushed. */
#define _POSIX_C_SOURCE 200809L
#include "store_sqlite.h"

#include "common/system.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN PML_STORE_PATH_SHOWN
#define BATCH ((size_t)64 << 20) /* bytes that are put in one transaction */

struct lite_store {
    struct pml_store base;
    char *path;

    struct pml_lite *writer; /* NULL: a reader */
    int lock_file;
    bool begun;     /* a transaction */
    size_t pending; /* bytes in it */

    pthread_mutex_t lock; /* of a reader, with all that follows */
    struct pml_lite *idle;
    struct pml_lite_stamp stamp; /* of the idle ones' file */
};

/* ---- connections of readers ---- */

/* Returns 0 or an errno. */
static int look(const char *path, struct pml_lite_stamp *stamp)
{
    struct pml_found found, log;
    char other[4096 + sizeof "-wal"];
    memset(stamp, 0, sizeof *stamp); /* they are compared as bytes */
    const int error = pml_system_look(PML_HERE, path, true, &found);
    if (error != 0)
        return error;
    stamp->device = found.device;
    stamp->number = found.number;
    if (snprintf(other, sizeof other, "%s-wal", path) >= (int)sizeof other)
        return ENAMETOOLONG;
    const bool logged = pml_system_look(PML_HERE, other, true, &log) == 0 && log.size > 0;
    other[pml_system_last_name(path) - path] = 0; /* the folder of both */
    stamp->immutable = !logged && pml_system_may_write(other) != 0;
    if (stamp->immutable) {
        stamp->size = found.size;
        stamp->changed_seconds = found.changed_seconds;
        stamp->changed_nanoseconds = found.changed_nanoseconds;
    }
    return found.kind == PML_KIND_FILE ? 0 : EISDIR;
}

/* An idle connection; under the lock. */
static struct pml_lite *pop(struct lite_store *store)
{
    struct pml_lite *connection = store->idle;
    if (connection)
        store->idle = connection->next;
    return connection;
}

static pml_outcome take(struct lite_store *store, struct pml_lite **connection, struct pml_message *message)
{
    struct pml_lite_stamp stamp;
    *connection = store->writer;
    if (*connection)
        return PML_DONE;
    if (look(store->path, &stamp) != 0)
        return PML_UNAVAILABLE;
    pthread_mutex_lock(&store->lock);
    if (memcmp(&stamp, &store->stamp, sizeof stamp) != 0) {
        while (store->idle)
            pml_lite_disconnect(pop(store));
        store->stamp = stamp;
    }
    *connection = pop(store);
    pthread_mutex_unlock(&store->lock);
    if (*connection)
        return PML_DONE;
    const pml_outcome outcome = pml_lite_connect(connection, store->path, stamp.immutable, PML_STORE_READ, message);
    if (outcome == PML_DONE)
        (*connection)->stamp = stamp;
    return outcome;
}

static void give_back(struct lite_store *store, struct pml_lite *connection)
{
    if (store->writer)
        return;
    pthread_mutex_lock(&store->lock);
    const bool kept = memcmp(&connection->stamp, &store->stamp, sizeof store->stamp) == 0;
    if (kept) {
        connection->next = store->idle;
        store->idle = connection;
    }
    pthread_mutex_unlock(&store->lock);
    if (!kept)
        pml_lite_disconnect(connection);
}

/* ---- rows ---- */

/* A column's bytes: NULL for other types, and without memory. */
static struct pml_value value_at(sqlite3_stmt *row, int column)
{
    struct pml_value value = {NULL, 0};
    if (sqlite3_column_type(row, column) == SQLITE_BLOB) {
        value.bytes = sqlite3_column_blob(row, column);
        value.size = (size_t)sqlite3_column_bytes(row, column);
        value.bytes = value.size == 0 ? "" : value.bytes;
    }
    return value;
}

/* Whoever takes the rows of a statement. */
struct taker {
    union {
        pml_blob_fn blob;
        pml_name_fn name;
        pml_pack_fn pack;
    } take;
    void *context;
    size_t index, rows;
    struct pml_name last;
};

typedef pml_outcome (*row_fn)(struct taker *taker, sqlite3_stmt *row);

static pml_outcome take_blob(struct taker *taker, sqlite3_stmt *row)
{
    const struct pml_value blob = value_at(row, 0);
    if (blob.bytes && taker->rows++ == 0)
        return taker->take.blob(taker->context, taker->index, blob.bytes, blob.size);
    return sqlite3_errcode(sqlite3_db_handle(row)) == SQLITE_NOMEM ? PML_NO_MEMORY : PML_DAMAGED;
}

/* Names ascend: a damaged tree could otherwise have them without end. */
static pml_outcome take_name(struct taker *taker, sqlite3_stmt *row)
{
    const struct pml_value name = value_at(row, 0);
    if (!name.bytes || name.size != PML_NAME_SIZE)
        return PML_DAMAGED;
    if (taker->rows++ > 0 && pml_name_order(&taker->last, name.bytes) >= 0)
        return PML_DAMAGED;
    memcpy(&taker->last, name.bytes, PML_NAME_SIZE);
    return taker->take.name(taker->context, &taker->last);
}

static pml_outcome take_pack(struct taker *taker, sqlite3_stmt *row)
{
    struct pml_value values[PML_POINTER_COLUMNS];
    for (int i = 0; i < PML_POINTER_COLUMNS; i++)
        values[i] = value_at(row, i);
    return pml_store_take_pack(values, taker->take.pack, taker->context);
}

/* Reads every row of a statement, whose only value may be a key. */
static pml_outcome read_rows(struct pml_lite *connection, int which, const void *key, size_t size, row_fn take_row,
                             struct taker *taker)
{
    int step = SQLITE_ROW;
    pml_outcome outcome = PML_DONE;
    sqlite3_stmt *statement = pml_lite_statement(connection, which);
    if (statement && key)
        sqlite3_bind_blob(statement, 1, key, (int)size, SQLITE_STATIC);
    while (statement && outcome == PML_DONE && (step = sqlite3_step(statement)) == SQLITE_ROW)
        outcome = take_row(taker, statement);
    if (!statement || (outcome == PML_DONE && step != SQLITE_DONE))
        outcome = pml_lite_failure(connection);
    sqlite3_reset(statement);
    return outcome;
}

/* Reads the rows for each of `count` keys, or all of them without one. A file that is gone, or is none of ours any more, is
 * unavailable. */
static pml_outcome read_all(struct pml_store *base, int which, const void *keys, size_t size, size_t count,
                            row_fn take_row, struct taker *taker)
{
    struct lite_store *store = (struct lite_store *)base;
    struct pml_lite *connection;
    pml_outcome outcome = take(store, &connection, NULL);
    if (outcome != PML_DONE)
        return outcome == PML_REFUSED || outcome == PML_ABSENT ? PML_UNAVAILABLE : outcome;
    for (size_t i = 0; i < count && outcome == PML_DONE; i++) {
        taker->index = i;
        taker->rows = 0;
        outcome = read_rows(connection, which, keys ? (const uint8_t *)keys + i * size : NULL, size, take_row, taker);
    }
    give_back(store, connection);
    return outcome;
}

static pml_outcome get(struct pml_store *base, enum pml_shelf shelf, const struct pml_name *names, size_t count,
                       pml_blob_fn take_each, void *context)
{
    struct taker taker = {.take.blob = take_each, .context = context};
    return read_all(base, PML_LITE_GET + (int)shelf, names, PML_NAME_SIZE, count, take_blob, &taker);
}

static pml_outcome packs(struct pml_store *base, const uint8_t *pack, pml_pack_fn take_each, void *context)
{
    struct taker taker = {.take.pack = take_each, .context = context};
    return read_all(base, pack ? PML_LITE_POINTER : PML_LITE_POINTERS, pack, PML_ID_SIZE, 1, take_pack, &taker);
}

static pml_outcome list(struct pml_store *base, enum pml_shelf shelf, pml_name_fn take_each, void *context)
{
    struct taker taker = {.take.name = take_each, .context = context};
    return read_all(base, PML_LITE_NAMES + (int)shelf, NULL, 0, 1, take_name, &taker);
}

/* ---- writing ---- */

/* Says what went wrong, and takes back the transaction. */
static pml_outcome fail(struct lite_store *store, struct pml_message *message)
{
    const int latest = errno, code = sqlite3_errcode(store->writer->database);
    int reason = 0; /* of the file itself; of its log SQLite does not keep it */
    sqlite3_file_control(store->writer->database, "main", SQLITE_FCNTL_LAST_ERRNO, &reason);
    reason = pml_system_error(reason);
    const int error = code == SQLITE_NOMEM                             ? ENOMEM
                      : code == SQLITE_FULL                            ? ENOSPC
                      : code == SQLITE_READONLY || code == SQLITE_PERM ? EACCES
                      : code != SQLITE_IOERR                           ? 0
                      : reason != 0                                    ? reason
                                                                       : latest;
    const pml_outcome outcome =
        error != 0 ? pml_store_say(store->path, error, message) : pml_lite_failure(store->writer);
    if (error == 0)
        pml_say(message, "%.*s: cannot be written (%s). Check the disk and try again.", SHOWN, store->path,
                sqlite3_errmsg(store->writer->database));
    (void)pml_lite_execute(store->writer, "ROLLBACK"); /* unless SQLite has done so */
    store->begun = false;
    return outcome;
}

static bool begin(struct lite_store *store)
{
    if (!store->begun)
        store->begun = pml_lite_execute(store->writer, "BEGIN IMMEDIATE");
    return store->begun;
}

static bool commit(struct lite_store *store)
{
    if (!pml_lite_execute(store->writer, "COMMIT"))
        return false;
    store->begun = false;
    store->pending = 0;
    return true;
}

/* Runs a statement whose values are these. */
static bool run(struct lite_store *store, int which, int count, const struct pml_value *values)
{
    sqlite3_stmt *statement = pml_lite_statement(store->writer, which);
    bool bound = statement != NULL;
    for (int i = 0; i < count && bound; i++)
        bound = sqlite3_bind_blob(statement, i + 1, values[i].bytes, (int)values[i].size, SQLITE_STATIC) == SQLITE_OK;
    const bool done = bound && sqlite3_step(statement) == SQLITE_DONE;
    if (statement) {
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
    }
    return done;
}

static pml_outcome put(struct pml_store *base, enum pml_shelf shelf, const struct pml_name *name, const void *bytes,
                       size_t size, struct pml_message *message)
{
    struct lite_store *store = (struct lite_store *)base;
    const struct pml_value values[] = {{name, PML_NAME_SIZE}, {bytes, size}};
    if (!begin(store) || !run(store, PML_LITE_PUT + (int)shelf, 2, values))
        return fail(store, message);
    store->pending += size;
    return store->pending < BATCH || commit(store) ? PML_DONE : fail(store, message);
}

static pml_outcome switch_pointer(struct pml_store *base, const uint8_t pack[PML_ID_SIZE],
                                  const struct pml_pointer *pointer, struct pml_message *message)
{
    struct lite_store *store = (struct lite_store *)base;
    struct pml_value values[PML_POINTER_COLUMNS];
    pml_store_pack_values(pack, pointer, values);
    const bool done = begin(store) && run(store, PML_LITE_SWITCH, PML_POINTER_COLUMNS, values) && commit(store);
    return done ? PML_DONE : fail(store, message);
}

static pml_outcome take_away(struct pml_store *base, enum pml_shelf shelf, const struct pml_name *names, size_t count,
                             struct pml_message *message)
{
    struct lite_store *store = (struct lite_store *)base;
    bool done = begin(store);
    for (size_t i = 0; i < count && done; i++)
        done = run(store, PML_LITE_REMOVE + (int)shelf, 1, &(struct pml_value){&names[i], PML_NAME_SIZE});
    return done && commit(store) ? PML_DONE : fail(store, message);
}

/* ---- open and close ---- */

static void close_store(struct pml_store *base)
{
    struct lite_store *store = (struct lite_store *)base;
    if (store->writer && !store->begun) /* so that the file alone is the store, where readers allow it */
        (void)pml_lite_execute(store->writer, "PRAGMA wal_checkpoint(TRUNCATE)");
    pml_lite_disconnect(store->writer);
    while (store->idle)
        pml_lite_disconnect(pop(store));
    if (store->lock_file >= 0)
        pml_system_close(store->lock_file);
    pthread_mutex_destroy(&store->lock);
    free(store->path);
}

static pml_outcome open_reader(struct lite_store *store, const char *target, struct pml_message *message)
{
    struct pml_lite *connection;
    struct pml_lite_stamp stamp;
    store->path = pml_system_real_path(target); /* SQLite has its log beside the file itself, whatever link led there */
    const int error = store->path ? look(store->path, &stamp) : errno;
    if (error == ENOMEM)
        return pml_say_memory(message);
    if (error == EISDIR)
        return pml_say(message, "%.*s: is not a file. Give the path of a store.", SHOWN, target);
    if (error != 0) {
        pml_say(message, "%.*s: cannot be opened (%s). Check the name, or make the store with privatemail index.",
                SHOWN, target, strerror(error));
        return error == ENOENT ? PML_ABSENT : PML_REFUSED;
    }
    const pml_outcome outcome = take(store, &connection, message);
    if (outcome == PML_DONE)
        give_back(store, connection);
    return outcome;
}

/* SQLite would hide why a file cannot be made or written. A new one is for its owner: it holds features of items, and
 * SQLite gives its permissions to the files beside it. */
static pml_outcome check_path(const char *path, struct pml_message *message)
{
    struct pml_found found;
    int error = 0, file;
    if (pml_system_look(PML_HERE, path, false, &found) != 0) {
        error = pml_system_create(PML_HERE, path, true, NULL, &file);
        if (error == 0)
            pml_system_close(file);
        return error == 0 ? PML_DONE : pml_store_say(path, error, message);
    }
    if (found.kind != PML_KIND_FILE)
        return pml_say(message, "%.*s: is not a plain file but a folder, a link or a device. Name another file.", SHOWN,
                       path);
    if (found.names > 1) /* the lock and SQLite's log are named after the path */
        return pml_say(message, "%.*s: has a second name (a hard link), which would have a lock of its own. Use a copy.",
                       SHOWN, path);
    error = pml_system_may_write(path);
    return error == 0 ? PML_DONE : pml_store_say(path, error, message);
}

/* The name under which SQLite and the lock know the file at `path`: the only one, where a system has several for a file. */
static char *one_name(const char *path)
{
    return pml_system_spells_names_in_many_ways && pml_system_exists(path) ? pml_system_real_path(path) : strdup(path);
}

/* What is not ours stays as it is: before it was looked at, nothing is written. */
static pml_outcome open_writer(struct lite_store *store, const char *path, struct pml_message *message)
{
    store->path = one_name(path);
    char *lock = store->path ? malloc(strlen(store->path) + sizeof ".lock") : NULL;
    if (!lock)
        return pml_say_memory(message);
    sprintf(lock, "%s.lock", store->path);
    store->lock_file = pml_store_lock(PML_HERE, lock, path, message);
    free(lock);
    if (store->lock_file < 0)
        return PML_REFUSED;
    pml_outcome outcome = check_path(path, message);
    if (outcome == PML_DONE)
        outcome = pml_lite_connect(&store->writer, store->path, false, PML_STORE_WRITE, message);
    if (outcome != PML_DONE && outcome != PML_ABSENT)
        return outcome;
    const bool ready = pml_lite_execute(store->writer, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; "
                                                        "PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON") &&
                       (outcome == PML_DONE || pml_lite_create(store->writer));
    return ready ? PML_DONE : fail(store, message);
}

static pml_outcome open_store(struct pml_store *base, const char *target, struct pml_message *message)
{
    struct lite_store *store = (struct lite_store *)base;
    pthread_mutex_init(&store->lock, NULL);
    store->lock_file = -1;
    return base->use == PML_STORE_WRITE ? open_writer(store, target, message) : open_reader(store, target, message);
}

const struct pml_store_kind pml_store_sqlite = {
    .scheme = "sqlite",
    .size = sizeof(struct lite_store),
    .open = open_store,
    .close = close_store,
    .get = get,
    .packs = packs,
    .put = put,
    .switch_pointer = switch_pointer,
    .names = list,
    .remove = take_away,
};
