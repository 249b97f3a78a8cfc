/* SPDX-License-Identifier: Apache-2.0
 * A PostgreSQL store (SPEC 9). In: rows of a database that others may write. All that is asked for at once is one round
 * trip. A session that breaks is tried once more on a new one, which may lead to another host; a database that is gone is
 * never waited for. What is put is sent in batches, within a transaction that ends with a pointer, so readers see all of it
 * or none. */
#include "store_postgres.h"
#include "common/bytes.h"
#include "common/clock.h"

#include <stdlib.h>
#include <string.h>

#define BATCH ((size_t)4 << 20) /* bytes that are kept back */
#define SECONDS 4.5             /* for whatever a reader asks: PostgreSQL gives up before we do */

struct pg_store {
    struct pml_store base;
    struct pml_pg_pool pool; /* of a reader */
    PGconn *writer;          /* or this, with all that follows */
    bool begun;              /* a transaction */
    struct batch {
        struct pml_bytes names, blobs;
        size_t count;
    } batches[PML_SHELVES]; /* put and not sent yet */
};

/* ---- values: an array is its dimensions, flags, type, count, first index; then each element with its length ---- */

enum { ARRAY_HEAD = 20, BYTEA = 17 /* PostgreSQL's number of the type */ };

static void write_number(uint8_t *bytes, size_t value)
{
    for (size_t i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> 8 * (3 - i));
}

static pml_outcome append(struct pml_bytes *array, const void *bytes, size_t size)
{
    uint8_t length[4], head[ARRAY_HEAD] = {0};
    write_number(length, size);
    pml_outcome outcome = array->size == 0 ? pml_bytes_append(array, head, sizeof head) : PML_DONE;
    if (outcome == PML_DONE)
        outcome = pml_bytes_append(array, length, sizeof length);
    return outcome == PML_DONE ? pml_bytes_append(array, bytes, size) : outcome;
}

static pml_outcome append_names(struct pml_bytes *array, const struct pml_name *names, size_t count)
{
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < count && outcome == PML_DONE; i++)
        outcome = append(array, &names[i], sizeof names[i]);
    return outcome;
}

/* The value that was appended. */
static struct pml_value finish(struct pml_bytes *array, size_t count)
{
    write_number(array->bytes, 1);
    write_number(array->bytes + 8, BYTEA);
    write_number(array->bytes + 12, count);
    write_number(array->bytes + 16, 1);
    return (struct pml_value){array->bytes, array->size};
}

/* ---- sending ---- */

static bool run(struct pg_store *store, const char *text, int count, const struct pml_value *values)
{
    PGresult *result = pml_pg_run(store->writer, false, text, count, values, 0.0);
    PQclear(result);
    return result != NULL;
}

static bool begin(struct pg_store *store)
{
    if (!store->begun)
        store->begun = pml_pg_execute(store->writer, "BEGIN", 0.0);
    return store->begun;
}

static bool commit(struct pg_store *store)
{
    store->begun = false;
    return pml_pg_execute(store->writer, "COMMIT", 0.0);
}

/* What is there is compared, and written only where it differs: then it is damaged. Blobs of the same name are the same. */
#define PUT(table)                                                                                                     \
    "INSERT INTO " table " AS old SELECT DISTINCT ON (name) * FROM unnest($1::bytea[], $2::bytea[]) AS new(name, "     \
    "bytes) ON CONFLICT (name) DO UPDATE SET bytes = excluded.bytes WHERE old.bytes IS DISTINCT FROM excluded.bytes"

static bool send_batch(struct pg_store *store, size_t shelf)
{
    static const char *const statements[PML_SHELVES] = {PUT("privatemail_parts"), PUT("privatemail_private")};
    struct batch *batch = &store->batches[shelf];
    if (batch->count == 0)
        return true;
    const struct pml_value values[] = {finish(&batch->names, batch->count), finish(&batch->blobs, batch->count)};
    const bool sent = begin(store) && run(store, statements[shelf], 2, values);
    batch->names.size = batch->blobs.size = batch->count = 0;
    if (batch->blobs.capacity > 4 * BATCH)
        pml_bytes_free(&batch->blobs);
    return sent;
}

