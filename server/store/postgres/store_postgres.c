/* SPDX-License-Identifier: Apache-2.0
 * Reading a PostgreSQL store (SPEC 9). In: a place, the id of a pack; cells and places. Out: fragments of answers.
 * Never hands out a candidate or a cell whose digest does not fit, and never waits for a database that is gone. */
#define _POSIX_C_SOURCE 200809L
#include "common/digest.h"
#include "common/message.h"
#include "server/store/places.h"
#include "server/store/store_content.h"
#include "store_postgres_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS 5.0 /* for one statement: PostgreSQL gives up before we do */
#define SPARE 8     /* nearest items beyond those wanted, to see that none is missing */

struct postgres_store {
    struct pml_store base;
    int64_t gallery;
    struct pml_postgres_pool *pool;
};

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
    {"cell(integer, integer)",
     "SELECT items, fragment, digest FROM privatemail_cells_%lld WHERE slot = $1 AND cell = $2", false},
    {"listed(integer, integer)",
     "SELECT listed.item, items.digest, items.candidate FROM privatemail_cells_%lld cells"
     " CROSS JOIN LATERAL unnest(cells.items) WITH ORDINALITY listed(item, place)"
     " LEFT JOIN privatemail_items_%lld items ON items.item = listed.item"
     " WHERE cells.slot = $1 AND cells.cell = $2 ORDER BY listed.place",
     false},
    {"cell_size(integer, integer)",
     "SELECT coalesce((SELECT cardinality(items) FROM privatemail_cells_%lld WHERE slot = $1 AND cell = $2), 0)",
     false},
    {"nearest(integer, cube, bigint)",
     "SELECT item, digest, candidate, place FROM privatemail_items_%lld WHERE slot = $1 ORDER BY place <-> $2 LIMIT $3",
     true},
};

static bool prepare_statements(PGconn *session, const struct postgres_store *store)
{
    const long long number = store->gallery;
    bool prepared = true;
    for (size_t i = 0; i < sizeof statements / sizeof statements[0] && prepared; i++) {
        char text[400], statement[500];
        if (statements[i].of_places && store->base.info.dimensions == 0)
            continue;
        snprintf(text, sizeof text, statements[i].format, number, number);
        snprintf(statement, sizeof statement, "PREPARE %s AS %s", statements[i].name, text);
        prepared = pml_postgres_execute(session, statement, SECONDS);
    }
    return prepared;
}

/* A connection holds a lock as long as it lives: nobody drops the gallery under it. */
static int prepare(void *context, PGconn *session)
{
    const struct postgres_store *store = context;
    char text[256];
    int64_t same = 0;
    const long long number = store->gallery;
    snprintf(text, sizeof text,
             "SELECT (digest = %lld AND state <> 'building')::integer FROM privatemail_galleries,"
             " (SELECT pg_advisory_lock_shared(%d, %lld)) AS locked WHERE gallery = %lld",
             (long long)(int64_t)store->base.info.digest, PML_POSTGRES_READERS, number, number);
    if (!pml_postgres_execute(session, settings, SECONDS))
        return -1;
    PGresult *result = pml_postgres_query(session, text, 0, NULL, SECONDS);
    bool there = result && PQntuples(result) == 1 && pml_postgres_number(result, 0, 0, &same) && same == 1;
    PQclear(result);
    return there && prepare_statements(session, store) ? 0 : -1;
}

/* Runs a statement on a connection of the pool; NULL when that cannot be. */
static PGresult *ask(struct postgres_store *store, const char *statement, int count, const char *const *values)
{
    PGconn *session = pml_postgres_take(store->pool);
    if (!session)
        return NULL;
    PGresult *result = pml_postgres_run(session, statement, count, values, SECONDS);
    pml_postgres_give(store->pool, session);
    return result;
}

/* ---- candidates ---- */

static int take_candidate(const struct pml_store *store, const PGresult *result, int row, struct pml_fragment *fragment)
{
    int64_t item, digest;
    if (!pml_postgres_number(result, row, 0, &item) || !pml_postgres_number(result, row, 1, &digest) ||
        PQgetisnull(result, row, 2))
        return PML_STORE_FAILED;
    return pml_store_take_candidate(&store->info, (uint64_t)item, (uint64_t)digest,
                                    (const uint8_t *)PQgetvalue(result, row, 2), (size_t)PQgetlength(result, row, 2),
                                    fragment);
}

static void cell_values(uint32_t slot, uint32_t cell, char texts[2][16], const char *values[2])
{
    snprintf(texts[0], 16, "%ld", (long)(slot & INT32_MAX));
    snprintf(texts[1], 16, "%ld", (long)(cell & INT32_MAX));
    values[0] = texts[0];
    values[1] = texts[1];
}

