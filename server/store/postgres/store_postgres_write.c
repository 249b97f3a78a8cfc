/* SPDX-License-Identifier: Apache-2.0
 * Writing a PostgreSQL store (SPEC 9). In: items, in their order. Out: a gallery that is done, or one that a later begin
 * goes on with.
 * Never lets readers see a gallery before all of it is there: what is added is a transaction, and so is the end. */
#include "common/digest.h"
#include "common/message.h"
#include "server/store/store_content.h"
#include "store_postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH ((size_t)256 << 10) /* bytes of items that are kept back */

struct postgres_writer {
    struct pml_store_writer base;
    PGconn *session;
    struct pml_gallery_row row;
    bool force, copying;     /* a transaction is open, and in it a COPY of items */
    uint64_t fresh;          /* items in this transaction */
    struct pml_bytes items;  /* not yet sent */
    struct pml_bytes listed; /* of this transaction: a connection does one COPY at a time */
    struct pml_bytes candidate;
};

static int free_writer(struct postgres_writer *writer, int status)
{
    PQfinish(writer->session); /* rolls back */
    pml_bytes_free(&writer->items);
    pml_bytes_free(&writer->listed);
    pml_bytes_free(&writer->candidate);
    free(writer);
    return status;
}

/* ---- begin ---- */

/* There is a finished gallery already, and it may not be replaced. */
static int check_done(struct postgres_writer *writer, struct pml_message *message)
{
    struct pml_gallery_row done;
    int found = pml_postgres_find(writer->session, "done", writer->base.info.pack, &done, message);
    if (found > 0 && !writer->force)
        return pml_say(message, "the database has a gallery of this pack already: add --force to replace it.");
    return found < 0 ? found : 0;
}

/* Goes on with what was begun, or begins anew. */
static int take_up(struct postgres_writer *writer, const uint8_t source[32], struct pml_message *message)
{
    const struct pml_store_info *info = &writer->base.info;
    struct pml_gallery_row *row = &writer->row;
    int found = pml_postgres_find(writer->session, "building", info->pack, row, message);
    if (found < 0)
        return found;
    if (found > 0 && pml_store_same_info(&row->info, info) && memcmp(row->source, source, sizeof row->source) == 0)
        return 0;
    int status = found > 0 ? pml_postgres_drop(writer->session, row->number, message) : 0;
    row->info = *info;
    memcpy(row->source, source, sizeof row->source);
    if (status == 0)
        status = pml_postgres_create(writer->session, row, message);
    if (status == 0 && found > 0)
        pml_say(message, "what was begun from other inputs or options is dropped: starting anew.");
    return status;
}

int pml_postgres_begin(struct pml_store_writer **out, const char *place, const struct pml_store_info *info,
                       const uint8_t source[32], bool force, uint64_t *done, struct pml_message *message)
{
    struct postgres_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return pml_say_memory(message);
    writer->base.info = *info;
    writer->force = force;
    writer->session = pml_postgres_connect(place, message);
    int status = writer->session ? pml_postgres_lock(writer->session, info->pack, message) : -1;
    if (status == 0)
        status = pml_postgres_prepare(writer->session, info, message);
    if (status == 0)
        status = check_done(writer, message);
    if (status == 0)
        status = take_up(writer, source, message);
    if (status != 0)
        return free_writer(writer, status);
    *done = writer->row.added;
    *out = &writer->base;
    return 0;
}

/* ---- add: PostgreSQL's binary form of COPY ---- */

static int put_number(struct pml_bytes *bytes, uint64_t value, size_t size)
{
    uint8_t number[8];
    for (size_t i = 0; i < size; i++)
        number[i] = (uint8_t)(value >> 8 * (size - 1 - i));
    return pml_bytes_append(bytes, number, size);
}

static int put_field(struct pml_bytes *bytes, const void *value, size_t size)
{
    return put_number(bytes, size, 4) | pml_bytes_append(bytes, value, size);
}

static int put_number_field(struct pml_bytes *bytes, uint64_t value, size_t size)
{
    return put_number(bytes, size, 4) | put_number(bytes, value, size);
}

static int put_head(struct pml_bytes *bytes)
{
    static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0"; /* and that of the text: no flags, no more */
    return pml_bytes_append(bytes, head, 19);
}

static int start_copy(struct postgres_writer *writer, struct pml_message *message)
{
    char text[128];
    snprintf(text, sizeof text, "COPY privatemail_items_%lld FROM STDIN (FORMAT binary)",
             (long long)writer->row.number);
    if (!pml_postgres_execute(writer->session, "BEGIN", 0.0) || !pml_postgres_copy(writer->session, text))
        return pml_postgres_fail(writer->session, message);
    writer->copying = true;
    writer->items.size = writer->listed.size = 0;
    return put_head(&writer->items) | put_head(&writer->listed) ? pml_say_memory(message) : 0;
}

static int send_items(struct postgres_writer *writer, struct pml_message *message)
{
    bool sent = pml_postgres_put(writer->session, &writer->items);
    writer->items.size = 0;
    if (sent)
        return 0;
    (void)pml_postgres_copied(writer->session); /* for the reason */
    return pml_postgres_fail(writer->session, message);
}