static bool send_all(struct pg_store *store)
{
    return send_batch(store, PML_PARTS) && send_batch(store, PML_PRIVATE);
}

/* ---- reading ---- */

/* Runs a statement that is prepared; NULL when that cannot be. */
static PGresult *ask(struct pg_store *store, const char *statement, int count, const struct pml_value *values)
{
    if (store->writer)
        return send_all(store) ? pml_pg_run(store->writer, true, statement, count, values, 0.0) : NULL;
    const double deadline = pml_clock_now() + SECONDS;
    for (int tries = 0; tries < 2; tries++) {
        PGconn *session = pml_pg_take(&store->pool, deadline);
        if (!session)
            return NULL;
        PGresult *result = pml_pg_run(session, true, statement, count, values, deadline);
        const bool alive = pml_pg_alive(session), silent = !alive && pml_clock_now() >= deadline;
        pml_pg_give(&store->pool, session, silent);
        if (result || alive || silent)
            return result;
    }
    return NULL;
}

static bool are_bytes(const PGresult *result, int columns)
{
    bool good = PQnfields(result) == columns;
    for (int i = 0; i < columns && good; i++)
        good = PQftype(result, i) == BYTEA;
    return good;
}

/* Without bytes where it is NULL. */
static struct pml_value value_at(const PGresult *result, int row, int column)
{
    return (struct pml_value){PQgetisnull(result, row, column) ? NULL : PQgetvalue(result, row, column),
                              (size_t)PQgetlength(result, row, column)};
}

static int by_name(const void *left, const void *right)
{
    return pml_name_order(*(const void *const *)left, *(const void *const *)right);
}

/* Hands a row over for every time that its name was asked for; `order` has pointers to the names, in order. */
static pml_outcome take_row(const PGresult *result, int row, const struct pml_name *names,
                            const struct pml_name **order, size_t count, pml_blob_fn take, void *context)
{
    const struct pml_value name = value_at(result, row, 0), blob = value_at(result, row, 1);
    pml_outcome outcome = PML_DONE;
    if (!name.bytes || name.size != PML_NAME_SIZE || !blob.bytes)
        return PML_DAMAGED;
    const struct pml_name **found = bsearch(&name.bytes, order, count, sizeof *order, by_name);
    if (!found)
        return PML_DAMAGED;
    while (found > order && by_name(found - 1, &name.bytes) == 0)
        found--;
    for (; outcome == PML_DONE && found < order + count && by_name(found, &name.bytes) == 0; found++)
        outcome = take(context, (size_t)(*found - names), blob.bytes, blob.size);
    return outcome;
}

static pml_outcome take_rows(const PGresult *result, const struct pml_name *names, size_t count, pml_blob_fn take,
                             void *context)
{
    const struct pml_name **order = malloc(count * sizeof *order);
    if (!order)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        order[i] = &names[i];
    qsort(order, count, sizeof *order, by_name);
    pml_outcome outcome = are_bytes(result, 2) ? PML_DONE : PML_DAMAGED;
    for (int row = 0; row < PQntuples(result) && outcome == PML_DONE; row++)
        outcome = take_row(result, row, names, order, count, take, context);
    free(order);
    return outcome;
}

static pml_outcome get(struct pml_store *base, enum pml_shelf shelf, const struct pml_name *names, size_t count,
                       pml_blob_fn take, void *context)
{
    struct pml_bytes array = {0};
    pml_outcome outcome = append_names(&array, names, count);
    if (outcome == PML_DONE) {
        const struct pml_value value = finish(&array, count);
        PGresult *result = ask((struct pg_store *)base, shelf == PML_PARTS ? "get_parts" : "get_private", 1, &value);
        outcome = result ? take_rows(result, names, count, take, context) : PML_UNAVAILABLE;
        PQclear(result);
    }
    pml_bytes_free(&array);
    return outcome;
}

