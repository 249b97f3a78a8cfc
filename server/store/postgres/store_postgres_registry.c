/* SPDX-License-Identifier: Apache-2.0
 * Which galleries a database has, and tables for new ones. A gallery that somebody reads is never dropped, and two
 * writers never build the same one. */
#define _POSIX_C_SOURCE 200809L
#include "common/digest.h"
#include "common/message.h"
#include "server/store/store_content.h"
#include "store_postgres.h"

#include <stdio.h>
#include <string.h>

enum { PARTITIONS = 4, LOCK_SECONDS = 3 };

void pml_postgres_hex(const uint8_t *bytes, size_t size, char *text)
{
    text += sprintf(text, "\\x");
    for (size_t i = 0; i < size; i++)
        text += sprintf(text, "%02x", bytes[i]);
}

/* ---- finding ---- */

static bool take_bytes(const PGresult *result, int row, int column, uint8_t *bytes, int size)
{
    if (PQgetisnull(result, row, column) || PQgetlength(result, row, column) != size)
        return false;
    memcpy(bytes, PQgetvalue(result, row, column), (size_t)size);
    return true;
}

/* The columns of `find`, none of which is believed. */
static bool take_row(const PGresult *result, int at, struct pml_gallery_row *row)
{
    enum { COUNTS = 8, DIGEST = COUNTS, PACK, SOURCE, LISTS };
    static const int64_t most[COUNTS] = {INT32_MAX, INT64_MAX,  PML_SKETCH_MAX, PML_DIMENSIONS_MAX,
                                         2,         UINT32_MAX, PML_SHARE_MAX,  INT64_MAX};
    int64_t counts[COUNTS] = {0}, digest = 0;
    bool sound = true;
    for (int i = 0; i < COUNTS; i++)
        sound = sound && pml_postgres_number(result, at, i, &counts[i]) && counts[i] >= 0 && counts[i] <= most[i];
    sound = sound && pml_postgres_number(result, at, DIGEST, &digest) &&
            take_bytes(result, at, PACK, row->info.pack, PML_ID_SIZE) &&
            take_bytes(result, at, SOURCE, row->source, sizeof row->source);
    row->number = counts[0];
    row->info.items = (uint64_t)counts[1];
    row->info.sketch = (uint32_t)counts[2];
    row->info.dimensions = (uint32_t)counts[3];
    row->info.cells_per_item = (uint32_t)counts[4];
    row->info.iterations = (uint32_t)counts[5];
    row->info.share = (uint32_t)counts[6];
    row->added = (uint64_t)counts[7];
    row->info.digest = (uint64_t)digest;
    const char *lists = pml_store_lists_name(&row->info);
    return sound && row->info.items > 0 && (row->info.cells_per_item == 0 || row->info.share == 0) &&
           PQgetlength(result, at, LISTS) == (int)strlen(lists) &&
           memcmp(PQgetvalue(result, at, LISTS), lists, strlen(lists)) == 0;
}

/* The first number of a query. */
static pml_outcome read_number(PGconn *session, const char *query, int64_t *number, struct pml_message *message)
{
    PGresult *result = pml_postgres_query(session, query, 0, NULL, 0.0);
    const bool found = result && pml_postgres_number(result, 0, 0, number);
    PQclear(result);
    return found ? PML_DONE : pml_postgres_fail(session, message);
}

/* Whether there is a registry; one of another version is refused. */
static pml_outcome look(PGconn *session, int64_t *known, struct pml_message *message)
{
    char query[100];
    int64_t other = 0;
    snprintf(query, sizeof query, "SELECT count(*) FROM privatemail_galleries WHERE version <> %d",
             PML_POSTGRES_VERSION);
    pml_outcome outcome =
        read_number(session, "SELECT (to_regclass('privatemail_galleries') IS NOT NULL)::integer", known, message);
    if (outcome == PML_DONE && *known)
        outcome = read_number(session, query, &other, message);
    if (outcome == PML_DONE && other > 0)
        outcome = pml_say(message,
                          "the database has galleries of another version than %d: use the program that made them, or "
                          "another schema.",
                          PML_POSTGRES_VERSION);
    return outcome;
}