/* A cell whose candidates are too large for one column. */
static int read_listed(struct pml_store *base, const char *values[2], int64_t count, struct pml_fragment *fragment)
{
    PGresult *result = ask((struct postgres_store *)base, "listed", 2, values);
    int status = result && PQntuples(result) == count ? PML_STORE_OK : PML_STORE_FAILED;
    for (int i = 0; status == PML_STORE_OK && i < PQntuples(result); i++)
        status = take_candidate(base, result, i, fragment);
    PQclear(result);
    return status;
}

/* Appends the fragment of a cell when it is exactly the candidates of its items. The digest alone would let a lie pass
 * that was digested too. */
static int take_fragment(const struct pml_store *store, const uint8_t *bytes, size_t size, const uint8_t *items,
                         int64_t count, struct pml_fragment *fragment)
{
    size_t end = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!pml_store_is_candidate(&store->info, (uint64_t)pml_postgres_element(items, i), bytes, size, &end))
            return PML_STORE_FAILED;
    }
    if (end != size)
        return PML_STORE_FAILED;
    fragment->count += (uint32_t)count;
    return pml_bytes_append(&fragment->bytes, bytes, size) == 0 ? PML_STORE_OK : PML_STORE_NO_MEMORY;
}

/* The one row of a cell, if it is as it was written: slot, cell, items and fragment have its digest (SPEC 9). */
static int take_cell(const struct pml_store *store, const PGresult *result, uint32_t slot, uint32_t cell,
                     int64_t *count, struct pml_fragment *fragment)
{
    const uint8_t *items;
    uint64_t digest = pml_digest_number(pml_digest_number(0, slot), cell);
    int64_t own;
    *count = pml_postgres_array(result, 0, 0, &items);
    if (*count < 1 || *count + fragment->count > PML_CANDIDATES_MAX || !pml_postgres_number(result, 0, 2, &own))
        return PML_STORE_FAILED;
    for (int64_t i = 0; i < *count; i++)
        digest = pml_digest_number(digest, (uint64_t)pml_postgres_element(items, i));
    const uint8_t *bytes = (const uint8_t *)PQgetvalue(result, 0, 1);
    const size_t size = (size_t)PQgetlength(result, 0, 1);
    const bool there = !PQgetisnull(result, 0, 1);
    if (there)
        digest = pml_digest_string(digest, bytes, size);
    if (digest != (uint64_t)own)
        return PML_STORE_FAILED;
    return there ? take_fragment(store, bytes, size, items, *count, fragment) : PML_STORE_OK;
}

static int read_cell(struct pml_store *base, uint32_t slot, uint32_t cell, struct pml_fragment *fragment)
{
    char texts[2][16];
    const char *values[2];
    const struct pml_fragment before = *fragment;
    int64_t count = 0;
    int status = PML_STORE_OK;
    cell_values(slot, cell, texts, values);
    PGresult *result = ask((struct postgres_store *)base, "cell", 2, values);
    if (!result)
        return PML_STORE_FAILED;
    if (PQntuples(result) > 0)
        status = take_cell(base, result, slot, cell, &count, fragment);
    PQclear(result);
    if (status == PML_STORE_OK && count > 0 && fragment->count == before.count)
        status = read_listed(base, values, count, fragment);
    return pml_store_settle(fragment, &before, status);
}

static int read_cell_size(struct pml_store *base, uint32_t slot, uint32_t cell, uint64_t *size)
{
    char texts[2][16];
    const char *values[2];
    int64_t count;
    cell_values(slot, cell, texts, values);
    PGresult *result = ask((struct postgres_store *)base, "cell_size", 2, values);
    bool found = result && pml_postgres_number(result, 0, 0, &count);
    PQclear(result);
    if (found)
        *size = (uint64_t)count;
    return found ? PML_STORE_OK : PML_STORE_FAILED;
}

/* ---- nearest ---- */

struct ranked {
    struct pml_near near;
    int row;
};

