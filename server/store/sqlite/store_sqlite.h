/* SPDX-License-Identifier: Apache-2.0
 * Connections to a file of a SQLite store (SPEC 9), which may be anybody's: it is checked before anything in it is used. */
#ifndef PML_STORE_SQLITE_H
#define PML_STORE_SQLITE_H

#include "server/store/store_kind.h"

#include <sqlite3.h>

/* Statements are made when they are first needed. */
enum pml_lite_statement {
    PML_LITE_GET,                              /* and one for each shelf */
    PML_LITE_PUT = PML_LITE_GET + PML_SHELVES, /* likewise */
    PML_LITE_REMOVE = PML_LITE_PUT + PML_SHELVES,
    PML_LITE_NAMES = PML_LITE_REMOVE + PML_SHELVES,
    PML_LITE_POINTER = PML_LITE_NAMES + PML_SHELVES,
    PML_LITE_POINTERS,
    PML_LITE_SWITCH,
    PML_LITE_STATEMENTS
};

/* Which file this is. SQLite must be told of a file on a read-only medium that nobody changes; should somebody do so
 * elsewhere, its size or its time tells. */
struct pml_lite_stamp {
    uint64_t device, number;
    bool immutable;
    uint64_t size;
    int64_t changed_seconds;
    uint32_t changed_nanoseconds;
};

/* One thread has it at a time. */
struct pml_lite {
    struct pml_lite *next;
    struct pml_lite_stamp stamp; /* of a reader's file */
    sqlite3 *database;
    sqlite3_stmt *statements[PML_LITE_STATEMENTS];
};

/* Returns PML_DONE, or another outcome with a message; PML_ABSENT when the file has no tables at all, and then the
 * connection is there nevertheless for a writer. */
pml_outcome pml_lite_connect(struct pml_lite **connection, const char *path, bool immutable, enum pml_store_use use,
                             struct pml_message *message);
void pml_lite_disconnect(struct pml_lite *connection); /* NULL does nothing */

/* Makes the tables, all or none. It and the next one return whether all went well. */
bool pml_lite_create(struct pml_lite *connection);
bool pml_lite_execute(struct pml_lite *connection, const char *text);

/* NULL when SQLite failed: the next one says how. */
sqlite3_stmt *pml_lite_statement(struct pml_lite *connection, int which);
pml_outcome pml_lite_failure(const struct pml_lite *connection);

#endif