static int put_item(struct postgres_writer *writer, const struct pml_store_item *item)
{
    const uint32_t dimensions = writer->base.info.dimensions;
    const struct pml_bytes *candidate = &writer->candidate;
    uint8_t point[PML_POSTGRES_POINT_MAX];
    struct pml_bytes *items = &writer->items, *listed = &writer->listed;
    int failed = put_number(items, dimensions > 0 ? 5 : 4, 2) | put_number_field(items, item->candidate.item, 8) |
                 put_number_field(items, item->slot, 4);
    if (dimensions > 0)
        failed |= put_field(items, point, pml_postgres_point(item->place, dimensions, point));
    failed |= put_number_field(items, pml_digest_string(0, candidate->bytes, candidate->size), 8) |
              put_field(items, candidate->bytes, candidate->size);
    for (uint32_t i = 0; i < item->cell_count && !failed; i++)
        failed = put_number(listed, 3, 2) | put_number_field(listed, item->slot, 4) |
                 put_number_field(listed, item->cells[i], 4) | put_number_field(listed, item->candidate.item, 8);
    return failed;
}

int pml_postgres_add(struct pml_store_writer *base, const struct pml_store_item *item, struct pml_message *message)
{
    struct postgres_writer *writer = (struct postgres_writer *)base;
    int status = writer->copying ? 0 : start_copy(writer, message);
    if (status != 0)
        return status;
    writer->candidate.size = 0;
    if (pml_candidate_write(&writer->candidate, &item->candidate) != 0 || put_item(writer, item) != 0)
        return pml_say_memory(message);
    writer->fresh++;
    return writer->items.size < FLUSH ? 0 : send_items(writer, message);
}

/* ---- durable ---- */

/* Ends the COPY; the transaction stays open. */
static int flush(struct postgres_writer *writer, struct pml_message *message)
{
    char text[128];
    if (put_number(&writer->items, 0xFFFF, 2) != 0 || put_number(&writer->listed, 0xFFFF, 2) != 0)
        return pml_say_memory(message);
    int status = send_items(writer, message);
    if (status != 0)
        return status;
    writer->copying = false;
    snprintf(text, sizeof text, "COPY privatemail_listed_%lld FROM STDIN (FORMAT binary)",
             (long long)writer->row.number);
    if (!pml_postgres_copied(writer->session) || !pml_postgres_copy(writer->session, text) ||
        !pml_postgres_put(writer->session, &writer->listed) || !pml_postgres_copied(writer->session))
        return pml_postgres_fail(writer->session, message);
    writer->row.added += writer->fresh;
    writer->fresh = 0;
    snprintf(text, sizeof text, "UPDATE privatemail_galleries SET added = %llu WHERE gallery = %lld",
             (unsigned long long)writer->row.added, (long long)writer->row.number);
    return pml_postgres_execute(writer->session, text, 0.0) ? 0 : pml_postgres_fail(writer->session, message);
}

int pml_postgres_checkpoint(struct pml_store_writer *base, struct pml_message *message)
{
    struct postgres_writer *writer = (struct postgres_writer *)base;
    if (!writer->copying)
        return 0;
    int status = flush(writer, message);
    if (status == 0 && !pml_postgres_execute(writer->session, "COMMIT", 0.0))
        status = pml_postgres_fail(writer->session, message);
    return status;
}

/* In one transaction the old gallery retires and the new one is there. */
static int take_over(struct postgres_writer *writer, struct pml_message *message)
{
    char text[400], pack[2 * PML_ID_SIZE + 3];
    pml_postgres_hex(writer->base.info.pack, PML_ID_SIZE, pack);
    int status = check_done(writer, message);
    if (status != 0)
        return status;
    snprintf(text, sizeof text,
             "UPDATE privatemail_galleries SET state = 'retired' WHERE state = 'done' AND pack = '%s'::bytea;"
             "UPDATE privatemail_galleries SET state = 'done', digest = %lld WHERE gallery = %lld;"
             "COMMIT",
             pack, (long long)(int64_t)writer->row.info.digest, (long long)writer->row.number);
    return pml_postgres_execute(writer->session, text, 0.0) ? 0 : pml_postgres_fail(writer->session, message);
}

int pml_postgres_finish(struct pml_store_writer *base, struct pml_message *message)
{
    struct postgres_writer *writer = (struct postgres_writer *)base;
    int status = 0;
    if (writer->copying)
        status = flush(writer, message);
    else if (!pml_postgres_execute(writer->session, "BEGIN", 0.0))
        status = pml_postgres_fail(writer->session, message);
    if (status == 0)
        status = pml_postgres_complete(writer->session, &writer->row, message);
    if (status == 0)
        status = take_over(writer, message);
    if (status == 0)
        pml_postgres_sweep(writer->session, base->info.pack);
    return free_writer(writer, status);
}

void pml_postgres_abandon(struct pml_store_writer *base)
{
    free_writer((struct postgres_writer *)base, 0);
}
