/* SPDX-License-Identifier: Apache-2.0
 * Reading a PostgreSQL store (SPEC 9). In: rows of a database that others may write; cells and points. Out: candidates.
 * All that an answer needs is one round trip. Never hands out a candidate or a cell with another digest than its own, and
 * never waits for a database that is gone. */
#define _POSIX_C_SOURCE 200809L
#include "common/digest.h"
#include "common/message.h"
#include "server/store/store_content.h"
#include "store_postgres_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS 5.0 /* for one statement: PostgreSQL gives up before we do */

/* ---- connections ---- */

/* The plans are forced: statistics of a gallery that is being replaced must not make them slow. */
static const char settings[] = "SET statement_timeout = '4s'; SET jit = off; SET enable_seqscan = off;"
                               "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_sort = off;"
                               "SET plan_cache_mode = force_generic_plan";

/* %lld is the gallery's number. LEFT JOIN: a cell that names an item which is not there must be noticed. */
static const struct {
    const char *name, *format;
    bool of_places;
} statements[] = {
    {"cells(integer[], integer[])",
     "SELECT wanted.number, cells.slot, cells.items, cells.fragment, cells.digest"
     " FROM unnest($1, $2) WITH ORDINALITY wanted(slot, cell, number)"
     " LEFT JOIN privatemail_cells_%lld cells ON cells.slot = wanted.slot AND cells.cell = wanted.cell"
     " ORDER BY wanted.number",
     false},
    {"listed(integer, integer)",
     "SELECT listed.item, items.digest, items.candidate FROM privatemail_cells_%lld cells"
     " CROSS JOIN LATERAL unnest(cells.items) WITH ORDINALITY listed(item, place)"
     " LEFT JOIN privatemail_items_%lld items ON items.item = listed.item"
     " WHERE cells.slot = $1 AND cells.cell = $2 ORDER BY listed.place",
     false},
    {"cell_size(integer, integer)",
     "SELECT coalesce((SELECT cardinality(items) FROM privatemail_cells_%lld WHERE slot = $1 AND cell = $2), 0)",
     false},
    {"nearest(integer[], cube[], bigint)",
     "SELECT wanted.number, found.item, found.digest, found.candidate, found.place"
     " FROM unnest($1, $2) WITH ORDINALITY wanted(slot, place, number) CROSS JOIN LATERAL"
     " (SELECT item, digest, candidate, place FROM privatemail_items_%lld WHERE slot = wanted.slot"
     " ORDER BY place <-> wanted.place LIMIT $3) found",
     true},
};

static pml_outcome prepare_statements(PGconn *session, const struct pml_postgres_store *store)
{
    const long long number = store->gallery;
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < sizeof statements / sizeof statements[0] && outcome == PML_DONE; i++) {
        char text[500], statement[600];
        if (statements[i].of_places && store->base.info.dimensions == 0)
            continue;
        snprintf(text, sizeof text, statements[i].format, number, number);
        snprintf(statement, sizeof statement, "PREPARE %s AS %s", statements[i].name, text);
        outcome = pml_postgres_execute(session, statement, SECONDS);
    }
    return outcome;
}

/* A connection holds a lock as long as it lives: nobody drops the gallery under it. */
static pml_outcome prepare(void *context, PGconn *session)
{
    const struct pml_postgres_store *store = context;
    char text[256];
    int64_t same = 0;
    const long long number = store->gallery;
    snprintf(text, sizeof text,
             "SELECT (digest = %lld AND state <> 'building')::integer FROM privatemail_galleries,"
             " (SELECT pg_advisory_lock_shared(%d, %lld)) AS locked WHERE gallery = %lld",
             (long long)(int64_t)store->base.info.digest, PML_POSTGRES_READERS, number, number);
    pml_outcome outcome = pml_postgres_execute(session, settings, SECONDS);
    if (outcome != PML_DONE)
        return outcome;
    PGresult *result = pml_postgres_query(session, text, 0, NULL, SECONDS);
    const bool there = result && PQntuples(result) == 1 && pml_postgres_number(result, 0, 0, &same) && same == 1;
    PQclear(result);
    return there ? prepare_statements(session, store) : PML_ABSENT;
}

/* Runs a statement on a connection of the pool; NULL when that cannot be. */
static PGresult *ask(struct pml_postgres_store *store, const char *statement, int count, const char *const *values)
{
    PGconn *session = pml_postgres_take(store->pool);
    if (!session)
        return NULL;
    PGresult *result = pml_postgres_run(session, statement, count, values, SECONDS);
    pml_postgres_give(store->pool, session);
    return result;
}

/* ---- arrays: "{1,2}" and "{"(1,2)","(3,4)"}" ---- */

pml_outcome pml_postgres_add_text(struct pml_bytes *array, const char *text)
{
    pml_outcome outcome = pml_bytes_append(array, array->size == 0 ? "{" : ",", 1);
    return outcome == PML_DONE ? pml_bytes_append(array, text, strlen(text)) : outcome;
}

