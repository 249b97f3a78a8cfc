/* SPDX-License-Identifier: Apache-2.0
 * How long the parts of answers are, and all items, of a PostgreSQL store: page after page in the order of the primary key, so that
 * neither memory nor the time of a statement grows with the gallery. PostgreSQL knows the length of a value without
 * reading it. */
#include "store_postgres_reader.h"

#include <stdio.h>

#define SECONDS 5.0 /* for one page, as for any statement of a reader */

enum { PAGE = 1024, PAGE_KEY = 2, SLOT = PAGE_KEY, CELL, COUNT, BYTES };

/* The columns are the two numbers of the key, then slot, cell, count and bytes. %lld is the gallery's number. */
static const char *const formats[] = {
    [PML_SIZED_CELLS] = "SELECT slot, cell, slot, cell, cardinality(items), coalesce(octet_length(fragment)::bigint,"
                        " (SELECT sum(octet_length(candidate))::bigint FROM privatemail_items_%lld items"
                        " WHERE items.item = ANY (cells.items)))"
                        " FROM privatemail_cells_%lld cells WHERE (slot, cell) > ($1::integer, $2::integer)"
                        " ORDER BY slot, cell LIMIT $3::bigint",
    [PML_SIZED_ITEMS] = "SELECT item, 0, slot, 0, 1, octet_length(candidate) FROM privatemail_items_%lld"
                        " WHERE item > $1::bigint AND $2::bigint IS NOT NULL ORDER BY item LIMIT $3::bigint",
};

static PGresult *read_page(struct pml_postgres_store *store, const char *statement, const int64_t key[PAGE_KEY])
{
    char texts[PAGE_KEY + 1][24];
    const char *const values[] = {texts[0], texts[1], texts[2]};
    for (size_t i = 0; i < PAGE_KEY; i++)
        snprintf(texts[i], sizeof texts[i], "%lld", (long long)key[i]);
    snprintf(texts[PAGE_KEY], sizeof texts[PAGE_KEY], "%d", (int)PAGE);
    PGconn *session = pml_postgres_take(store->pool);
    if (!session)
        return NULL;
    PGresult *result = pml_postgres_query(session, statement, PAGE_KEY + 1, values, SECONDS);
    pml_postgres_give(store->pool, session);
    return result;
}

/* What is done with each row of all pages. */
typedef pml_outcome (*row_fn)(const struct pml_store *store, const PGresult *result, int row, void *context);

static pml_outcome each_row(struct pml_store *base, const char *statement, row_fn take, void *context)
{
    int64_t key[PAGE_KEY] = {-1, -1};
    pml_outcome outcome = PML_DONE;
    int rows = PAGE;
    while (outcome == PML_DONE && rows == PAGE) {
        PGresult *result = read_page((struct pml_postgres_store *)base, statement, key);
        if (!result)
            return PML_UNAVAILABLE;
        rows = PQntuples(result);
        for (int row = 0; row < rows && outcome == PML_DONE; row++)
            outcome = take(base, result, row, context);
        for (int i = 0; rows > 0 && i < PAGE_KEY && outcome == PML_DONE; i++)
            outcome = pml_postgres_number(result, rows - 1, i, &key[i]) ? PML_DONE : PML_DAMAGED;
        PQclear(result);
    }
    return outcome;
}

/* ---- sizes ---- */

struct sizes {
    pml_size_fn take;
    void *context;
};

static pml_outcome take_size(const struct pml_store *store, const PGresult *result, int row, void *context)
{
    const struct sizes *sizes = context;
    int64_t numbers[BYTES + 1];
    (void)store;
    for (int column = SLOT; column <= BYTES; column++) {
        if (!pml_postgres_number(result, row, column, &numbers[column]) || numbers[column] < 0)
            return PML_DAMAGED;
    }
    if (numbers[SLOT] >= PML_SLOTS_MAX || numbers[CELL] >= PML_CELLS_MAX || numbers[COUNT] > PML_CANDIDATES_MAX)
        return PML_DAMAGED;
    return sizes->take(sizes->context, (struct pml_cell){(uint32_t)numbers[SLOT], (uint32_t)numbers[CELL]},
                       (uint64_t)numbers[COUNT], (uint64_t)numbers[BYTES]);
}

pml_outcome pml_postgres_sizes(struct pml_store *base, enum pml_sized sized, pml_size_fn take, void *context)
{
    const long long number = ((struct pml_postgres_store *)base)->gallery;
    struct sizes sizes = {take, context};
    char statement[600];
    snprintf(statement, sizeof statement, formats[sized], number, number);
    return each_row(base, statement, take_size, &sizes);
}

/* ---- items ---- */

struct items {
    pml_take_fn take;
    void *context;
    size_t taken;
};

static pml_outcome take_item(const struct pml_store *store, const PGresult *result, int row, void *context)
{
    struct items *items = context;
    struct pml_fragment fragment = {0};
    pml_outcome outcome = pml_postgres_take_candidate(store, result, row, PAGE_KEY, &fragment);
    if (outcome == PML_DONE)
        outcome = items->take(items->context, items->taken++, &fragment);
    pml_bytes_free(&fragment.bytes);
    return outcome;
}

pml_outcome pml_postgres_items(struct pml_store *base, pml_take_fn take, void *context)
{
    struct items items = {take, context, 0};
    char statement[300];
    snprintf(statement, sizeof statement,
             "SELECT item, 0, item, digest, candidate FROM privatemail_items_%lld"
             " WHERE item > $1::bigint AND $2::bigint IS NOT NULL ORDER BY item LIMIT $3::bigint",
             (long long)((struct pml_postgres_store *)base)->gallery);
    return each_row(base, statement, take_item, &items);
}
