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

/* PML_SQLITE_OK; _DAMAGED: not as SPEC 8 says; _FAILED: SQLite failed, sqlite3_errcode tells how; _FULL_CELL: an answer
 * cannot carry a cell as large as that. */
enum { PML_SQLITE_OK, PML_SQLITE_DAMAGED, PML_SQLITE_FAILED, PML_SQLITE_FULL_CELL, PML_SQLITE_NO_MEMORY };

int pml_sqlite_read_meta(sqlite3 *database, struct pml_sqlite_meta *meta);

/* Reads all items (but not their candidates) and all cells, checks them against `info` and makes the digest of SPEC 8.
 * `places`: allocated and filled, or NULL. */
int pml_sqlite_scan(sqlite3 *database, const struct pml_store_info *info, struct pml_places *places, uint64_t *digest);

/* The statements that make the three tables of SPEC 8. */
extern const char pml_sqlite_create[];

/* PML_SQLITE_OK when the tables are exactly these, and there is nothing else: no view, trigger, index or column that
 * would compute what a reader takes for stored. */
int pml_sqlite_check_schema(sqlite3 *database);

/* To be called before anything is read from a file that may be anybody's: nothing that its schema says is run. A code
 * of SQLite's. */
int pml_sqlite_distrust(sqlite3 *database);

/* A statement's only number, such as a PRAGMA's. A status as above. */
int pml_sqlite_number(sqlite3 *database, const char *text, int64_t *number);

/* ---- store_sqlite.c: reading ---- */

int pml_sqlite_open(struct pml_store **store, const char *path, const uint8_t *pack, struct pml_message *message);

/* ---- store_sqlite_write.c ---- */

int pml_sqlite_begin(struct pml_store_writer **writer, const char *path, const struct pml_store_info *info,
                     const uint8_t source[32], bool force, uint64_t *done, struct pml_message *message);
int pml_sqlite_add(struct pml_store_writer *writer, const struct pml_store_item *item, struct pml_message *message);
int pml_sqlite_checkpoint(struct pml_store_writer *writer, struct pml_message *message);
int pml_sqlite_finish(struct pml_store_writer *writer, struct pml_message *message);
void pml_sqlite_abandon(struct pml_store_writer *writer);

#endif
