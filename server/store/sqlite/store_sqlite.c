/* SPDX-License-Identifier: Apache-2.0
 * Reading a SQLite store (SPEC 8). In: a path; cells and places. Out: fragments of answers.
 * Never hands out a candidate whose digest does not fit, and never writes: the file is opened as immutable. */
#define _POSIX_C_SOURCE 200809L
#include "store_sqlite.h"
#include "common/message.h"
#include "server/store/store_content.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SHOWN PML_SQLITE_SHOWN

/* ---- connections: a thread takes an idle one, or a new one when all are busy ---- */

enum { CELL, CELL_SIZE, ITEM, PING, STATEMENTS };

/* LEFT JOIN: a cell that names an item which is not there must be noticed. */
static const char *const queries[STATEMENTS] = {
    [CELL] = ("SELECT cells.item, items.digest, items.candidate FROM cells LEFT JOIN items ON items.item = cells.item "
              "WHERE cells.slot = ?1 AND cells.cell = ?2 ORDER BY cells.item"),
    [CELL_SIZE] = "SELECT count(*) FROM cells WHERE slot = ?1 AND cell = ?2",
    [ITEM] = "SELECT item, digest, candidate FROM items WHERE item = ?1",
    [PING] = "SELECT value FROM meta WHERE key = 'done'",
};

struct connection {
    struct connection *next;
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENTS];
};

struct sqlite_store {
    struct pml_store base;
    char *address; /* a URI of SQLite */
    pthread_mutex_t lock;
    pthread_cond_t given; /* a connection is idle again */
    struct connection *idle;
    bool replaced; /* the path leads to another store by now: no more connections, those there are have to do */
    struct pml_places places;
};

