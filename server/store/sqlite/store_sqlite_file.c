/* SPDX-License-Identifier: Apache-2.0
 * In: a file that may be anybody's. Out: a connection to it. Nothing in its schema is run, and a file with anything but
 * our tables is refused before anything in it is used. */
#define _POSIX_C_SOURCE 200809L
#include "store_sqlite.h"

#include "common/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APPLICATION 0x504D4C53 /* "PMLS" */
#define VERSION 3
#define VERSION_0_1 2
#define BUSY_MILLISECONDS 3000
#define SHOWN PML_STORE_PATH_SHOWN

#define BLOBS(table) "CREATE TABLE " table "(name BLOB PRIMARY KEY, bytes BLOB)"
#define POINTERS "CREATE TABLE pointers(pack BLOB PRIMARY KEY, version BLOB, record BLOB, building BLOB)"

/* What is there is compared, and written only where it differs: then it is damaged. */
#define PUT(table)                                                                                                     \
    "INSERT INTO " table " VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET bytes = excluded.bytes WHERE bytes IS NOT "  \
    "excluded.bytes"

static const char *const queries[PML_LITE_STATEMENTS] = {
    [(int)PML_LITE_GET + PML_PARTS] = "SELECT bytes FROM parts WHERE name = ?1",
    [(int)PML_LITE_GET + PML_PRIVATE] = "SELECT bytes FROM private WHERE name = ?1",
    [(int)PML_LITE_PUT + PML_PARTS] = PUT("parts"),
    [(int)PML_LITE_PUT + PML_PRIVATE] = PUT("private"),
    [(int)PML_LITE_REMOVE + PML_PARTS] = "DELETE FROM parts WHERE name = ?1",
    [(int)PML_LITE_REMOVE + PML_PRIVATE] = "DELETE FROM private WHERE name = ?1",
    [(int)PML_LITE_NAMES + PML_PARTS] = "SELECT name FROM parts ORDER BY name",
    [(int)PML_LITE_NAMES + PML_PRIVATE] = "SELECT name FROM private ORDER BY name",
    [PML_LITE_POINTER] = "SELECT pack, version, record, building FROM pointers WHERE pack = ?1",
    [PML_LITE_POINTERS] = "SELECT pack, version, record, building FROM pointers ORDER BY pack",
    [PML_LITE_SWITCH] = "INSERT OR REPLACE INTO pointers VALUES(?1, ?2, ?3, ?4)",
};

sqlite3_stmt *pml_lite_statement(struct pml_lite *connection, int which)
{
    if (!connection->statements[which])
        (void)sqlite3_prepare_v3(connection->database, queries[which], -1, SQLITE_PREPARE_PERSISTENT,
                                 &connection->statements[which], NULL);
    return connection->statements[which];
}

pml_outcome pml_lite_failure(const struct pml_lite *connection)
{
    const int code = sqlite3_errcode(connection->database);
    const bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_TOOBIG;
    return code == SQLITE_NOMEM ? PML_NO_MEMORY : damaged ? PML_DAMAGED : PML_UNAVAILABLE;
}

bool pml_lite_execute(struct pml_lite *connection, const char *text)
{
    return sqlite3_exec(connection->database, text, NULL, NULL, NULL) == SQLITE_OK;
}

bool pml_lite_create(struct pml_lite *connection)
{
    char text[400];
    snprintf(text, sizeof text,
             "BEGIN IMMEDIATE; PRAGMA application_id = %d; PRAGMA user_version = %d; %s; %s; %s; COMMIT", APPLICATION,
             VERSION, BLOBS("parts"), BLOBS("private"), POINTERS);
    return pml_lite_execute(connection, text);
}

/* ---- whose it is ---- */

