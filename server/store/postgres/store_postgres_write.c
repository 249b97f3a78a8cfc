/* SPDX-License-Identifier: Apache-2.0
 * Writing a PostgreSQL store (SPEC 9): a gallery that is done, or one that a later begin continues. What is added is a
 * transaction, and so is the end, so readers never see a gallery before it is complete. */
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

static pml_outcome free_writer(struct postgres_writer *writer, pml_outcome outcome)
{
    PQfinish(writer->session); /* rolls back */
    pml_bytes_free(&writer->items);
    pml_bytes_free(&writer->listed);
    pml_bytes_free(&writer->candidate);
    free(writer);
    return outcome;
}

/* ---- begin ---- */

/* There is a finished gallery already, and it may not be replaced. */
static pml_outcome check_done(struct postgres_writer *writer, struct pml_message *message)
{
    struct pml_gallery_row done;
    int found;
    pml_outcome outcome = pml_postgres_find(writer->session, "done", writer->base.info.pack, &done, &found, message);
    if (outcome == PML_DONE && found > 0 && !writer->force)
        return pml_say(message, "the database has a gallery of this pack already: add --force to replace it.");
    return outcome;
}

/* Continues what was begun, or begins anew. */
static pml_outcome take_up(struct postgres_writer *writer, const uint8_t source[32], struct pml_message *message)
{
    const struct pml_store_info *info = &writer->base.info;
    struct pml_gallery_row *row = &writer->row;
    int found;
    pml_outcome outcome = pml_postgres_find(writer->session, "building", info->pack, row, &found, message);
    if (outcome != PML_DONE)
        return outcome;
    if (found > 0 && pml_store_same_info(&row->info, info) && memcmp(row->source, source, sizeof row->source) == 0)
        return PML_DONE;
    if (found > 0)
        outcome = pml_postgres_drop(writer->session, row->number, message);
    row->info = *info;
    memcpy(row->source, source, sizeof row->source);
    if (outcome == PML_DONE)
        outcome = pml_postgres_create(writer->session, row, message);
    if (outcome == PML_DONE && found > 0)
        pml_say(message, "what was begun from other inputs or options is dropped: starting again.");
    return outcome;
}

pml_outcome pml_postgres_begin(struct pml_store_writer **out, const char *target, const struct pml_store_info *info,
                               const uint8_t source[32], bool force, uint64_t *done, struct pml_message *message)
{
    struct postgres_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return pml_say_memory(message);
    writer->base.info = *info;
    writer->force = force;
    pml_outcome outcome = pml_postgres_connect(target, &writer->session, message);
    if (outcome == PML_DONE)
        outcome = pml_postgres_lock(writer->session, info->pack, message);
    if (outcome == PML_DONE)
        outcome = pml_postgres_prepare(writer->session, info, message);
    if (outcome == PML_DONE)
        outcome = check_done(writer, message);
    if (outcome == PML_DONE)
        outcome = take_up(writer, source, message);
    if (outcome != PML_DONE)
        return free_writer(writer, outcome);
    *done = writer->row.added;
    *out = &writer->base;
    return PML_DONE;
}

/* ---- add: PostgreSQL's binary form of COPY ---- */

/* Whether there was memory. */
static bool put_number(struct pml_bytes *bytes, uint64_t value, size_t size)
{
    uint8_t number[8];
    for (size_t i = 0; i < size; i++)
        number[i] = (uint8_t)(value >> 8 * (size - 1 - i));
    return pml_bytes_append(bytes, number, size) == PML_DONE;
}

static bool put_field(struct pml_bytes *bytes, const void *value, size_t size)
{
    return put_number(bytes, size, 4) && pml_bytes_append(bytes, value, size) == PML_DONE;
}

static bool put_number_field(struct pml_bytes *bytes, uint64_t value, size_t size)
{
    return put_number(bytes, size, 4) && put_number(bytes, value, size);
}

static bool put_head(struct pml_bytes *bytes)
{
    static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0"; /* and that of the text: no flags, no more */
    return pml_bytes_append(bytes, head, 19) == PML_DONE;
}

static pml_outcome start_copy(struct postgres_writer *writer, struct pml_message *message)
{
    char text[128];
    snprintf(text, sizeof text, "COPY privatemail_items_%lld FROM STDIN (FORMAT binary)",
             (long long)writer->row.number);
    if (pml_postgres_execute(writer->session, "BEGIN", 0.0) != PML_DONE ||
        pml_postgres_copy(writer->session, text) != PML_DONE)
        return pml_postgres_fail(writer->session, message);
    writer->copying = true;
    writer->items.size = writer->listed.size = 0;
    return put_head(&writer->items) && put_head(&writer->listed) ? PML_DONE : pml_say_memory(message);
}

static pml_outcome send_items(struct postgres_writer *writer, struct pml_message *message)
{
    pml_outcome outcome = pml_postgres_put(writer->session, &writer->items);
    writer->items.size = 0;
    if (outcome == PML_DONE)
        return PML_DONE;
    (void)pml_postgres_copied(writer->session); /* for the reason */
    return pml_postgres_fail(writer->session, message);
}