static void close_connection(struct connection *connection)
{
    for (size_t i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(connection->statements[i]);
    sqlite3_close(connection->database);
    free(connection);
}

/* SQLITE_OK and a connection without statements, or SQLite's code and nothing. */
static int open_connection(const char *address, struct connection **connection)
{
    struct connection *made = calloc(1, sizeof *made);
    if (!made)
        return SQLITE_NOMEM;
    int code =
        sqlite3_open_v2(address, &made->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    /* The file may be anything: nothing in its schema is run, nothing in its pages is taken for granted. */
    if (code == SQLITE_OK)
        code = pml_sqlite_distrust(made->database);
    if (code == SQLITE_OK)
        code =
            sqlite3_exec(made->database, "PRAGMA cell_size_check = ON; PRAGMA cache_size = -32768", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        *connection = made;
    else
        close_connection(made);
    return code;
}

static int prepare(struct connection *connection)
{
    int code = SQLITE_OK;
    for (size_t i = 0; i < STATEMENTS && code == SQLITE_OK; i++)
        code = sqlite3_prepare_v3(connection->database, queries[i], -1, SQLITE_PREPARE_PERSISTENT,
                                  &connection->statements[i], NULL);
    return code;
}

/* The path may meanwhile lead to another store: its items must never be mixed with this one's. */
static bool is_same(const struct sqlite_store *store, sqlite3 *database)
{
    struct pml_sqlite_meta meta;
    return pml_sqlite_read_meta(database, &meta) == PML_SQLITE_OK && meta.done &&
           meta.info.digest == store->base.info.digest && pml_store_same_info(&meta.info, &store->base.info);
}

static int take_connection(struct sqlite_store *store, struct connection **connection)
{
    for (;;) {
        pthread_mutex_lock(&store->lock);
        while (!store->idle && store->replaced)
            pthread_cond_wait(&store->given, &store->lock);
        *connection = store->idle;
        if (store->idle)
            store->idle = store->idle->next;
        pthread_mutex_unlock(&store->lock);
        if (*connection)
            return PML_STORE_OK;
        int code = open_connection(store->address, connection);
        const bool opened = code == SQLITE_OK, same = opened && is_same(store, (*connection)->database);
        if (same)
            code = prepare(*connection);
        if (same && code == SQLITE_OK)
            return PML_STORE_OK;
        if (opened)
            close_connection(*connection);
        if (same || (!opened && code != SQLITE_CANTOPEN))
            return code == SQLITE_NOMEM ? PML_STORE_NO_MEMORY : PML_STORE_FAILED;
        pthread_mutex_lock(&store->lock);
        store->replaced = true;
        pthread_mutex_unlock(&store->lock);
    }
}

static void give_back(struct sqlite_store *store, struct connection *connection)
{
    pthread_mutex_lock(&store->lock);
    connection->next = store->idle;
    store->idle = connection;
    pthread_cond_signal(&store->given);
    pthread_mutex_unlock(&store->lock);
}

/* ---- candidates ---- */

/* One row of CELL or ITEM, which must be exactly the candidate that was written. */
static int take_row(const struct pml_store *store, sqlite3_stmt *row, struct pml_fragment *fragment)
{
    if (sqlite3_column_type(row, 1) != SQLITE_INTEGER)
        return PML_STORE_FAILED;
    const uint8_t *bytes = sqlite3_column_blob(row, 2);
    return pml_store_take_candidate(&store->info, (uint64_t)sqlite3_column_int64(row, 0),
                                    (uint64_t)sqlite3_column_int64(row, 1), bytes, (size_t)sqlite3_column_bytes(row, 2),
                                    fragment);
}

/* Runs a bound statement to its end; `found` counts its rows. */
static int collect(const struct pml_store *store, sqlite3_stmt *statement, struct pml_fragment *fragment, size_t *found)
{
    int status = PML_STORE_OK, step = SQLITE_ROW;
    while (status == PML_STORE_OK && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        status = take_row(store, statement, fragment);
        (*found)++;
    }
    if (status == PML_STORE_OK && step != SQLITE_DONE)
        status = step == SQLITE_NOMEM ? PML_STORE_NO_MEMORY : PML_STORE_FAILED;
    sqlite3_reset(statement);
    return status;
}

static int read_cell(struct pml_store *base, uint32_t slot, uint32_t cell, struct pml_fragment *fragment)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct connection *connection;
    const struct pml_fragment before = *fragment;
    size_t found = 0;
    int status = take_connection(store, &connection);
    if (status != PML_STORE_OK)
        return status;
    sqlite3_stmt *statement = connection->statements[CELL];
    sqlite3_bind_int64(statement, 1, slot);
    sqlite3_bind_int64(statement, 2, cell);
    status = collect(base, statement, fragment, &found);
    give_back(store, connection);
    return pml_store_settle(fragment, &before, status);
}

static int read_cell_size(struct pml_store *base, uint32_t slot, uint32_t cell, uint64_t *size)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct connection *connection;
    int status = take_connection(store, &connection);
    if (status != PML_STORE_OK)
        return status;
    sqlite3_stmt *statement = connection->statements[CELL_SIZE];
    sqlite3_bind_int64(statement, 1, slot);
    sqlite3_bind_int64(statement, 2, cell);
    if (sqlite3_step(statement) == SQLITE_ROW)
        *size = (uint64_t)sqlite3_column_int64(statement, 0);
    else
        status = PML_STORE_FAILED;
    sqlite3_reset(statement);
    give_back(store, connection);
    return status;
}

static int read_nearest(struct pml_store *base, uint32_t slot, const double *place, uint32_t count,
                        struct pml_fragment *fragment)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct connection *connection;
    struct pml_near *near;
    const struct pml_fragment before = *fragment;
    size_t near_count;
    if (base->info.dimensions == 0)
        return PML_STORE_FAILED;
    if (pml_places_nearest(&store->places, slot, place, count, &near, &near_count) != 0)
        return PML_STORE_NO_MEMORY;
    int status = take_connection(store, &connection);
    if (status == PML_STORE_OK) {
        for (size_t i = 0; i < near_count && status == PML_STORE_OK; i++) {
            size_t found = 0;
            sqlite3_bind_int64(connection->statements[ITEM], 1, (sqlite3_int64)near[i].item);
            status = collect(base, connection->statements[ITEM], fragment, &found);
            if (status == PML_STORE_OK && found != 1)
                status = PML_STORE_FAILED;
        }
        give_back(store, connection);
    }
    free(near);
    return pml_store_settle(fragment, &before, status);
}

static int ping(struct pml_store *base)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct connection *connection;
    int status = take_connection(store, &connection);
    if (status != PML_STORE_OK)
        return status;
    sqlite3_stmt *statement = connection->statements[PING];
    if (sqlite3_step(statement) != SQLITE_ROW || sqlite3_column_int64(statement, 0) != 1)
        status = PML_STORE_FAILED;
    sqlite3_reset(statement);
    give_back(store, connection);
    return status;
}

/* ---- open and close ---- */

/* SQLite's URI of a path: nothing in it has a special meaning, and relative ones cannot be ":memory:". NULL without
 * memory. */
static char *make_address(const char *path)
{
    static const char before[] = "file:", after[] = "?immutable=1";
    char *address = malloc(sizeof before + 2 + 3 * strlen(path) + sizeof after);
    if (!address)
        return NULL;
    char *at = address + sprintf(address, "%s%s", before, path[0] == '/' ? "//" : "./");
    for (; *path != 0; path++)
        at += strchr("%?#", *path) ? sprintf(at, "%%%02X", (unsigned)*path) : sprintf(at, "%c", *path);
    strcpy(at, after);
    return address;
}

static void close_store(struct pml_store *base)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    while (store->idle) {
        struct connection *connection = store->idle;
        store->idle = connection->next;
        close_connection(connection);
    }
    pml_places_free(&store->places);
    pthread_cond_destroy(&store->given);
    pthread_mutex_destroy(&store->lock);
    free(store->address);
    free(store);
}

static int say_damaged(struct pml_message *message, const char *path)
{
    return pml_say(message,
                   "%.*s: the store is damaged: put a copy in its place, or make it anew with privatemail index "
                   "--force.",
                   SHOWN, path);
}

