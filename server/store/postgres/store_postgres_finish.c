/* SPDX-License-Identifier: Apache-2.0
 * Completes a gallery all of whose items are there: makes its cells, its index and its digest. Every row is read back. */
#include "common/digest.h"
#include "common/message.h"
#include "server/store/store_content.h"
#include "store_postgres.h"

#include <inttypes.h>
#include <stdio.h>

#define NAME "the database"

#define FRAGMENT_MAX "268435456" /* bytes; PostgreSQL has room for four times as many in a column */

/* A cell in the making: "{1,2,3}" and its digest. */
struct cell {
    uint64_t slot, number, digest;
    int64_t count;
    struct pml_bytes items;
};

struct finish {
    PGconn *session;
    const struct pml_gallery_row *row;
    struct pml_store_digest digest;
    struct cell cell;
    struct pml_message *message;
};

/* Calls `take` for every row of a query. Returns PML_DONE, or another outcome with a message. */
static pml_outcome each_row(struct finish *finish, const char *query,
                            pml_outcome (*take)(struct finish *finish, const PGresult *result, int row))
{
    char text[300];
    pml_outcome outcome = PML_DONE;
    int count = 1;
    snprintf(text, sizeof text, "DECLARE every NO SCROLL CURSOR FOR %s", query);
    if (pml_postgres_execute(finish->session, text, 0.0) != PML_DONE)
        return pml_postgres_fail(finish->session, finish->message);
    while (count > 0 && outcome == PML_DONE) {
        PGresult *result = pml_postgres_query(finish->session, "FETCH 8192 FROM every", 0, NULL, 0.0);
        count = result ? PQntuples(result) : 0;
        if (!result)
            outcome = pml_postgres_fail(finish->session, finish->message);
        for (int i = 0; i < count && outcome == PML_DONE; i++)
            outcome = take(finish, result, i);
        PQclear(result);
    }
    if (outcome == PML_DONE && pml_postgres_execute(finish->session, "CLOSE every", 0.0) != PML_DONE)
        outcome = pml_postgres_fail(finish->session, finish->message);
    return outcome;
}

static pml_outcome say_damaged(struct pml_message *message)
{
    pml_say(message, NAME "'s rows are not those that were written: check its disk, then start again with --force.");
    return PML_DAMAGED;
}

static pml_outcome take_item(struct finish *finish, const PGresult *result, int row)
{
    const uint32_t dimensions = finish->row->info.dimensions;
    int64_t item, slot, digest;
    float place[PML_DIMENSIONS_MAX];
    uint8_t bytes[4 * PML_DIMENSIONS_MAX];
    if (!pml_postgres_number(result, row, 0, &item) || !pml_postgres_number(result, row, 1, &slot) ||
        !pml_postgres_number(result, row, 2, &digest) ||
        (dimensions > 0 && !pml_postgres_place(result, row, 3, dimensions, place)))
        return say_damaged(finish->message);
    pml_store_place_bytes(place, dimensions, bytes);
    pml_store_digest_item(&finish->digest, (uint64_t)item, (uint64_t)slot, bytes, (uint64_t)digest);
    return PML_DONE;
}

/* Every candidate of the fragment is the one that was written for its item. The row: fragment, items, their digests. */
static bool is_sound(const struct pml_store_info *info, const struct cell *cell, const PGresult *result)
{
    const uint8_t *items, *digests, *bytes = (const uint8_t *)PQgetvalue(result, 0, 0);
    const size_t size = (size_t)PQgetlength(result, 0, 0);
    size_t at = 0;
    if (pml_postgres_array(result, 0, 1, &items) != cell->count ||
        pml_postgres_array(result, 0, 2, &digests) != cell->count)
        return false;
    for (int64_t i = 0; i < cell->count && !PQgetisnull(result, 0, 0); i++) {
        const size_t start = at;
        if (!pml_store_is_candidate(info, (uint64_t)pml_postgres_element(items, i), bytes, size, &at) ||
            pml_digest_string(0, bytes + start, at - start) != (uint64_t)pml_postgres_element(digests, i))
            return false;
    }
    return at == size;
}

/* Writes what the cell lists, reads back its fragment, and then its digest. */
static pml_outcome write_cell(struct finish *finish, const char *slot, const char *number)
{
    struct cell *cell = &finish->cell;
    char query[700], update[200];
    const char *const values[] = {slot, number, (const char *)cell->items.bytes};
    const long long gallery = finish->row->number;
    snprintf(query, sizeof query,
             "WITH found AS (SELECT array_agg(item ORDER BY item) AS items, array_agg(digest ORDER BY item) AS digests,"
             " CASE WHEN sum(length(candidate)) <= " FRAGMENT_MAX
             " THEN string_agg(candidate, '' ORDER BY item) END AS fragment"
             " FROM privatemail_items_%lld WHERE item = ANY ($3::bigint[])), made AS ("
             "INSERT INTO privatemail_cells_%lld SELECT $1::integer, $2::integer, $3::bigint[], fragment, 0 FROM found)"
             " SELECT fragment, items, digests FROM found",
             gallery, gallery);
    PGresult *result = pml_postgres_query(finish->session, query, 3, values, 0.0);
    if (!result)
        return pml_postgres_fail(finish->session, finish->message);
    const bool sound = PQntuples(result) == 1 && is_sound(&finish->row->info, cell, result);
    if (sound && !PQgetisnull(result, 0, 0))
        cell->digest = pml_digest_string(cell->digest, PQgetvalue(result, 0, 0), (size_t)PQgetlength(result, 0, 0));
    PQclear(result);
    if (!sound)
        return say_damaged(finish->message);
    snprintf(update, sizeof update,
             "UPDATE privatemail_cells_%lld SET digest = %" PRId64 " WHERE slot = %s AND cell = %s", gallery,
             (int64_t)cell->digest, slot, number);
    return pml_postgres_execute(finish->session, update, 0.0) == PML_DONE
               ? PML_DONE
               : pml_postgres_fail(finish->session, finish->message);
}

