/* SPDX-License-Identifier: Apache-2.0
 * In: an open store. Out: its description, its places, its digest.
 * Never trusts a column: types, lengths and ranges are checked, the digest proves the rest. */
#include "server/store/store_content.h"
#include "store_sqlite.h"

#include <math.h>
#include <string.h>

static pml_outcome failure(sqlite3 *database)
{
    return sqlite3_errcode(database) == SQLITE_NOMEM ? PML_NO_MEMORY : PML_UNAVAILABLE;
}

/* Why a column is not as expected: the store is damaged, unless there was no memory to fetch it. */
static pml_outcome damage(sqlite3 *database)
{
    return sqlite3_errcode(database) == SQLITE_NOMEM ? PML_NO_MEMORY : PML_DAMAGED;
}

pml_outcome pml_sqlite_number(sqlite3 *database, const char *text, int64_t *number)
{
    sqlite3_stmt *statement = NULL;
    pml_outcome outcome = PML_DONE;
    if (sqlite3_prepare_v2(database, text, -1, &statement, NULL) != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW)
        outcome = failure(database);
    else
        *number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return outcome;
}

/* ---- schema ---- */

#define META "CREATE TABLE meta(key TEXT PRIMARY KEY, value)"
#define ITEMS "CREATE TABLE items(item INTEGER PRIMARY KEY, slot INTEGER, place BLOB, digest INTEGER, candidate BLOB)"
#define CELLS                                                                                                          \
    "CREATE TABLE cells(slot INTEGER, cell INTEGER, item INTEGER, PRIMARY KEY(slot, cell, item)) "                     \
    "WITHOUT ROWID"

const char pml_sqlite_create[] = META ";" ITEMS ";" CELLS;

int pml_sqlite_distrust(sqlite3 *database)
{
    int code = sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return code;
}

pml_outcome pml_sqlite_check_schema(sqlite3 *database)
{
    enum { ROWS = 4, COLUMNS = 4 };
    static const char query[] = "SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema ORDER BY name";
    static const char *const expected[ROWS][COLUMNS] = {{"table", "cells", "cells", CELLS},
                                                        {"table", "items", "items", ITEMS},
                                                        {"table", "meta", "meta", META},
                                                        {"index", "sqlite_autoindex_meta_1", "meta", ""}};
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(database, query, -1, &statement, NULL) != SQLITE_OK)
        return failure(database);
    pml_outcome outcome = PML_DONE;
    int step = SQLITE_ROW, rows = 0;
    while (outcome == PML_DONE && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < COLUMNS && outcome == PML_DONE; i++) {
            const char *text = (const char *)sqlite3_column_text(statement, i);
            if (rows == ROWS || !text || strcmp(text, expected[rows][i]) != 0)
                outcome = damage(database);
        }
        rows++;
    }
    if (outcome == PML_DONE && step != SQLITE_DONE)
        outcome = failure(database);
    if (outcome == PML_DONE && rows != ROWS)
        outcome = PML_DAMAGED;
    sqlite3_finalize(statement);
    return outcome;
}

/* ---- meta ---- */

/* An integer between 0 and `most`. */
static bool take_count(sqlite3_stmt *row, int column, uint64_t most, uint64_t *value)
{
    sqlite3_int64 number = sqlite3_column_int64(row, column);
    *value = (uint64_t)number;
    return sqlite3_column_type(row, column) == SQLITE_INTEGER && number >= 0 && (uint64_t)number <= most;
}

static bool take_blob(sqlite3_stmt *row, int column, void *bytes, int size)
{
    if (sqlite3_column_type(row, column) != SQLITE_BLOB || sqlite3_column_bytes(row, column) != size)
        return false;
    const void *blob = sqlite3_column_blob(row, column); /* NULL without memory */
    if (blob)
        memcpy(bytes, blob, (size_t)size);
    return blob != NULL;
}

/* The word fits the numbers. */
static bool take_lists(sqlite3_stmt *row, int column, const struct pml_store_info *info)
{
    const char *word = (const char *)sqlite3_column_text(row, column);
    return word && strcmp(word, pml_store_lists_name(info)) == 0 && (info->cells_per_item == 0 || info->share == 0);
}

