/* SPDX-License-Identifier: Apache-2.0
 * Reading a SQLite store (SPEC 8). In: a file that may be anybody's; cells and points. Out: candidates, which are copied
 * as they are stored. When the store opens, the digests of all candidates are proved against the digest of the store; a
 * candidate with another digest is never handed out. The file is opened as immutable. */
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

/* ---- connections: a thread takes an idle one, or opens a new one when all are busy ---- */

enum { CELL, CELL_SIZE, ITEM, PING, STATEMENTS };

/* LEFT JOIN: a cell that names an item which is not there must be noticed. */
static const char *const queries[STATEMENTS] = {
    [CELL] = ("SELECT items.digest, items.candidate FROM cells LEFT JOIN items ON items.item = cells.item "
              "WHERE cells.slot = ?1 AND cells.cell = ?2 ORDER BY cells.item"),
    [CELL_SIZE] = "SELECT count(*) FROM cells WHERE slot = ?1 AND cell = ?2",
    [ITEM] = "SELECT digest, candidate FROM items WHERE item = ?1",
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
    bool replaced; /* the path leads to another store now, so no more connections can be opened */
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
    return pml_sqlite_read_meta(database, &meta) == PML_DONE && meta.done &&
           meta.info.digest == store->base.info.digest && pml_store_same_info(&meta.info, &store->base.info);
}

static pml_outcome take_connection(struct sqlite_store *store, struct connection **connection)
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
            return PML_DONE;
        int code = open_connection(store->address, connection);
        const bool opened = code == SQLITE_OK, same = opened && is_same(store, (*connection)->database);
        if (same)
            code = prepare(*connection);
        if (same && code == SQLITE_OK)
            return PML_DONE;
        if (opened)
            close_connection(*connection);
        if (same || (!opened && code != SQLITE_CANTOPEN))
            return code == SQLITE_NOMEM ? PML_NO_MEMORY : PML_UNAVAILABLE;
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

static pml_outcome failure(int code)
{
    return code == SQLITE_NOMEM ? PML_NO_MEMORY : code == SQLITE_CORRUPT ? PML_DAMAGED : PML_UNAVAILABLE;
}

/* Runs a bound statement, whose rows are a digest and a candidate, to its end; returns the number of rows in *found. */
static pml_outcome collect(sqlite3_stmt *statement, struct pml_fragment *fragment, size_t *found)
{
    pml_outcome outcome = PML_DONE;
    int step = SQLITE_ROW;
    for (*found = 0; outcome == PML_DONE && (step = sqlite3_step(statement)) == SQLITE_ROW; ++*found)
        outcome = pml_sqlite_take_candidate(statement, fragment);
    if (outcome == PML_DONE && step != SQLITE_DONE)
        outcome = failure(step);
    sqlite3_reset(statement);
    return outcome;
}

static void bind_cell(sqlite3_stmt *statement, struct pml_cell cell)
{
    sqlite3_bind_int64(statement, 1, cell.slot);
    sqlite3_bind_int64(statement, 2, cell.cell);
}

/* The candidates of the items nearest to one point. */
static pml_outcome collect_nearest(const struct sqlite_store *store, sqlite3_stmt *statement,
                                   const struct pml_point *point, uint32_t wanted, struct pml_fragment *fragment)
{
    struct pml_near *near;
    size_t count, found;
    pml_outcome outcome = pml_places_nearest(&store->places, point->slot, point->place, wanted, &near, &count);
    for (size_t i = 0; i < count && outcome == PML_DONE; i++) {
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)near[i].item);
        outcome = collect(statement, fragment, &found);
        if (outcome == PML_DONE && found != 1)
            outcome = PML_DAMAGED;
    }
    free(near);
    return outcome;
}

static pml_outcome read_wanted(struct pml_store *base, const struct pml_wanted *wanted, pml_take_fn take, void *context)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct connection *connection;
    struct pml_fragment fragment = {0};
    size_t found;
    pml_outcome outcome = take_connection(store, &connection);
    if (outcome != PML_DONE)
        return outcome;
    sqlite3_stmt *statement = connection->statements[wanted->cells ? CELL : ITEM];
    for (size_t i = 0; i < wanted->count && outcome == PML_DONE; i++) {
        fragment.count = 0, fragment.bytes.size = 0;
        if (wanted->cells)
            bind_cell(statement, wanted->cells[i]);
        outcome = wanted->cells ? collect(statement, &fragment, &found)
                                : collect_nearest(store, statement, &wanted->points[i], wanted->nearest, &fragment);
        if (outcome == PML_DONE)
            outcome = take(context, i, &fragment);
    }
    give_back(store, connection);
    pml_bytes_free(&fragment.bytes);
    return outcome;
}

/* The only number of a statement about a cell, or about none. */
static pml_outcome read_number(struct pml_store *base, int which, struct pml_cell cell, int64_t *number)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct connection *connection;
    pml_outcome outcome = take_connection(store, &connection);
    if (outcome != PML_DONE)
        return outcome;
    sqlite3_stmt *statement = connection->statements[which];
    if (which == CELL_SIZE)
        bind_cell(statement, cell);
    const int step = sqlite3_step(statement);
    *number = step == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_reset(statement);
    give_back(store, connection);
    return step == SQLITE_ROW ? PML_DONE : failure(step);
}

static pml_outcome read_cell_size(struct pml_store *store, struct pml_cell cell, uint64_t *size)
{
    int64_t number = 0;
    pml_outcome outcome = read_number(store, CELL_SIZE, cell, &number);
    *size = (uint64_t)number;
    return outcome;
}

