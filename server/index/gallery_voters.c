/* SPDX-License-Identifier: Apache-2.0
 * Voters as private blobs: they are remembered, so that later changes vote alike. */
#include "gallery_neighbours.h"
#include "server/gallery/blob_kind.h"
#include "server/gallery/little_endian.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 20, BLOB_ROWS = 65536 };

static const char what[] = "the voters";
static const struct pml_blob_kind kind = {{'P', 'M', 'G', 'V'}, 1, what};

void pml_voters_free(struct pml_voters *voters)
{
    pml_rows_free(&voters->rows);
    free(voters->slots);
    *voters = (struct pml_voters){0};
}

static pml_outcome save_blob(struct pml_store *store, const struct pml_voters *voters, size_t first, size_t count,
                             struct pml_name *name, struct pml_message *message)
{
    const size_t columns = voters->rows.columns;
    const uint32_t head[] = {(uint32_t)count, (uint32_t)columns, voters->slots != NULL};
    struct pml_bytes bytes = {0};
    if (pml_bytes_reserve(&bytes, HEAD + count * (columns + 4)) != PML_DONE)
        return pml_say_memory(message);
    uint8_t *at = bytes.bytes + HEAD;
    pml_blob_begin(&kind, bytes.bytes);
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        pml_put32(bytes.bytes + 8 + 4 * i, head[i]);
    for (size_t i = 0; i < count && voters->slots; i++, at += 4)
        pml_put32(at, voters->slots[first + i]);
    memcpy(at, voters->rows.values + first * columns, count * columns);
    at += count * columns;
    const pml_outcome outcome =
        pml_store_put(store, PML_PRIVATE, bytes.bytes, (size_t)(at - bytes.bytes), name, message);
    pml_bytes_free(&bytes);
    return outcome;
}

pml_outcome pml_voters_save(struct pml_store *store, const struct pml_voters *voters, struct pml_state *state,
                            struct pml_message *message)
{
    pml_outcome outcome = PML_DONE;
    state->voters = calloc(voters->rows.count / BLOB_ROWS + 1, sizeof *state->voters);
    if (!state->voters)
        return pml_say_memory(message);
    for (size_t first = 0; first < voters->rows.count && outcome == PML_DONE; first += BLOB_ROWS) {
        const size_t left = voters->rows.count - first;
        outcome = save_blob(store, voters, first, left < BLOB_ROWS ? left : BLOB_ROWS,
                            &state->voters[state->voter_count++], message);
    }
    return outcome;
}

/* Appends the rows of a blob. */
static pml_outcome add_blob(const struct pml_bytes *bytes, struct pml_voters *voters, struct pml_bytes *values,
                            struct pml_bytes *slots, size_t columns, struct pml_message *message)
{
    const pml_outcome begun = pml_blob_begins(&kind, bytes->bytes, bytes->size, message);
    if (begun != PML_DONE)
        return begun;
    if (bytes->size < HEAD || pml_get32(bytes->bytes + 12) != columns)
        return PML_DAMAGED;
    const size_t count = pml_get32(bytes->bytes + 8), own = pml_get32(bytes->bytes + 16) != 0 ? 4 : 0;
    if (bytes->size - HEAD != (uint64_t)count * (columns + own))
        return PML_DAMAGED;
    if (pml_bytes_append(slots, bytes->bytes + HEAD, count * own) != PML_DONE ||
        pml_bytes_append(values, bytes->bytes + HEAD + count * own, count * columns) != PML_DONE)
        return PML_NO_MEMORY;
    voters->rows.count += count;
    return PML_DONE;
}

static pml_outcome fill(struct pml_voters *voters, const struct pml_bytes *values, const struct pml_bytes *slots,
                        size_t columns)
{
    const size_t count = voters->rows.count;
    if (slots->size != 0 && slots->size != 4 * count)
        return PML_DAMAGED;
    if (pml_rows_allocate(&voters->rows, count, columns) != PML_DONE)
        return PML_NO_MEMORY;
    memcpy(voters->rows.values, values->bytes, values->size);
    for (size_t i = 0; i < count; i++)
        pml_rows_measure(&voters->rows, i);
    if (slots->size == 0)
        return PML_DONE;
    voters->slots = malloc(count * sizeof *voters->slots);
    for (size_t i = 0; i < count && voters->slots; i++)
        voters->slots[i] = pml_get32(slots->bytes + 4 * i);
    return voters->slots ? PML_DONE : PML_NO_MEMORY;
}

pml_outcome pml_voters_load(struct pml_store *store, const struct pml_state *state, struct pml_voters *voters,
                            struct pml_message *message)
{
    struct pml_bytes values = {0}, slots = {0};
    pml_outcome outcome = PML_DONE;
    *voters = (struct pml_voters){0};
    for (size_t i = 0; i < state->voter_count && outcome == PML_DONE; i++) {
        struct pml_bytes bytes = {0};
        outcome = pml_blob_load(store, PML_PRIVATE, &state->voters[i], what, &bytes, message);
        if (outcome == PML_DONE)
            outcome = pml_blob_say(add_blob(&bytes, voters, &values, &slots, state->columns, message), what, message);
        pml_bytes_free(&bytes);
    }
    if (outcome == PML_DONE && voters->rows.count > 0)
        outcome = pml_blob_say(fill(voters, &values, &slots, state->columns), what, message);
    pml_bytes_free(&values);
    pml_bytes_free(&slots);
    return outcome;
}