static pml_outcome list(struct pml_store *base, enum pml_shelf shelf, pml_name_fn take, void *context)
{
    PGresult *result = ask((struct pg_store *)base, shelf == PML_PARTS ? "names_parts" : "names_private", 0, NULL);
    pml_outcome outcome = !result ? PML_UNAVAILABLE : are_bytes(result, 1) ? PML_DONE : PML_DAMAGED;
    for (int row = 0; row < PQntuples(result) && outcome == PML_DONE; row++) {
        const struct pml_value name = value_at(result, row, 0);
        outcome = name.bytes && name.size == PML_NAME_SIZE ? take(context, name.bytes) : PML_DAMAGED;
    }
    PQclear(result);
    return outcome;
}

static pml_outcome packs(struct pml_store *base, const uint8_t *pack, pml_pack_fn take, void *context)
{
    const struct pml_value value = {pack, PML_ID_SIZE};
    PGresult *result = ask((struct pg_store *)base, "pointers", 1, &value);
    pml_outcome outcome = !result ? PML_UNAVAILABLE : are_bytes(result, PML_POINTER_COLUMNS) ? PML_DONE : PML_DAMAGED;
    for (int row = 0; row < PQntuples(result) && outcome == PML_DONE; row++) {
        struct pml_value values[PML_POINTER_COLUMNS];
        for (int i = 0; i < PML_POINTER_COLUMNS; i++)
            values[i] = value_at(result, row, i);
        outcome = pml_store_take_pack(values, take, context);
    }
    PQclear(result);
    return outcome;
}

/* ---- writing ---- */

static pml_outcome put(struct pml_store *base, enum pml_shelf shelf, const struct pml_name *name, const void *bytes,
                       size_t size, struct pml_message *message)
{
    struct pg_store *store = (struct pg_store *)base;
    struct batch *batch = &store->batches[shelf];
    if (batch->blobs.size + size > BATCH && !send_batch(store, shelf))
        return pml_pg_fail(store->writer, message);
    if (append(&batch->names, name, sizeof *name) != PML_DONE || append(&batch->blobs, bytes, size) != PML_DONE)
        return pml_say_memory(message);
    batch->count++;
    return size <= BATCH || send_batch(store, shelf) ? PML_DONE : pml_pg_fail(store->writer, message);
}

static pml_outcome switch_pointer(struct pml_store *base, const uint8_t pack[PML_ID_SIZE],
                                  const struct pml_pointer *pointer, struct pml_message *message)
{
    struct pg_store *store = (struct pg_store *)base;
    static const char statement[] =
        "INSERT INTO privatemail_pointers VALUES ($1::bytea, $2::bytea, $3::bytea, $4::bytea) ON CONFLICT (pack)"
        " DO UPDATE SET version = excluded.version, record = excluded.record, building = excluded.building";
    struct pml_value values[PML_POINTER_COLUMNS];
    pml_store_pack_values(pack, pointer, values);
    const bool done = send_all(store) && begin(store) && run(store, statement, 4, values) && commit(store);
    return done ? PML_DONE : pml_pg_fail(store->writer, message);
}

static pml_outcome take_away(struct pml_store *base, enum pml_shelf shelf, const struct pml_name *names, size_t count,
                             struct pml_message *message)
{
    struct pg_store *store = (struct pg_store *)base;
    static const char *const statements[PML_SHELVES] = {
        "DELETE FROM privatemail_parts WHERE name = ANY($1::bytea[])",
        "DELETE FROM privatemail_private WHERE name = ANY($1::bytea[])",
    };
    struct pml_bytes array = {0};
    pml_outcome outcome = append_names(&array, names, count);
    if (outcome == PML_DONE) {
        const struct pml_value value = finish(&array, count);
        const bool done = send_all(store) && begin(store) && run(store, statements[shelf], 1, &value) && commit(store);
        outcome = done ? PML_DONE : pml_pg_fail(store->writer, message);
    } else {
        pml_say_memory(message);
    }
    pml_bytes_free(&array);
    return outcome;
}

/* ---- open and close ---- */

/* Which of our tables there are: PML_DONE when all, PML_ABSENT with a message when none or not all. Those of version 0.1
 * alone are refused. */