static bool read_number(sqlite3 *database, const char *text, int64_t *number)
{
    sqlite3_stmt *statement = NULL;
    const bool read =
        sqlite3_prepare_v2(database, text, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW;
    if (read)
        *number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return read;
}

static pml_outcome say_other(const char *path, struct pml_message *message)
{
    return pml_say(message, "%.*s: is not a store. Check the name, or make one with privatemail index.", SHOWN, path);
}

static pml_outcome say_code(sqlite3 *database, const char *path, struct pml_message *message)
{
    const int code = sqlite3_errcode(database), reason = pml_system_error(sqlite3_system_errno(database));
    if (code == SQLITE_NOMEM)
        return pml_say_memory(message);
    if (code == SQLITE_NOTADB)
        return say_other(path, message);
    if (code == SQLITE_CORRUPT || code == SQLITE_IOERR) {
        pml_say(message,
                "%.*s: the store is damaged. Put a copy in its place, or make it again with privatemail index.", SHOWN,
                path);
        return PML_DAMAGED;
    }
    pml_say(message,
            "%.*s: cannot be opened (%s). Check its permissions, and with a %.40s-wal beside it those of its folder.",
            SHOWN, path, reason != 0 ? strerror(reason) : sqlite3_errstr(code), pml_system_last_name(path));
    return code == SQLITE_BUSY ? PML_UNAVAILABLE : PML_REFUSED;
}

static pml_outcome say_version(const char *path, int64_t version, struct pml_message *message)
{
    if (version == VERSION_0_1)
        return pml_say(message,
                       "%.*s: is a store of PrivateMail 0.1, which is not read any more. Make a new one: privatemail "
                       "index --pack P --features F.npy --store sqlite:NEWFILE.",
                       SHOWN, path);
    return pml_say(message,
                   "%.*s: is a store of version %lld, and this program reads version %d. Use a newer privatemail, or "
                   "name another file.",
                   SHOWN, path, (long long)version, VERSION);
}

/* Of what the schema has, count what we make: each table, and the index that SQLite makes for it. */
#define TABLE(name, text)                                                                                              \
    "('table', '" name "', '" name "', '" text "'), ('index', 'sqlite_autoindex_" name "_1', '" name "', '')"
#define OURS                                                                                                           \
    "SELECT count(DISTINCT name) FROM sqlite_schema WHERE (type, name, tbl_name, ifnull(sql, '')) IN (VALUES " TABLE(  \
        "parts", BLOBS("parts")) ", " TABLE("private", BLOBS("private")) ", " TABLE("pointers", POINTERS) ")"

/* There is no view, trigger, index or column beside ours that would compute what a reader takes for stored. */
static pml_outcome check_file(sqlite3 *database, const char *path, struct pml_message *message)
{
    enum { OBJECTS = 6 };
    int64_t application = 0, version = 0, objects = 0, ours = 0;
    if (!read_number(database, "PRAGMA application_id", &application) ||
        !read_number(database, "PRAGMA user_version", &version) ||
        !read_number(database, "SELECT count(*) FROM sqlite_schema", &objects) || !read_number(database, OURS, &ours))
        return say_code(database, path, message);
    if (application == 0 && version == 0 && objects == 0) {
        pml_say(message, "%.*s: is empty. Make the store with privatemail index.", SHOWN, path);
        return PML_ABSENT;
    }
    if (application != APPLICATION)
        return say_other(path, message);
    if (version != VERSION)
        return say_version(path, version, message);
    if (objects == OBJECTS && ours == OBJECTS)
        return PML_DONE;
    return pml_say(
        message,
        "%.*s: is not a PrivateMail store (unexpected tables). Put a copy in its place, or make it anew with "
        "privatemail index.",
        SHOWN, path);
}

/* ---- connecting ---- */

/* SQLite's URI of a path: nothing in it has a special meaning, and relative ones cannot be ":memory:". One with a letter of a
 * disk has three slashes before it. Returns NULL when out of memory. */
static char *make_address(const char *path, bool immutable)
{
    static const char before[] = "file:", after[] = "?immutable=1";
    char *address = malloc(sizeof before + 3 + 3 * strlen(path) + sizeof after);
    const bool absolute = pml_system_is_absolute(path), rooted = pml_system_is_separator(path[0]);
    if (!address)
        return NULL;
    char *at = address + sprintf(address, "%s%s", before, rooted ? "//" : absolute ? "///" : "./");
    for (; *path != 0; path++)
        at += strchr("%?#", *path) ? sprintf(at, "%%%02X", (unsigned)*path)
                                   : sprintf(at, "%c", pml_system_is_separator(*path) ? '/' : *path);
    strcpy(at, immutable ? after : "");
    return address;
}

/* Nothing in the file's schema is run, nothing in its pages is taken for granted. */
static bool distrust(sqlite3 *database)
{
    static const int refused[] = {SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                                  SQLITE_DBCONFIG_TRUSTED_SCHEMA};
    bool set = true;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        set = set && sqlite3_db_config(database, refused[i], 0, NULL) == SQLITE_OK;
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, (int)PML_BLOB_MAX + 4096);
    return set && sqlite3_exec(database, "PRAGMA cell_size_check = ON; PRAGMA cache_size = -32768", NULL, NULL, NULL) ==
                      SQLITE_OK;
}

void pml_lite_disconnect(struct pml_lite *connection)
{
    if (!connection)
        return;
    for (size_t i = 0; i < PML_LITE_STATEMENTS; i++)
        sqlite3_finalize(connection->statements[i]);
    sqlite3_close(connection->database);
    free(connection);
}

pml_outcome pml_lite_connect(struct pml_lite **out, const char *path, bool immutable, enum pml_store_use use,
                             struct pml_message *message)
{
    const int flags = use == PML_STORE_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    struct pml_lite *made = calloc(1, sizeof *made);
    char *address = make_address(path, immutable);
    int code = SQLITE_NOMEM;
    *out = NULL;
    if (made && address)
        code = sqlite3_open_v2(address, &made->database, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    free(address);
    if (!made || !made->database) {
        free(made);
        return pml_say_memory(message);
    }
    const bool opened = code == SQLITE_OK && sqlite3_busy_timeout(made->database, BUSY_MILLISECONDS) == SQLITE_OK &&
                        distrust(made->database);
    const pml_outcome outcome =
        opened ? check_file(made->database, path, message) : say_code(made->database, path, message);
    if (outcome == PML_DONE || (outcome == PML_ABSENT && use == PML_STORE_WRITE))
        *out = made;
    else
        pml_lite_disconnect(made);
    return outcome;
}