static int say_code(struct pml_message *message, const char *path, int code, int reason)
{
    if (code == SQLITE_NOMEM)
        return pml_say_memory(message);
    if (code == SQLITE_NOTADB)
        return pml_say(message, "%.*s: is no store: check the name, or make one with privatemail index.", SHOWN, path);
    if (code == SQLITE_CANTOPEN || code == SQLITE_PERM || code == SQLITE_AUTH)
        return pml_say(message, "%.*s: cannot be opened (%s): check its permissions.", SHOWN, path, strerror(reason));
    return say_damaged(message, path);
}

/* What the head of the file says: is it ours, and can we read it? */
static int check_head(sqlite3 *database, const char *path, struct pml_message *message)
{
    int64_t application = 0, version = 0;
    if (pml_sqlite_number(database, "PRAGMA application_id", &application) != PML_SQLITE_OK ||
        pml_sqlite_number(database, "PRAGMA user_version", &version) != PML_SQLITE_OK)
        return say_code(message, path, sqlite3_errcode(database), sqlite3_system_errno(database));
    if (application != PML_SQLITE_APPLICATION)
        return say_code(message, path, SQLITE_NOTADB, 0);
    if (version != PML_SQLITE_VERSION)
        return pml_say(message,
                       "%.*s: is a store of version %lld, this program reads version %d: make it anew with "
                       "privatemail index --force.",
                       SHOWN, path, (long long)version, PML_SQLITE_VERSION);
    int status = pml_sqlite_check_schema(database);
    if (status == PML_SQLITE_DAMAGED)
        return pml_say(message,
                       "%.*s: has not the tables of a store, or others too: put a copy in its place, or make it anew "
                       "with privatemail index --force.",
                       SHOWN, path);
    return status == PML_SQLITE_OK ? 0 : say_code(message, path, sqlite3_errcode(database), 0);
}

static int load(struct sqlite_store *store, sqlite3 *database, const char *path, uint64_t size,
                struct pml_message *message)
{
    struct pml_sqlite_meta meta;
    uint64_t digest = 0;
    int status = check_head(database, path, message);
    if (status != 0)
        return status;
    status = pml_sqlite_read_meta(database, &meta);
    if (status == PML_SQLITE_OK && !meta.done)
        return pml_say(message, "%.*s: the store is not complete: let privatemail index go on with it.", SHOWN, path);
    if (status == PML_SQLITE_OK && meta.info.items > size) /* more items than bytes */
        status = PML_SQLITE_DAMAGED;
    if (status == PML_SQLITE_OK)
        status = pml_sqlite_scan(database, &meta.info, &store->places, &digest);
    if (status == PML_SQLITE_NO_MEMORY)
        return pml_say_memory(message);
    if (status != PML_SQLITE_OK || digest != meta.info.digest)
        return say_damaged(message, path);
    store->base.info = meta.info;
    return 0;
}

static int open_connected(struct sqlite_store *store, const char *path, uint64_t size, struct pml_message *message)
{
    struct connection *connection;
    int code = open_connection(store->address, &connection);
    if (code != SQLITE_OK)
        return say_code(message, path, code, errno);
    int status = load(store, connection->database, path, size, message);
    if (status == 0) {
        code = prepare(connection);
        if (code != SQLITE_OK)
            status = say_code(message, path, code, 0);
    }
    if (status == 0)
        give_back(store, connection);
    else
        close_connection(connection);
    return status;
}

int pml_sqlite_open(struct pml_store **store, const char *path, const uint8_t *pack, struct pml_message *message)
{
    (void)pack; /* a file has one, and tells which */
    struct stat found;
    if (stat(path, &found) != 0)
        return pml_say(message,
                       "%.*s: cannot be opened (%s): check the name, or make the store with privatemail index.", SHOWN,
                       path, strerror(errno));
    if (!S_ISREG(found.st_mode))
        return pml_say(message, "%.*s: is not a file: give the path of a store.", SHOWN, path);
    struct sqlite_store *made = calloc(1, sizeof *made);
    if (!made)
        return pml_say_memory(message);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->given, NULL);
    made->address = make_address(path);
    int status = made->address ? open_connected(made, path, (uint64_t)found.st_size, message) : pml_say_memory(message);
    if (status == 0)
        *store = &made->base;
    else
        close_store(&made->base);
    return status;
}

const struct pml_store_kind pml_store_sqlite = {
    .scheme = "sqlite",
    .form = "sqlite:FILE",
    .open = pml_sqlite_open,
    .close = close_store,
    .cell = read_cell,
    .cell_size = read_cell_size,
    .nearest = read_nearest,
    .ping = ping,
    .begin = pml_sqlite_begin,
    .add = pml_sqlite_add,
    .checkpoint = pml_sqlite_checkpoint,
    .finish = pml_sqlite_finish,
    .abandon = pml_sqlite_abandon,
};