static bool take_meta(sqlite3_stmt *row, struct pml_sqlite_meta *meta)
{
    enum { COUNTS = 7, LISTS = 2 + COUNTS, DIGEST };
    uint64_t values[COUNTS] = {0};
    static const uint64_t most[COUNTS] = {INT64_MAX, PML_SKETCH_MAX, PML_DIMENSIONS_MAX, 2, UINT32_MAX, PML_SHARE_MAX,
                                          1};
    bool sound = take_blob(row, 0, meta->info.pack, PML_ID_SIZE) && take_blob(row, 1, meta->source, 32);
    for (int i = 0; i < COUNTS; i++)
        sound = sound && take_count(row, 2 + i, most[i], &values[i]);
    meta->info.items = values[0];
    meta->info.sketch = (uint32_t)values[1];
    meta->info.dimensions = (uint32_t)values[2];
    meta->info.cells_per_item = (uint32_t)values[3];
    meta->info.iterations = (uint32_t)values[4];
    meta->info.share = (uint32_t)values[5];
    meta->done = values[6] == 1;
    meta->info.digest = (uint64_t)sqlite3_column_int64(row, DIGEST);
    return sound && meta->info.items > 0 && take_lists(row, LISTS, &meta->info) &&
           sqlite3_column_type(row, DIGEST) == SQLITE_INTEGER;
}

pml_outcome pml_sqlite_read_meta(sqlite3 *database, struct pml_sqlite_meta *meta)
{
    static const char query[] = "SELECT (SELECT value FROM meta WHERE key = 'pack'),"
                                "(SELECT value FROM meta WHERE key = 'source'),"
                                "(SELECT value FROM meta WHERE key = 'items'),"
                                "(SELECT value FROM meta WHERE key = 'sketch'),"
                                "(SELECT value FROM meta WHERE key = 'dimensions'),"
                                "(SELECT value FROM meta WHERE key = 'cells_per_item'),"
                                "(SELECT value FROM meta WHERE key = 'iterations'),"
                                "(SELECT value FROM meta WHERE key = 'share'),"
                                "(SELECT value FROM meta WHERE key = 'done'),"
                                "(SELECT value FROM meta WHERE key = 'lists'),"
                                "(SELECT value FROM meta WHERE key = 'digest')";
    sqlite3_stmt *statement = NULL;
    pml_outcome outcome = PML_DONE;
    if (sqlite3_prepare_v2(database, query, -1, &statement, NULL) != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW)
        outcome = failure(database);
    else if (!take_meta(statement, meta))
        outcome = damage(database);
    sqlite3_finalize(statement);
    return outcome;
}

/* ---- items and cells ---- */

struct scan {
    const struct pml_store_info *info;
    struct pml_places *places;
    struct pml_store_digest digest;
    pml_size_fn take; /* who wants sizes */
    void *context;
};

static pml_outcome take_place(sqlite3_stmt *row, int column, unsigned dimensions, float *place)
{
    uint8_t bytes[4 * PML_DIMENSIONS_MAX];
    if (dimensions == 0)
        return sqlite3_column_type(row, column) == SQLITE_NULL ? PML_DONE : PML_DAMAGED;
    if (!take_blob(row, column, bytes, (int)(4 * dimensions)))
        return PML_DAMAGED;
    for (unsigned i = 0; i < dimensions; i++) {
        const uint8_t *at = bytes + 4 * i;
        uint32_t bits = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        memcpy(&place[i], &bits, sizeof bits);
        if (!isfinite(place[i]))
            return PML_DAMAGED;
    }
    return PML_DONE;
}

static pml_outcome take_item(struct scan *scan, sqlite3_stmt *row)
{
    uint64_t item, slot;
    float place[PML_DIMENSIONS_MAX];
    const unsigned dimensions = scan->info->dimensions;
    if (scan->digest.items == scan->info->items || !take_count(row, 0, INT64_MAX, &item) ||
        !take_count(row, 1, PML_SLOTS_MAX - 1, &slot) || sqlite3_column_type(row, 3) != SQLITE_INTEGER ||
        take_place(row, 2, dimensions, place) != PML_DONE)
        return PML_DAMAGED;
    pml_store_digest_item(&scan->digest, item, slot, dimensions > 0 ? sqlite3_column_blob(row, 2) : NULL,
                          (uint64_t)sqlite3_column_int64(row, 3));
    if (scan->places && dimensions > 0)
        pml_places_put(scan->places, item, (uint32_t)slot, place);
    return PML_DONE;
}

static pml_outcome take_cell(struct scan *scan, sqlite3_stmt *row)
{
    static const pml_outcome outcomes[] = {
        [PML_CELL_OK] = PML_DONE, [PML_CELL_UNORDERED] = PML_DAMAGED, [PML_CELL_FULL] = PML_REFUSED};
    uint64_t slot, cell, item;
    if (!take_count(row, 0, PML_SLOTS_MAX - 1, &slot) || !take_count(row, 1, PML_CELLS_MAX - 1, &cell) ||
        !take_count(row, 2, INT64_MAX, &item))
        return PML_DAMAGED;
    return outcomes[pml_store_digest_cell(&scan->digest, slot, cell, item)];
}

