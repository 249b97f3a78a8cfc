/* SPDX-License-Identifier: Apache-2.0
 * What reader and writer of a PostgreSQL store (SPEC 9) share. */
#ifndef PML_STORE_POSTGRES_H
#define PML_STORE_POSTGRES_H

#include "server/store/store_kind.h"

#include <libpq-fe.h>

#define PML_POSTGRES_VERSION 1
#define PML_POSTGRES_READERS 0x504D4C53 /* classes of advisory locks */
#define PML_POSTGRES_WRITERS 0x504D4C54

/* ---- store_postgres_session.c: one connection; nothing waits longer than it was told ---- */

/* `target` is what follows "postgres:". Returns PML_DONE and a session, or another outcome with a message. */
pml_outcome pml_postgres_connect(const char *target, PGconn **session, struct pml_message *message);
void pml_postgres_show(const char *target, char shown[PML_STORE_SHOWN_MAX]);

/* A statement's result, with rows in binary; `values` are text, NULL is SQL's. `seconds` 0 means no limit. Returns NULL
 * when it failed: pml_postgres_alive says whether the connection is of further use. */
PGresult *pml_postgres_query(PGconn *session, const char *text, int count, const char *const *values, double seconds);
PGresult *pml_postgres_run(PGconn *session, const char *prepared, int count, const char *const *values, double seconds);

/* All of these return PML_DONE or PML_UNAVAILABLE. */
pml_outcome pml_postgres_execute(PGconn *session, const char *text, double seconds); /* any statements, no rows */
pml_outcome pml_postgres_copy(PGconn *session, const char *text);                    /* begins a COPY */
pml_outcome pml_postgres_put(PGconn *session, const struct pml_bytes *bytes);
pml_outcome pml_postgres_copied(PGconn *session); /* ends it */
bool pml_postgres_alive(const PGconn *session);

/* Says what the last failure means to a person, and returns its outcome. */
pml_outcome pml_postgres_fail(const PGconn *session, struct pml_message *message);

/* An integer of four or eight bytes; false for NULL and others. */
bool pml_postgres_number(const PGresult *result, int row, int column, int64_t *number);

/* An array of integers of eight bytes, none of them NULL: returns how many, and in *first the first of them, to be read by
 * pml_postgres_element; −1 for others. */
int64_t pml_postgres_array(const PGresult *result, int row, int column, const uint8_t **first);
int64_t pml_postgres_element(const uint8_t *first, int64_t index);

/* ---- store_postgres_registry.c: which galleries there are ---- */

struct pml_gallery_row {
    int64_t number;
    struct pml_store_info info;
    uint8_t source[32];
    uint64_t added;
};

/* All of these return PML_DONE, or another outcome with a message. */

/* Finds the galleries of a state ("done", "building", "retired"), of one pack or (NULL) of all: how many, and the last
 * one in *row. */
pml_outcome pml_postgres_find(PGconn *session, const char *state, const uint8_t *pack, struct pml_gallery_row *row,
                              int *count, struct pml_message *message);

/* Makes the tables of all galleries, where they are missing. */
pml_outcome pml_postgres_prepare(PGconn *session, const struct pml_store_info *info, struct pml_message *message);

/* Makes a new gallery of state building and its tables; row->info and row->source are given. */
pml_outcome pml_postgres_create(PGconn *session, struct pml_gallery_row *row, struct pml_message *message);
pml_outcome pml_postgres_drop(PGconn *session, int64_t gallery, struct pml_message *message);

/* Locks the pack's galleries for this writer, until the connection ends. */
pml_outcome pml_postgres_lock(PGconn *session, const uint8_t pack[PML_ID_SIZE], struct pml_message *message);

/* Drops the retired galleries of a pack that nobody reads; the others are left for the next time. */
void pml_postgres_sweep(PGconn *session, const uint8_t pack[PML_ID_SIZE]);

/* "\x…" of bytes, as a value. */
void pml_postgres_hex(const uint8_t *bytes, size_t size, char *text);

/* ---- store_postgres_places.c: points of the extension cube ---- */

#define PML_POSTGRES_POINT_MAX (4 + 8 * PML_DIMENSIONS_MAX)

/* A point in binary, and back; the text of a point of a query. Reading returns false for what is no point of so many
 * binary32 numbers. */
size_t pml_postgres_point(const float *place, uint32_t dimensions, uint8_t bytes[PML_POSTGRES_POINT_MAX]);
bool pml_postgres_place(const PGresult *result, int row, int column, uint32_t dimensions, float *place);
#define PML_POSTGRES_TEXT_MAX (32 * PML_DIMENSIONS_MAX)
void pml_postgres_point_text(const double *place, uint32_t dimensions, char text[PML_POSTGRES_TEXT_MAX]);

/* ---- store_postgres_finish.c ---- */

/* In the writer's transaction: checks that nothing is missing, makes cells and index. Returns PML_DONE, or another outcome
 * with a message. */
pml_outcome pml_postgres_complete(PGconn *session, struct pml_gallery_row *row, struct pml_message *message);

/* ---- store_postgres_write.c ---- */

pml_outcome pml_postgres_begin(struct pml_store_writer **writer, const char *target, const struct pml_store_info *info,
                               const uint8_t source[32], bool force, uint64_t *done, struct pml_message *message);
pml_outcome pml_postgres_add(struct pml_store_writer *writer, const struct pml_store_item *item,
                             struct pml_message *message);
pml_outcome pml_postgres_checkpoint(struct pml_store_writer *writer, struct pml_message *message);
pml_outcome pml_postgres_finish(struct pml_store_writer *writer, struct pml_message *message);
void pml_postgres_abandon(struct pml_store_writer *writer);

#endif