static bool put_item(struct postgres_writer *writer, const struct pml_store_item *item)
{
    const uint32_t dimensions = writer->base.info.dimensions;
    const struct pml_bytes *candidate = &writer->candidate;
    uint8_t point[PML_POSTGRES_POINT_MAX];
    struct pml_bytes *items = &writer->items, *listed = &writer->listed;
    bool put = put_number(items, dimensions > 0 ? 5 : 4, 2) && put_number_field(items, item->candidate.item, 8) &&
               put_number_field(items, item->slot, 4);
    if (dimensions > 0)
        put = put && put_field(items, point, pml_postgres_point(item->place, dimensions, point));
    put = put && put_number_field(items, pml_digest_string(0, candidate->bytes, candidate->size), 8) &&
          put_field(items, candidate->bytes, candidate->size);
    for (uint32_t i = 0; i < item->cell_count && put; i++)
        put = put_number(listed, 3, 2) && put_number_field(listed, item->slot, 4) &&
              put_number_field(listed, item->cells[i], 4) && put_number_field(listed, item->candidate.item, 8);
    return put;
}

pml_outcome pml_postgres_add(struct pml_store_writer *base, const struct pml_store_item *item,
                             struct pml_message *message)
{
    struct postgres_writer *writer = (struct postgres_writer *)base;
    pml_outcome outcome = writer->copying ? PML_DONE : start_copy(writer, message);
    if (outcome != PML_DONE)
        return outcome;
    writer->candidate.size = 0;
    if (pml_candidate_write(&writer->candidate, &item->candidate) != PML_DONE || !put_item(writer, item))
        return pml_say_memory(message);
    writer->fresh++;
    return writer->items.size < FLUSH ? PML_DONE : send_items(writer, message);
}

/* ---- durable ---- */

/* Ends the COPY; the transaction stays open. */
static pml_outcome flush(struct postgres_writer *writer, struct pml_message *message)
{
    char text[128];
    if (!put_number(&writer->items, 0xFFFF, 2) || !put_number(&writer->listed, 0xFFFF, 2))
        return pml_say_memory(message);
    pml_outcome outcome = send_items(writer, message);
    if (outcome != PML_DONE)
        return outcome;
    writer->copying = false;
    snprintf(text, sizeof text, "COPY privatemail_listed_%lld FROM STDIN (FORMAT binary)",
             (long long)writer->row.number);
    if (pml_postgres_copied(writer->session) != PML_DONE || pml_postgres_copy(writer->session, text) != PML_DONE ||
        pml_postgres_put(writer->session, &writer->listed) != PML_DONE ||
        pml_postgres_copied(writer->session) != PML_DONE)
        return pml_postgres_fail(writer->session, message);
    writer->row.added += writer->fresh;
    writer->fresh = 0;
    snprintf(text, sizeof text, "UPDATE privatemail_galleries SET added = %llu WHERE gallery = %lld",
             (unsigned long long)writer->row.added, (long long)writer->row.number);
    return pml_postgres_execute(writer->session, text, 0.0) == PML_DONE ? PML_DONE
                                                                        : pml_postgres_fail(writer->session, message);
}

pml_outcome pml_postgres_checkpoint(struct pml_store_writer *base, struct pml_message *message)
{
    struct postgres_writer *writer = (struct postgres_writer *)base;
    if (!writer->copying)
        return PML_DONE;
    pml_outcome outcome = flush(writer, message);
    if (outcome == PML_DONE && pml_postgres_execute(writer->session, "COMMIT", 0.0) != PML_DONE)
        outcome = pml_postgres_fail(writer->session, message);
    return outcome;
}

/* In one transaction the old gallery retires and the new one is there. */
static pml_outcome take_over(struct postgres_writer *writer, struct pml_message *message)
{
    char text[400], pack[2 * PML_ID_SIZE + 3];
    pml_postgres_hex(writer->base.info.pack, PML_ID_SIZE, pack);
    pml_outcome outcome = check_done(writer, message);
    if (outcome != PML_DONE)
        return outcome;
    snprintf(text, sizeof text,
             "UPDATE privatemail_galleries SET state = 'retired' WHERE state = 'done' AND pack = '%s'::bytea;"
             "UPDATE privatemail_galleries SET state = 'done', digest = %lld WHERE gallery = %lld;"
             "COMMIT",
             pack, (long long)(int64_t)writer->row.info.digest, (long long)writer->row.number);
    return pml_postgres_execute(writer->session, text, 0.0) == PML_DONE ? PML_DONE
                                                                        : pml_postgres_fail(writer->session, message);
}

pml_outcome pml_postgres_finish(struct pml_store_writer *base, struct pml_message *message)
{
    struct postgres_writer *writer = (struct postgres_writer *)base;
    pml_outcome outcome = PML_DONE;
    if (writer->copying)
        outcome = flush(writer, message);
    else if (pml_postgres_execute(writer->session, "BEGIN", 0.0) != PML_DONE)
        outcome = pml_postgres_fail(writer->session, message);
    if (outcome == PML_DONE)
        outcome = pml_postgres_complete(writer->session, &writer->row, message);
    if (outcome == PML_DONE)
        outcome = take_over(writer, message);
    if (outcome == PML_DONE)
        pml_postgres_sweep(writer->session, base->info.pack);
    return free_writer(writer, outcome);
}

void pml_postgres_abandon(struct pml_store_writer *base)
{
    free_writer((struct postgres_writer *)base, PML_DONE);
}