static pml_outcome look(PGconn *session, struct pml_message *message)
{
    static const char query[] = "SELECT count(*) FILTER (WHERE tablename IN ('privatemail_parts', "
                                "'privatemail_private', 'privatemail_pointers'))"
                                " + 16 * count(*) FILTER (WHERE tablename = 'privatemail_galleries') FROM pg_tables"
                                " WHERE schemaname = current_schema()";
    PGresult *result = pml_pg_run(session, false, query, 0, NULL, pml_clock_now() + SECONDS);
    if (!result)
        return pml_pg_fail(session, message);
    const unsigned found = PQgetlength(result, 0, 0) == 8 ? (uint8_t)PQgetvalue(result, 0, 0)[7] : 0;
    PQclear(result);
    if (found % 16 == 3)
        return PML_DONE;
    if (found == 16)
        return pml_say(message, "the database has galleries of PrivateMail 0.1, which are not read any more. Make new "
                                "ones in another schema: privatemail index --pack P --features F.npy --store "
                                "postgres:URI.");
    pml_say(message, "the database has no store. Make it with privatemail index.");
    return PML_ABSENT;
}

/* Until the session ends. A writer that was killed holds its lock until PostgreSQL notices: that is waited for. */
static pml_outcome take_lock(PGconn *session, struct pml_message *message)
{
    static const char settings[] = "SET lock_timeout = '3s'; SET client_connection_check_interval = '1s';"
                                   "SET statement_timeout = 0; SET synchronous_commit = on";
    if (!pml_pg_execute(session, settings, 0.0))
        return pml_pg_fail(session, message);
    const bool locked = pml_pg_execute(session, "SELECT pg_advisory_lock(1347243091, 3)", 0.0);
    if (!locked && pml_pg_alive(session))
        return pml_say(message, "another privatemail index is writing to this database. Leave it alone until that has "
                                "ended.");
    return locked && pml_pg_execute(session, "SET lock_timeout = 0", 0.0) ? PML_DONE : pml_pg_fail(session, message);
}

/* Blobs are not compressed: what takes most of their room would not become smaller. */
static const char create[] =
    "CREATE TABLE IF NOT EXISTS privatemail_parts(name BYTEA PRIMARY KEY, bytes BYTEA);"
    "CREATE TABLE IF NOT EXISTS privatemail_private(name BYTEA PRIMARY KEY, bytes BYTEA);"
    "CREATE TABLE IF NOT EXISTS privatemail_pointers(pack BYTEA PRIMARY KEY, version BYTEA, record BYTEA,"
    " building BYTEA);"
    "ALTER TABLE privatemail_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;"
    "ALTER TABLE privatemail_private ALTER COLUMN bytes SET STORAGE EXTERNAL";

static pml_outcome open_store(struct pml_store *base, const char *target, struct pml_message *message)
{
    struct pg_store *store = (struct pg_store *)base;
    const bool writes = base->use == PML_STORE_WRITE;
    PGconn *session;
    pml_outcome outcome = pml_pg_connect(target, base->use, &session, message);
    if (outcome == PML_DONE && writes)
        outcome = take_lock(session, message);
    if (outcome == PML_DONE)
        outcome = look(session, message);
    if (outcome == PML_ABSENT && writes)
        outcome = pml_pg_execute(session, create, 0.0) ? PML_DONE : pml_pg_fail(session, message);
    if (outcome == PML_DONE && !pml_pg_prepare(session, base->use, pml_clock_now() + SECONDS))
        outcome = pml_pg_fail(session, message);
    if (outcome == PML_DONE && !writes)
        outcome = pml_pg_pool_open(&store->pool, target, session, message);
    if (outcome != PML_DONE)
        PQfinish(session);
    else if (writes)
        store->writer = session;
    return outcome;
}

static void close_store(struct pml_store *base)
{
    struct pg_store *store = (struct pg_store *)base;
    pml_pg_pool_close(&store->pool);
    PQfinish(store->writer); /* rolls back */
    for (size_t i = 0; i < PML_SHELVES; i++) {
        pml_bytes_free(&store->batches[i].names);
        pml_bytes_free(&store->batches[i].blobs);
    }
}

const struct pml_store_kind pml_store_postgres = {
    .scheme = "postgres",
    .size = sizeof(struct pg_store),
    .show = pml_pg_show,
    .open = open_store,
    .close = close_store,
    .get = get,
    .packs = packs,
    .put = put,
    .switch_pointer = switch_pointer,
    .names = list,
    .remove = take_away,
};