pml_outcome pml_postgres_find(PGconn *session, const char *state, const uint8_t *pack, struct pml_gallery_row *row,
                              int *count, struct pml_message *message)
{
    static const char query[] =
        "SELECT gallery, items, sketch, dimensions, cells_per_item, iterations, share, added, digest, pack, source, "
        "lists"
        " FROM privatemail_galleries WHERE state = $1 AND ($2::bytea IS NULL OR pack = $2::bytea) ORDER BY gallery";
    char id[2 * PML_ID_SIZE + 3];
    const char *const values[] = {state, pack ? id : NULL};
    int64_t known;
    pml_outcome outcome = look(session, &known, message);
    *count = 0;
    if (outcome != PML_DONE || !known)
        return outcome;
    if (pack)
        pml_postgres_hex(pack, PML_ID_SIZE, id);
    PGresult *result = pml_postgres_query(session, query, 2, values, 0.0);
    if (!result)
        return pml_postgres_fail(session, message);
    *count = PQntuples(result);
    if (*count > 0 && !take_row(result, *count - 1, row)) {
        pml_say(message, "the database's list of galleries is damaged: restore it, or index into another schema.");
        outcome = PML_DAMAGED;
    }
    PQclear(result);
    return outcome;
}

/* ---- making and dropping ---- */

pml_outcome pml_postgres_prepare(PGconn *session, const struct pml_store_info *info, struct pml_message *message)
{
    static const char tables[] =
        "SELECT pg_advisory_xact_lock(1347243092, 0);" /* two first writers at once */
        "CREATE TABLE IF NOT EXISTS privatemail_galleries("
        "gallery INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, version INTEGER NOT NULL, state TEXT NOT NULL,"
        "pack BYTEA NOT NULL, source BYTEA NOT NULL, items BIGINT NOT NULL, sketch INTEGER NOT NULL,"
        "dimensions INTEGER NOT NULL, lists TEXT NOT NULL, cells_per_item INTEGER NOT NULL, share INTEGER NOT NULL,"
        "iterations BIGINT NOT NULL, added BIGINT NOT NULL, digest BIGINT NOT NULL);"
        "CREATE UNIQUE INDEX IF NOT EXISTS privatemail_galleries_one ON privatemail_galleries(pack, state)"
        " WHERE state <> 'retired'";
    static const char extensions[] =
        "CREATE EXTENSION IF NOT EXISTS cube SCHEMA public; CREATE EXTENSION IF NOT EXISTS btree_gist SCHEMA public";
    pml_outcome outcome = pml_postgres_execute(session, "BEGIN", 0.0);
    if (outcome == PML_DONE)
        outcome = pml_postgres_execute(session, tables, 0.0);
    if (outcome == PML_DONE && info->dimensions > 0)
        outcome = pml_postgres_execute(session, extensions, 0.0);
    if (outcome == PML_DONE)
        outcome = pml_postgres_execute(session, "COMMIT", 0.0);
    return outcome == PML_DONE ? PML_DONE : pml_postgres_fail(session, message);
}

static pml_outcome create_tables(PGconn *session, const struct pml_gallery_row *row)
{
    char text[1024];
    const long long number = row->number;
    snprintf(text, sizeof text,
             "CREATE TABLE privatemail_items_%lld(item BIGINT PRIMARY KEY, slot INTEGER NOT NULL, %s"
             "digest BIGINT NOT NULL, candidate BYTEA NOT NULL) PARTITION BY HASH (item);"
             "CREATE TABLE privatemail_cells_%lld(slot INTEGER, cell INTEGER, items BIGINT[] NOT NULL,"
             "fragment BYTEA, digest BIGINT NOT NULL, PRIMARY KEY(slot, cell));"
             "ALTER TABLE privatemail_cells_%lld ALTER COLUMN fragment SET STORAGE EXTERNAL;"
             "CREATE TABLE privatemail_listed_%lld(slot INTEGER, cell INTEGER, item BIGINT)",
             number, row->info.dimensions > 0 ? "place cube NOT NULL, " : "", number, number, number);
    pml_outcome outcome = pml_postgres_execute(session, text, 0.0);
    for (int i = 0; i < PARTITIONS && outcome == PML_DONE; i++) {
        snprintf(text, sizeof text,
                 "CREATE TABLE privatemail_items_%lld_%d PARTITION OF privatemail_items_%lld FOR VALUES WITH"
                 " (MODULUS %d, REMAINDER %d);"
                 /* payloads are pictures: nothing to gain by compressing them again */
                 "ALTER TABLE privatemail_items_%lld_%d ALTER COLUMN candidate SET STORAGE EXTERNAL",
                 number, i, number, PARTITIONS, i, number, i);
        outcome = pml_postgres_execute(session, text, 0.0);
    }
    return outcome;
}