/* Writes the cell, if there is one, and leaves none. */
static pml_outcome end_cell(struct finish *finish)
{
    struct cell *cell = &finish->cell;
    char slot[24], number[24];
    if (cell->count == 0)
        return PML_DONE;
    if (pml_bytes_append(&cell->items, "}", 2) != PML_DONE)
        return pml_say_memory(finish->message);
    snprintf(slot, sizeof slot, "%" PRIu64, cell->slot);
    snprintf(number, sizeof number, "%" PRIu64, cell->number);
    pml_outcome outcome = write_cell(finish, slot, number);
    cell->items.size = 0;
    cell->count = 0;
    return outcome;
}

static pml_outcome take_listed(struct finish *finish, const PGresult *result, int row)
{
    struct cell *cell = &finish->cell;
    int64_t slot, number, item;
    char text[24];
    if (!pml_postgres_number(result, row, 0, &slot) || !pml_postgres_number(result, row, 1, &number) ||
        !pml_postgres_number(result, row, 2, &item))
        return say_damaged(finish->message);
    switch (pml_store_digest_cell(&finish->digest, (uint64_t)slot, (uint64_t)number, (uint64_t)item)) {
    case PML_CELL_UNORDERED:
        return pml_store_say_twice((uint64_t)item, finish->message);
    case PML_CELL_FULL:
        return pml_store_say_full(NAME, finish->message);
    default:
        break;
    }
    if (finish->digest.run == 1) {
        pml_outcome outcome = end_cell(finish);
        if (outcome != PML_DONE)
            return outcome;
        cell->slot = (uint64_t)slot;
        cell->number = (uint64_t)number;
        cell->digest = pml_digest_number(pml_digest_number(0, cell->slot), cell->number);
    }
    cell->count++;
    cell->digest = pml_digest_number(cell->digest, (uint64_t)item);
    const int length = snprintf(text, sizeof text, "%c%" PRId64, finish->digest.run == 1 ? '{' : ',', item);
    return pml_bytes_append(&cell->items, text, (size_t)length) == PML_DONE ? PML_DONE
                                                                            : pml_say_memory(finish->message);
}

static pml_outcome read_all(struct finish *finish)
{
    char query[200];
    const long long number = finish->row->number;
    snprintf(query, sizeof query, "SELECT item, slot, digest%s FROM privatemail_items_%lld ORDER BY item",
             finish->row->info.dimensions > 0 ? ", place" : "", number);
    pml_outcome outcome = each_row(finish, query, take_item);
    snprintf(query, sizeof query, "SELECT slot, cell, item FROM privatemail_listed_%lld ORDER BY slot, cell, item",
             number);
    if (outcome == PML_DONE)
        outcome = each_row(finish, query, take_listed);
    if (outcome == PML_DONE)
        outcome = end_cell(finish);
    if (outcome == PML_DONE && !pml_store_digest_complete(&finish->digest))
        outcome = pml_say(finish->message,
                          NAME " has %llu items instead of %llu: check the input, then start again with --force.",
                          (unsigned long long)finish->digest.items, (unsigned long long)finish->row->info.items);
    return outcome;
}

pml_outcome pml_postgres_complete(PGconn *session, struct pml_gallery_row *row, struct pml_message *message)
{
    struct finish finish = {.session = session, .row = row, .message = message};
    char text[400];
    const long long number = row->number;
    pml_store_digest_begin(&finish.digest, &row->info);
    pml_outcome outcome = read_all(&finish);
    pml_bytes_free(&finish.cell.items);
    if (outcome != PML_DONE)
        return outcome;
    row->info.digest = finish.digest.value;
    snprintf(text, sizeof text, "CREATE INDEX ON privatemail_items_%lld USING gist(slot, place)", number);
    if (row->info.dimensions > 0 && pml_postgres_execute(session, text, 0.0) != PML_DONE)
        return pml_postgres_fail(session, message);
    snprintf(text, sizeof text,
             "DROP TABLE privatemail_listed_%lld; ANALYZE privatemail_items_%lld; ANALYZE privatemail_cells_%lld",
             number, number, number);
    return pml_postgres_execute(session, text, 0.0) == PML_DONE ? PML_DONE : pml_postgres_fail(session, message);
}