static int by_rank(const void *left, const void *right)
{
    const struct pml_near *a = &((const struct ranked *)left)->near, *b = &((const struct ranked *)right)->near;
    if (a->distance < b->distance || a->distance > b->distance)
        return a->distance < b->distance ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

/* Ranks the rows by SPEC 6.5. *complete: whatever was left off is farther than the first `count` (SPEC 9). */
static int rank(const struct pml_store *base, const PGresult *result, const double *place, size_t count, bool all,
                struct ranked *ranked, bool *complete)
{
    const uint32_t dimensions = base->info.dimensions;
    const size_t rows = (size_t)PQntuples(result);
    for (size_t i = 0; i < rows; i++) {
        float value[PML_DIMENSIONS_MAX];
        int64_t item;
        if (!pml_postgres_number(result, (int)i, 0, &item) ||
            pml_postgres_place(result, (int)i, 3, dimensions, value) != 0)
            return PML_STORE_FAILED;
        ranked[i] = (struct ranked){{pml_places_distance(value, place, dimensions), (uint64_t)item}, (int)i};
    }
    const double last = rows > 0 ? ranked[rows - 1].near.distance : 0.0;
    qsort(ranked, rows, sizeof *ranked, by_rank);
    *complete = all || (rows > count && ranked[count - 1].near.distance < last * (1.0 - 0x1p-40));
    return PML_STORE_OK;
}

/* The nearest among the first `limit` rows. */
static int try_nearest(struct pml_store *base, uint32_t slot, const double *place, size_t count, size_t limit,
                       struct pml_fragment *fragment, bool *complete)
{
    char number[16], point[PML_POSTGRES_TEXT_MAX], most[24];
    const char *const values[] = {number, point, most};
    snprintf(number, sizeof number, "%ld", (long)(slot & INT32_MAX));
    snprintf(most, sizeof most, "%zu", limit);
    pml_postgres_point_text(place, base->info.dimensions, point);
    PGresult *result = ask((struct postgres_store *)base, "nearest", 3, values);
    if (!result)
        return PML_STORE_FAILED;
    const size_t rows = (size_t)PQntuples(result);
    struct ranked *ranked = malloc((rows + 1) * sizeof *ranked);
    int status = ranked ? rank(base, result, place, count, rows < limit, ranked, complete) : PML_STORE_NO_MEMORY;
    for (size_t i = 0; status == PML_STORE_OK && *complete && i < rows && i < count; i++)
        status = take_candidate(base, result, ranked[i].row, fragment);
    free(ranked);
    PQclear(result);
    return status;
}

static int read_nearest(struct pml_store *base, uint32_t slot, const double *place, uint32_t count,
                        struct pml_fragment *fragment)
{
    const struct pml_fragment before = *fragment;
    bool complete = false;
    int status = PML_STORE_OK;
    if (base->info.dimensions == 0)
        return PML_STORE_FAILED;
    if (count == 0)
        return PML_STORE_OK;
    /* Ties at the end: with twice as many there are fewer, or the slot is at its end. */
    for (size_t limit = (size_t)count + SPARE; !complete && status == PML_STORE_OK; limit *= 2)
        status = try_nearest(base, slot, place, count, limit, fragment, &complete);
    return pml_store_settle(fragment, &before, status);
}

static int ping(struct pml_store *base)
{
    uint64_t size;
    return read_cell_size(base, 0, 0, &size);
}

/* ---- open and close ---- */

static void close_store(struct pml_store *base)
{
    struct postgres_store *store = (struct postgres_store *)base;
    pml_postgres_pool_close(store->pool);
    free(store);
}

static int find_gallery(PGconn *session, const uint8_t *pack, struct pml_gallery_row *row, struct pml_message *message)
{
    int found = pml_postgres_find(session, "done", pack, row, message);
    if (found < 0 || found == 1)
        return found < 0 ? found : 0;
    if (found > 1)
        return pml_say(message, "the database has galleries of %d packs: say of which pack.", found);
    pml_say(message, "the database has no complete gallery%s: make it with privatemail index.",
            pack ? " of this pack" : "");
    return PML_STORE_ABSENT;
}

static int open_store(struct pml_store **out, const char *place, const uint8_t *pack, struct pml_message *message)
{
    struct pml_gallery_row row;
    PGconn *session = pml_postgres_connect(place, message);
    if (!session)
        return -1;
    struct postgres_store *store = calloc(1, sizeof *store);
    int status = store ? find_gallery(session, pack, &row, message) : pml_say_memory(message);
    if (status == 0) {
        store->base.info = row.info;
        store->gallery = row.number;
        status = pml_postgres_pool_open(&store->pool, place, session, prepare, store, message);
    }
    if (status == 0) {
        *out = &store->base;
        return 0;
    }
    PQfinish(session);
    free(store);
    return status;
}

const struct pml_store_kind pml_store_postgres = {
    .scheme = "postgres",
    .form = "postgres:URI",
    .shared = true,
    .show = pml_postgres_show,
    .open = open_store,
    .close = close_store,
    .cell = read_cell,
    .cell_size = read_cell_size,
    .nearest = read_nearest,
    .ping = ping,
    .begin = pml_postgres_begin,
    .add = pml_postgres_add,
    .checkpoint = pml_postgres_checkpoint,
    .finish = pml_postgres_finish,
    .abandon = pml_postgres_abandon,
};