pml_outcome pml_postgres_create(PGconn *session, struct pml_gallery_row *row, struct pml_message *message)
{
    const struct pml_store_info *info = &row->info;
    char query[512], pack[2 * PML_ID_SIZE + 3], source[2 * 32 + 3];
    const char *const values[] = {pack, source, pml_store_lists_name(info)};
    pml_postgres_hex(info->pack, PML_ID_SIZE, pack);
    pml_postgres_hex(row->source, sizeof row->source, source);
    snprintf(query, sizeof query,
             "INSERT INTO privatemail_galleries(version, state, pack, source, items, sketch, dimensions, lists,"
             " cells_per_item, share, iterations, added, digest) VALUES(%d, 'building', $1::bytea, $2::bytea, %llu,"
             " %lu, %lu, $3::text, %lu, %lu, %lu, 0, 0) RETURNING gallery",
             PML_POSTGRES_VERSION, (unsigned long long)info->items, (unsigned long)info->sketch,
             (unsigned long)info->dimensions, (unsigned long)info->cells_per_item, (unsigned long)info->share,
             (unsigned long)info->iterations);
    PGresult *result = pml_postgres_execute(session, "BEGIN", 0.0) == PML_DONE
                           ? pml_postgres_query(session, query, 3, values, 0.0)
                           : NULL;
    const bool made = result && pml_postgres_number(result, 0, 0, &row->number) &&
                      create_tables(session, row) == PML_DONE &&
                      pml_postgres_execute(session, "COMMIT", 0.0) == PML_DONE;
    PQclear(result);
    row->added = 0;
    return made ? PML_DONE : pml_postgres_fail(session, message);
}

pml_outcome pml_postgres_drop(PGconn *session, int64_t gallery, struct pml_message *message)
{
    char text[400];
    const long long number = gallery;
    snprintf(text, sizeof text,
             "DROP TABLE IF EXISTS privatemail_items_%lld, privatemail_cells_%lld, privatemail_listed_%lld;"
             "DELETE FROM privatemail_galleries WHERE gallery = %lld",
             number, number, number, number);
    return pml_postgres_execute(session, text, 0.0) == PML_DONE ? PML_DONE : pml_postgres_fail(session, message);
}

void pml_postgres_sweep(PGconn *session, const uint8_t pack[PML_ID_SIZE])
{
    static const char query[] = "SELECT gallery FROM privatemail_galleries WHERE state = 'retired' AND pack = $1::bytea"
                                " AND pg_try_advisory_lock(1347243091, gallery)"; /* PML_POSTGRES_READERS */
    char id[2 * PML_ID_SIZE + 3];
    const char *const values[] = {id};
    pml_postgres_hex(pack, PML_ID_SIZE, id);
    PGresult *result = pml_postgres_query(session, query, 1, values, 0.0);
    for (int i = 0; result && i < PQntuples(result); i++) {
        int64_t gallery;
        if (pml_postgres_number(result, i, 0, &gallery))
            (void)pml_postgres_drop(session, gallery, NULL);
    }
    PQclear(result);
}

/* ---- one writer ---- */

static pml_outcome say_busy(PGconn *session, const char *key, struct pml_message *message)
{
    static const char query[] = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND"
                                " classid = 1347243092 AND objid = ($1::bigint & 4294967295)::oid";
    int64_t process = 0;
    PGresult *result = pml_postgres_query(session, query, 1, &key, 0.0);
    if (result && PQntuples(result) > 0)
        (void)pml_postgres_number(result, 0, 0, &process);
    PQclear(result);
    return pml_say(message,
                   "another privatemail index (PostgreSQL's process %lld) is writing it: leave it alone until that has "
                   "ended.",
                   (long long)process);
}

pml_outcome pml_postgres_lock(PGconn *session, const uint8_t pack[PML_ID_SIZE], struct pml_message *message)
{
    const uint32_t bits =
        (uint32_t)pack[0] << 24 | (uint32_t)pack[1] << 16 | (uint32_t)pack[2] << 8 | (uint32_t)pack[3];
    char key[16], settings[200];
    const char *const values[] = {key};
    snprintf(key, sizeof key, "%ld", (long)(int32_t)bits);
    /* A writer that was killed holds its lock until PostgreSQL notices: that is waited for. */
    snprintf(settings, sizeof settings,
             "SET lock_timeout = '%ds'; SET client_connection_check_interval = '1s'; SET statement_timeout = 0",
             LOCK_SECONDS);
    if (pml_postgres_execute(session, settings, 0.0) != PML_DONE)
        return pml_postgres_fail(session, message);
    PGresult *result = pml_postgres_query(session, "SELECT pg_advisory_lock(1347243092, $1::integer)", 1, values, 0.0);
    PQclear(result);
    if (!result)
        return pml_postgres_alive(session) ? say_busy(session, key, message) : pml_postgres_fail(session, message);
    return pml_postgres_execute(session, "SET lock_timeout = 0", 0.0) == PML_DONE ? PML_DONE
                                                                                  : pml_postgres_fail(session, message);
}