pml_outcome pml_postgres_add_number(struct pml_bytes *array, uint32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "%ld", (long)(number & INT32_MAX));
    return pml_postgres_add_text(array, text);
}

void pml_postgres_free_arrays(struct pml_postgres_arrays *arrays)
{
    pml_bytes_free(&arrays->first);
    pml_bytes_free(&arrays->second);
}

pml_outcome pml_postgres_ask(struct pml_postgres_store *store, const char *statement,
                             struct pml_postgres_arrays *arrays, const char *third, PGresult **result)
{
    pml_outcome outcome = pml_bytes_append(&arrays->first, "}", 2);
    if (outcome == PML_DONE)
        outcome = pml_bytes_append(&arrays->second, "}", 2);
    if (outcome == PML_DONE) {
        const char *const values[] = {(const char *)arrays->first.bytes, (const char *)arrays->second.bytes, third};
        *result = ask(store, statement, third ? 3 : 2, values);
        outcome = *result ? PML_DONE : PML_UNAVAILABLE;
    }
    pml_postgres_free_arrays(arrays);
    return outcome;
}

/* ---- cells ---- */

/* A candidate in the columns `first` (item), digest and candidate. A false one may have its digest too. */
pml_outcome pml_postgres_take_candidate(const struct pml_store *store, const PGresult *result, int row, int first,
                                        struct pml_fragment *fragment)
{
    int64_t item, digest;
    size_t end = 0;
    const uint8_t *bytes = (const uint8_t *)PQgetvalue(result, row, first + 2);
    const size_t size = (size_t)PQgetlength(result, row, first + 2);
    if (!pml_postgres_number(result, row, first, &item) || !pml_postgres_number(result, row, first + 1, &digest) ||
        PQgetisnull(result, row, first + 2) ||
        !pml_store_is_candidate(&store->info, (uint64_t)item, bytes, size, &end) || end != size)
        return PML_DAMAGED;
    return pml_store_take_candidate((uint64_t)digest, bytes, size, fragment);
}

static void cell_values(struct pml_cell cell, char texts[2][16], const char *values[2])
{
    snprintf(texts[0], 16, "%ld", (long)(cell.slot & INT32_MAX));
    snprintf(texts[1], 16, "%ld", (long)(cell.cell & INT32_MAX));
    values[0] = texts[0];
    values[1] = texts[1];
}

/* A cell whose candidates are too large for one column. */
static pml_outcome read_listed(struct pml_store *base, struct pml_cell cell, int64_t count,
                               struct pml_fragment *fragment)
{
    char texts[2][16];
    const char *values[2];
    cell_values(cell, texts, values);
    PGresult *result = ask((struct pml_postgres_store *)base, "listed", 2, values);
    if (!result)
        return PML_UNAVAILABLE;
    pml_outcome outcome = PQntuples(result) == count ? PML_DONE : PML_DAMAGED;
    for (int i = 0; outcome == PML_DONE && i < PQntuples(result); i++)
        outcome = pml_postgres_take_candidate(base, result, i, 0, fragment);
    PQclear(result);
    return outcome;
}

/* The items that a row of cells lists, and in *count how many, if the row is as it was written: slot, cell, items and
 * fragment have its digest (SPEC 9). NULL if it is not. */
static const uint8_t *take_items(const PGresult *result, int row, struct pml_cell cell, int64_t *count)
{
    enum { ITEMS = 2, FRAGMENT, DIGEST };
    const uint8_t *items;
    uint64_t digest = pml_digest_number(pml_digest_number(0, cell.slot), cell.cell);
    int64_t own;
    *count = pml_postgres_array(result, row, ITEMS, &items);
    if (*count < 1 || *count > PML_CANDIDATES_MAX || !pml_postgres_number(result, row, DIGEST, &own))
        return NULL;
    for (int64_t i = 0; i < *count; i++)
        digest = pml_digest_number(digest, (uint64_t)pml_postgres_element(items, i));
    if (!PQgetisnull(result, row, FRAGMENT))
        digest =
            pml_digest_string(digest, PQgetvalue(result, row, FRAGMENT), (size_t)PQgetlength(result, row, FRAGMENT));
    return digest == (uint64_t)own ? items : NULL;
}

/* The fragment of a cell, which must be exactly the candidates of its items: the digest alone would let a lie pass that
 * was digested too. It points into the result. */
static pml_outcome view_fragment(const struct pml_store *store, const PGresult *result, int row, const uint8_t *items,
                                 int64_t count, struct pml_fragment *fragment)
{
    const size_t size = (size_t)PQgetlength(result, row, 3);
    uint8_t *bytes = (uint8_t *)PQgetvalue(result, row, 3);
    size_t end = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!pml_store_is_candidate(&store->info, (uint64_t)pml_postgres_element(items, i), bytes, size, &end))
            return PML_DAMAGED;
    }
    *fragment = (struct pml_fragment){(uint32_t)count, {bytes, size, size}};
    return end == size ? PML_DONE : PML_DAMAGED;
}