static pml_outcome read_sizes(struct pml_store *base, enum pml_sized sized, pml_size_fn take, void *context)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct connection *connection;
    pml_outcome outcome = take_connection(store, &connection);
    if (outcome != PML_DONE)
        return outcome;
    outcome = pml_sqlite_sizes(connection->database, sized, take, context);
    give_back(store, connection);
    return outcome;
}

static pml_outcome read_items(struct pml_store *base, pml_take_fn take, void *context)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct connection *connection;
    pml_outcome outcome = take_connection(store, &connection);
    if (outcome != PML_DONE)
        return outcome;
    outcome = pml_sqlite_items(connection->database, take, context);
    give_back(store, connection);
    return outcome;
}

static pml_outcome ping(struct pml_store *store)
{
    int64_t done = 0;
    pml_outcome outcome = read_number(store, PING, (struct pml_cell){0}, &done);
    return outcome == PML_DONE && done != 1 ? PML_DAMAGED : outcome;
}

/* ---- open and close ---- */

/* SQLite's URI of a path: nothing in it has a special meaning, and relative ones cannot be ":memory:". Returns NULL
 * when out of memory. */
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

static pml_outcome say_damaged(struct pml_message *message, const char *path)
{
    pml_say(message,
            "%.*s: the store is damaged: put a copy in its place, or make it again with privatemail index --force.",
            SHOWN, path);
    return PML_DAMAGED;
}

static pml_outcome say_code(struct pml_message *message, const char *path, int code, int reason)
{
    if (code == SQLITE_NOMEM)
        return pml_say_memory(message);
    if (code == SQLITE_NOTADB)
        return pml_say(message, "%.*s: is not a store: check the name, or make one with privatemail index.", SHOWN,
                       path);
    if (code == SQLITE_CANTOPEN || code == SQLITE_PERM || code == SQLITE_AUTH)
        return pml_say(message, "%.*s: cannot be opened (%s): check its permissions.", SHOWN, path, strerror(reason));
    return say_damaged(message, path);
}

/* What the head of the file says: is it ours, and can we read it? */
static pml_outcome check_head(sqlite3 *database, const char *path, struct pml_message *message)
{
    int64_t application = 0, version = 0;
    if (pml_sqlite_number(database, "PRAGMA application_id", &application) != PML_DONE ||
        pml_sqlite_number(database, "PRAGMA user_version", &version) != PML_DONE)
        return say_code(message, path, sqlite3_errcode(database), sqlite3_system_errno(database));
    if (application != PML_SQLITE_APPLICATION)
        return say_code(message, path, SQLITE_NOTADB, 0);
    if (version != PML_SQLITE_VERSION)
        return pml_say(message,
                       "%.*s: is a store of version %lld, this program reads version %d: make it again with "
                       "privatemail index --force.",
                       SHOWN, path, (long long)version, PML_SQLITE_VERSION);
    pml_outcome outcome = pml_sqlite_check_schema(database);
    if (outcome == PML_DAMAGED)
        return pml_say(message,
                       "%.*s: is not a PrivateMail store (unexpected tables): put a copy in its place, or make it anew "
                       "with privatemail index --force.",
                       SHOWN, path);
    return outcome == PML_DONE ? PML_DONE : say_code(message, path, sqlite3_errcode(database), 0);
}

static pml_outcome load(struct sqlite_store *store, sqlite3 *database, const char *path, uint64_t size,
                        struct pml_message *message)
{
    struct pml_sqlite_meta meta;
    uint64_t digest = 0;
    pml_outcome outcome = check_head(database, path, message);
    if (outcome != PML_DONE)
        return outcome;
    outcome = pml_sqlite_read_meta(database, &meta);
    if (outcome == PML_DONE && !meta.done)
        return pml_say(message, "%.*s: the store is not complete: let privatemail index continue it.", SHOWN, path);
    if (outcome == PML_DONE && meta.info.items > size) /* more items than bytes */
        outcome = PML_DAMAGED;
    if (outcome == PML_DONE)
        outcome = pml_sqlite_scan(database, &meta.info, &store->places, &digest);
    if (outcome == PML_NO_MEMORY)
        return pml_say_memory(message);
    if (outcome != PML_DONE || digest != meta.info.digest)
        return say_damaged(message, path);
    store->base.info = meta.info;
    return PML_DONE;
}

static pml_outcome open_connected(struct sqlite_store *store, const char *path, uint64_t size,
                                  struct pml_message *message)
{
    struct connection *connection;
    int code = open_connection(store->address, &connection);
    if (code != SQLITE_OK)
        return say_code(message, path, code, errno);
    pml_outcome outcome = load(store, connection->database, path, size, message);
    if (outcome == PML_DONE) {
        code = prepare(connection);
        if (code != SQLITE_OK)
            outcome = say_code(message, path, code, 0);
    }
    if (outcome == PML_DONE)
        give_back(store, connection);
    else
        close_connection(connection);
    return outcome;
}

pml_outcome pml_sqlite_open(struct pml_store **store, const char *path, const uint8_t *pack,
                            struct pml_message *message)
{
    (void)pack; /* a file holds one store and says of which pack */
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
    pml_outcome outcome =
        made->address ? open_connected(made, path, (uint64_t)found.st_size, message) : pml_say_memory(message);
    if (outcome == PML_DONE)
        *store = &made->base;
    else
        close_store(&made->base);
    return outcome;
}

const struct pml_store_kind pml_store_sqlite = {
    .scheme = "sqlite",
    .form = "sqlite:FILE",
    .open = pml_sqlite_open,
    .close = close_store,
    .read = read_wanted,
    .items = read_items,
    .cell_size = read_cell_size,
    .sizes = read_sizes,
    .ping = ping,
    .begin = pml_sqlite_begin,
    .add = pml_sqlite_add,
    .checkpoint = pml_sqlite_checkpoint,
    .finish = pml_sqlite_finish,
    .abandon = pml_sqlite_abandon,
};