static pml_outcome scan_rows(sqlite3 *database, const char *query, struct scan *scan,
                             pml_outcome (*take)(struct scan *, sqlite3_stmt *))
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(database, query, -1, &statement, NULL) != SQLITE_OK)
        return failure(database);
    pml_outcome outcome = PML_DONE;
    int step = SQLITE_ROW;
    while (outcome == PML_DONE && (step = sqlite3_step(statement)) == SQLITE_ROW)
        outcome = take(scan, statement);
    if (outcome == PML_DONE && step != SQLITE_DONE)
        outcome = failure(database);
    if (outcome == PML_DAMAGED)
        outcome = damage(database);
    sqlite3_finalize(statement);
    return outcome;
}

pml_outcome pml_sqlite_scan(sqlite3 *database, const struct pml_store_info *info, struct pml_places *places,
                            uint64_t *digest)
{
    struct scan scan = {.info = info, .places = places};
    pml_store_digest_begin(&scan.digest, info);
    if (places && info->dimensions > 0 && pml_places_allocate(places, (size_t)info->items, info->dimensions) != 0)
        return PML_NO_MEMORY;
    pml_outcome outcome =
        scan_rows(database, "SELECT item, slot, place, digest FROM items ORDER BY item", &scan, take_item);
    if (outcome == PML_DONE)
        outcome = scan_rows(database, "SELECT slot, cell, item FROM cells ORDER BY slot, cell, item", &scan, take_cell);
    if (outcome == PML_DONE && !pml_store_digest_complete(&scan.digest))
        outcome = PML_DAMAGED;
    if (outcome == PML_DONE && places && info->dimensions > 0 && pml_places_group(places) != 0)
        outcome = PML_NO_MEMORY;
    *digest = scan.digest.value;
    return outcome;
}

/* ---- sizes ---- */

/* SQLite knows the length of a candidate without reading it. CROSS JOIN keeps the order of cells, so nothing is sorted. */
static const char *const size_queries[] = {
    [PML_SIZED_CELLS] = "SELECT cells.slot, cells.cell, count(*), sum(length(items.candidate)) "
                        "FROM cells CROSS JOIN items ON items.item = cells.item GROUP BY cells.slot, cells.cell",
    [PML_SIZED_ITEMS] = "SELECT slot, 0, 1, length(candidate) FROM items",
};

static pml_outcome take_size(struct scan *scan, sqlite3_stmt *row)
{
    uint64_t slot, cell, count, bytes;
    if (!take_count(row, 0, PML_SLOTS_MAX - 1, &slot) || !take_count(row, 1, PML_CELLS_MAX - 1, &cell) ||
        !take_count(row, 2, PML_CANDIDATES_MAX, &count) || !take_count(row, 3, INT64_MAX, &bytes))
        return PML_DAMAGED;
    return scan->take(scan->context, (struct pml_cell){(uint32_t)slot, (uint32_t)cell}, count, bytes);
}

pml_outcome pml_sqlite_sizes(sqlite3 *database, enum pml_sized sized, pml_size_fn take, void *context)
{
    struct scan scan = {.take = take, .context = context};
    return scan_rows(database, size_queries[sized], &scan, take_size);
}

/* ---- candidates ---- */

pml_outcome pml_sqlite_take_candidate(sqlite3_stmt *row, struct pml_fragment *fragment)
{
    const uint8_t *bytes = sqlite3_column_blob(row, 1);
    if (sqlite3_column_type(row, 0) != SQLITE_INTEGER)
        return PML_DAMAGED;
    return pml_store_take_candidate((uint64_t)sqlite3_column_int64(row, 0), bytes, (size_t)sqlite3_column_bytes(row, 1),
                                    fragment);
}

pml_outcome pml_sqlite_items(sqlite3 *database, pml_take_fn take, void *context)
{
    sqlite3_stmt *statement = NULL;
    struct pml_fragment fragment = {0};
    int step = SQLITE_ROW;
    if (sqlite3_prepare_v2(database, "SELECT digest, candidate FROM items ORDER BY item", -1, &statement, NULL) !=
        SQLITE_OK)
        return failure(database);
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; outcome == PML_DONE && (step = sqlite3_step(statement)) == SQLITE_ROW; i++) {
        fragment.count = 0, fragment.bytes.size = 0;
        outcome = pml_sqlite_take_candidate(statement, &fragment);
        if (outcome == PML_DONE)
            outcome = take(context, i, &fragment);
    }
    if (outcome == PML_DONE && step != SQLITE_DONE)
        outcome = failure(database);
    sqlite3_finalize(statement);
    pml_bytes_free(&fragment.bytes);
    return outcome;
}
