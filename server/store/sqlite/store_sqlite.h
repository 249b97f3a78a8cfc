/* SPDX-License-Identifier: Apache-2.0
 * What reader and writer of a SQLite store (SPEC 8) share. */
#ifndef PML_STORE_SQLITE_H
#define PML_STORE_SQLITE_H

#include "server/store/places.h"
#include "server/store/store_kind.h"

#include <sqlite3.h>

#define PML_SQLITE_APPLICATION 0x504D4C53 /* "PMLS" */
#define PML_SQLITE_VERSION 2
#define PML_SQLITE_SHOWN 200 /* characters of a path in a message */

/* ---- store_sqlite_scan.c: what a store says of itself, and its digest ---- */

/* What a store's table meta holds. */
struct pml_sqlite_meta {
    struct pml_store_info info;
    uint8_t source[32];
    bool done;
};

/* All of these return PML_DONE, PML_NO_MEMORY, PML_UNAVAILABLE when SQLite failed (sqlite3_errcode says how), or
 * PML_DAMAGED when something is not as SPEC 8 says. */
pml_outcome pml_sqlite_read_meta(sqlite3 *database, struct pml_sqlite_meta *meta);

/* Reads all items (but not their candidates) and all cells, checks them against `info` and computes the digest of SPEC 8.
 * Allocates and fills `places`, unless it is NULL. Returns PML_REFUSED when a cell has more items than an answer can
 * carry. */
pml_outcome pml_sqlite_scan(sqlite3 *database, const struct pml_store_info *info, struct pml_places *places,
                            uint64_t *digest);

/* pml_store_sizes of this store. */
pml_outcome pml_sqlite_sizes(sqlite3 *database, enum pml_sized sized, pml_size_fn take, void *context);

/* pml_store_items of a database; and the candidate of a row whose columns are a digest and a candidate. */
pml_outcome pml_sqlite_items(sqlite3 *database, pml_take_fn take, void *context);
pml_outcome pml_sqlite_take_candidate(sqlite3_stmt *row, struct pml_fragment *fragment);

/* The statements that make the three tables of SPEC 8. */
extern const char pml_sqlite_create[];

/* PML_DONE when the tables are exactly these, and there is nothing else: no view, trigger, index or column that
 * would compute what a reader takes for stored. */
pml_outcome pml_sqlite_check_schema(sqlite3 *database);

/* To be called before anything is read from a file that may be anybody's: nothing in its schema is run. Returns a code of
 * SQLite. */
int pml_sqlite_distrust(sqlite3 *database);

/* A statement's only number, such as a PRAGMA's. */
pml_outcome pml_sqlite_number(sqlite3 *database, const char *text, int64_t *number);

/* ---- store_sqlite.c: reading ---- */

pml_outcome pml_sqlite_open(struct pml_store **store, const char *path, const uint8_t *pack,
                            struct pml_message *message);

/* ---- store_sqlite_write.c ---- */

pml_outcome pml_sqlite_begin(struct pml_store_writer **writer, const char *path, const struct pml_store_info *info,
                             const uint8_t source[32], bool force, uint64_t *done, struct pml_message *message);
pml_outcome pml_sqlite_add(struct pml_store_writer *writer, const struct pml_store_item *item,
                           struct pml_message *message);
pml_outcome pml_sqlite_checkpoint(struct pml_store_writer *writer, struct pml_message *message);
pml_outcome pml_sqlite_finish(struct pml_store_writer *writer, struct pml_message *message);
void pml_sqlite_abandon(struct pml_store_writer *writer);

#endif