static pml_outcome take_cell(struct pml_store *base, const PGresult *result, int row, struct pml_cell cell,
                             pml_take_fn take, void *context)
{
    struct pml_fragment fragment = {0};
    int64_t number, count;
    if (!pml_postgres_number(result, row, 0, &number) || number != row + 1)
        return PML_DAMAGED;
    if (PQgetisnull(result, row, 1)) /* it lists nothing */
        return take(context, (size_t)row, &fragment);
    const uint8_t *items = take_items(result, row, cell, &count);
    if (!items)
        return PML_DAMAGED;
    const bool listed = PQgetisnull(result, row, 3);
    pml_outcome outcome =
        listed ? read_listed(base, cell, count, &fragment) : view_fragment(base, result, row, items, count, &fragment);
    if (outcome == PML_DONE)
        outcome = take(context, (size_t)row, &fragment);
    if (listed)
        pml_bytes_free(&fragment.bytes);
    return outcome;
}

static pml_outcome read_wanted(struct pml_store *base, const struct pml_wanted *wanted, pml_take_fn take, void *context)
{
    const struct pml_cell *cells = wanted->cells;
    const size_t count = wanted->count;
    if (!cells)
        return pml_postgres_nearest(base, wanted, take, context);
    struct pml_postgres_arrays arrays = {0};
    PGresult *result = NULL;
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < count && outcome == PML_DONE; i++) {
        outcome = pml_postgres_add_number(&arrays.first, cells[i].slot);
        if (outcome == PML_DONE)
            outcome = pml_postgres_add_number(&arrays.second, cells[i].cell);
    }
    if (outcome != PML_DONE) {
        pml_postgres_free_arrays(&arrays);
        return outcome;
    }
    outcome = pml_postgres_ask((struct pml_postgres_store *)base, "cells", &arrays, NULL, &result);
    if (outcome == PML_DONE && (size_t)PQntuples(result) != count)
        outcome = PML_DAMAGED;
    for (size_t i = 0; i < count && outcome == PML_DONE; i++)
        outcome = take_cell(base, result, (int)i, cells[i], take, context);
    PQclear(result);
    return outcome;
}

static pml_outcome read_cell_size(struct pml_store *base, struct pml_cell cell, uint64_t *size)
{
    char texts[2][16];
    const char *values[2];
    int64_t count;
    cell_values(cell, texts, values);
    PGresult *result = ask((struct pml_postgres_store *)base, "cell_size", 2, values);
    const bool found = result && pml_postgres_number(result, 0, 0, &count);
    PQclear(result);
    if (found)
        *size = (uint64_t)count;
    return found ? PML_DONE : PML_UNAVAILABLE;
}

static pml_outcome ping(struct pml_store *base)
{
    uint64_t size;
    return read_cell_size(base, (struct pml_cell){0, 0}, &size);
}

/* ---- open and close ---- */

static void close_store(struct pml_store *base)
{
    struct pml_postgres_store *store = (struct pml_postgres_store *)base;
    pml_postgres_pool_close(store->pool);
    free(store);
}

static pml_outcome find_gallery(PGconn *session, const uint8_t *pack, struct pml_gallery_row *row,
                                struct pml_message *message)
{
    int found;
    pml_outcome outcome = pml_postgres_find(session, "done", pack, row, &found, message);
    if (outcome != PML_DONE || found == 1)
        return outcome;
    if (found > 1)
        return pml_say(message, "the database has galleries of %d packs: say of which pack.", found);
    pml_say(message, "the database has no complete gallery%s: make it with privatemail index.",
            pack ? " of this pack" : "");
    return PML_ABSENT;
}

static pml_outcome open_store(struct pml_store **out, const char *target, const uint8_t *pack,
                              struct pml_message *message)
{
    struct pml_gallery_row row;
    PGconn *session;
    pml_outcome outcome = pml_postgres_connect(target, &session, message);
    if (outcome != PML_DONE)
        return outcome;
    struct pml_postgres_store *store = calloc(1, sizeof *store);
    outcome = store ? find_gallery(session, pack, &row, message) : pml_say_memory(message);
    if (outcome == PML_DONE) {
        store->base.info = row.info;
        store->gallery = row.number;
        outcome = pml_postgres_pool_open(&store->pool, target, session, prepare, store, message);
    }
    if (outcome == PML_DONE) {
        *out = &store->base;
        return PML_DONE;
    }
    PQfinish(session);
    free(store);
    return outcome;
}

const struct pml_store_kind pml_store_postgres = {
    .scheme = "postgres",
    .form = "postgres:URI",
    .shared = true,
    .show = pml_postgres_show,
    .open = open_store,
    .close = close_store,
    .read = read_wanted,
    .items = pml_postgres_items,
    .cell_size = read_cell_size,
    .sizes = pml_postgres_sizes,
    .ping = ping,
    .begin = pml_postgres_begin,
    .add = pml_postgres_add,
    .checkpoint = pml_postgres_checkpoint,
    .finish = pml_postgres_finish,
    .abandon = pml_postgres_abandon,
};
