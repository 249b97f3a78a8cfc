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

/* `place`: what follows "postgres:". NULL with a message. */
PGconn *pml_postgres_connect(const char *place, struct pml_message *message);
void pml_postgres_show(const char *place, char shown[PML_STORE_SHOWN_MAX]);

/* A statement's result, with rows in binary; `values` as text, NULL is SQL's. `seconds` 0: for ever. NULL when it
 * failed: pml_postgres_alive tells whether the connection is of further use. */
PGresult *pml_postgres_query(PGconn *session, const char *text, int count, const char *const *values, double seconds);
PGresult *pml_postgres_run(PGconn *session, const char *prepared, int count, const char *const *values, double seconds);
bool pml_postgres_execute(PGconn *session, const char *text, double seconds); /* any number of statements, no rows */
bool pml_postgres_copy(PGconn *session, const char *text);                    /* begins a COPY */
bool pml_postgres_put(PGconn *session, const struct pml_bytes *bytes);
bool pml_postgres_copied(PGconn *session); /* ends it; whether all of it was taken */
bool pml_postgres_alive(const PGconn *session);

/* What the last failure means to a person. Answers as functions with a message do. */
int pml_postgres_fail(const PGconn *session, struct pml_message *message);

/* An integer of four or eight bytes; false for NULL and others. */
bool pml_postgres_number(const PGresult *result, int row, int column, int64_t *number);

/* An array of integers of eight bytes, none of them NULL: how many, and in *first the first of them, to be read by
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

/* Galleries of a state ("done", "building", "retired"), of one pack or (NULL) of all: how many, the last in *row; −1 with
 * a message. */
int pml_postgres_find(PGconn *session, const char *state, const uint8_t *pack, struct pml_gallery_row *row,
                      struct pml_message *message);

/* The tables of all galleries, where they are missing. 0, or not with a message. */
int pml_postgres_prepare(PGconn *session, const struct pml_store_info *info, struct pml_message *message);

/* A new gallery of state building and its tables; row->info and row->source are given. */
int pml_postgres_create(PGconn *session, struct pml_gallery_row *row, struct pml_message *message);
int pml_postgres_drop(PGconn *session, int64_t gallery, struct pml_message *message);

/* Drops the retired galleries of a pack that nobody reads; those that somebody reads are left for the next time. */
void pml_postgres_sweep(PGconn *session, const uint8_t pack[PML_ID_SIZE]);

/* One writer a pack, until the connection ends. */
int pml_postgres_lock(PGconn *session, const uint8_t pack[PML_ID_SIZE], struct pml_message *message);

/* "\x…" of bytes, as a value. */
void pml_postgres_hex(const uint8_t *bytes, size_t size, char *text);

/* ---- store_postgres_places.c: points of the extension cube ---- */

#define PML_POSTGRES_POINT_MAX (4 + 8 * PML_DIMENSIONS_MAX)

/* A point in binary, and back; the text of a query's. −1 for what is no such point of binary32 numbers. */
size_t pml_postgres_point(const float *place, uint32_t dimensions, uint8_t bytes[PML_POSTGRES_POINT_MAX]);
int pml_postgres_place(const PGresult *result, int row, int column, uint32_t dimensions, float *place);
#define PML_POSTGRES_TEXT_MAX (32 * PML_DIMENSIONS_MAX)
void pml_postgres_point_text(const double *place, uint32_t dimensions, char text[PML_POSTGRES_TEXT_MAX]);

/* ---- store_postgres_finish.c ---- */

/* In the writer's transaction: checks that nothing is missing, makes cells and index. */
int pml_postgres_complete(PGconn *session, struct pml_gallery_row *row, struct pml_message *message);

/* ---- store_postgres_write.c ---- */

int pml_postgres_begin(struct pml_store_writer **writer, const char *place, const struct pml_store_info *info,
                       const uint8_t source[32], bool force, uint64_t *done, struct pml_message *message);
int pml_postgres_add(struct pml_store_writer *writer, const struct pml_store_item *item, struct pml_message *message);
int pml_postgres_checkpoint(struct pml_store_writer *writer, struct pml_message *message);
int pml_postgres_finish(struct pml_store_writer *writer, struct pml_message *message);
void pml_postgres_abandon(struct pml_store_writer *writer);

#endif
