/* SPDX-License-Identifier: Apache-2.0
 * Records, states and buildings as bytes. In: what a store holds under a name that was proved. Out: counts that fit its
 * length. */
#include "record.h"
#include "server/gallery/blob_kind.h"
#include "server/gallery/little_endian.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEAD = 8,
    RECORD_HEAD = HEAD + PML_ID_SIZE + 8,
    STATE_HEAD = HEAD + PML_ID_SIZE + 56,
    KEPT = 2 * PML_NAME_SIZE,
    PAGE = 12 + 2 * PML_NAME_SIZE,
    NEIGHBOURS = 4 + PML_NAME_SIZE,
    BUILDING = HEAD + 32 + 4 + PML_NAME_SIZE
};

static const struct pml_blob_kind record_kind = {{'P', 'M', 'G', 'R'}, 1, "the record of the gallery"},
                                  state_kind = {{'P', 'M', 'G', 'S'}, 1, "what index knows about the gallery"},
                                  building_kind = {{'P', 'M', 'G', 'B'}, 1, "what an unfinished index has done"};

/* Room for so many bytes behind a head; NULL when out of memory. */
static uint8_t *begin(struct pml_bytes *bytes, const struct pml_blob_kind *kind, size_t size)
{
    if (pml_bytes_reserve(bytes, size) != PML_DONE)
        return NULL;
    uint8_t *at = bytes->bytes + bytes->size;
    bytes->size += size;
    pml_blob_begin(kind, at);
    return at;
}

/* Whether this is one, with a whole head. */
static pml_outcome begins(const uint8_t *bytes, size_t size, const struct pml_blob_kind *kind, size_t least,
                          struct pml_message *message)
{
    const pml_outcome begun = pml_blob_begins(kind, bytes, size, message);
    return begun == PML_DONE && size < least ? PML_DAMAGED : begun;
}

static uint8_t *put_name(uint8_t *at, const struct pml_name *name)
{
    memcpy(at, name->bytes, PML_NAME_SIZE);
    return at + PML_NAME_SIZE;
}

static const uint8_t *get_name(const uint8_t *at, struct pml_name *name)
{
    memcpy(name->bytes, at, PML_NAME_SIZE);
    return at + PML_NAME_SIZE;
}

/* ---- states ---- */

static uint64_t state_size(const struct pml_state *state)
{
    return STATE_HEAD + (uint64_t)state->page_count * PAGE + (uint64_t)state->voter_count * PML_NAME_SIZE +
           (uint64_t)state->neighbour_count * NEIGHBOURS;
}

pml_outcome pml_state_write(const struct pml_state *state, struct pml_bytes *bytes)
{
    uint8_t *at = begin(bytes, &state_kind, (size_t)state_size(state));
    if (!at)
        return PML_NO_MEMORY;
    memcpy(at + HEAD, state->pack, PML_ID_SIZE);
    pml_put64(at + 24, state->items);
    pml_put64(at + 32, state->settings.fixed_at);
    const uint32_t numbers[] = {state->settings.list,
                                state->settings.cells_per_item,
                                state->settings.iterations,
                                state->columns,
                                state->sketch,
                                state->dimensions,
                                state->page_count,
                                state->voter_count,
                                state->neighbour_count,
                                0};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        pml_put32(at + 40 + 4 * i, numbers[i]);
    at += STATE_HEAD;
    for (size_t i = 0; i < state->page_count; i++) {
        pml_put64(at, state->pages[i].first);
        pml_put32(at + 8, state->pages[i].items);
        at = put_name(put_name(at + 12, &state->pages[i].rows), &state->pages[i].payloads);
    }
    for (size_t i = 0; i < state->voter_count; i++)
        at = put_name(at, &state->voters[i]);
    for (size_t i = 0; i < state->neighbour_count; i++) {
        pml_put32(at, state->neighbours[i].slot);
        at = put_name(at + 4, &state->neighbours[i].name);
    }
    return PML_DONE;
}

static bool read_tables(const uint8_t *at, struct pml_state *state)
{
    uint64_t items = 0;
    bool ascending = true;
    for (size_t i = 0; i < state->page_count; i++) {
        state->pages[i].first = pml_get64(at);
        state->pages[i].items = pml_get32(at + 8);
        at = get_name(get_name(at + 12, &state->pages[i].rows), &state->pages[i].payloads);
        items += state->pages[i].items;
        ascending =
            ascending && state->pages[i].items > 0 && (i == 0 || state->pages[i].first > state->pages[i - 1].first);
    }
    for (size_t i = 0; i < state->voter_count; i++)
        at = get_name(at, &state->voters[i]);
    for (size_t i = 0; i < state->neighbour_count; i++) {
        state->neighbours[i].slot = pml_get32(at);
        at = get_name(at + 4, &state->neighbours[i].name);
    }
    return ascending && items == state->items;
}

pml_outcome pml_state_read(const uint8_t *bytes, size_t size, struct pml_state *state, struct pml_message *message)
{
    *state = (struct pml_state){0};
    const pml_outcome begun = begins(bytes, size, &state_kind, STATE_HEAD, message);
    if (begun != PML_DONE)
        return begun;
    memcpy(state->pack, bytes + HEAD, PML_ID_SIZE);
    state->items = pml_get64(bytes + 24);
    state->settings = (struct pml_settings){.fixed_at = pml_get64(bytes + 32),
                                            .list = pml_get32(bytes + 40),
                                            .cells_per_item = pml_get32(bytes + 44),
                                            .iterations = pml_get32(bytes + 48)};
    uint32_t *const numbers[] = {&state->columns,    &state->sketch,      &state->dimensions,
                                 &state->page_count, &state->voter_count, &state->neighbour_count};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = pml_get32(bytes + 52 + 4 * i);
    if (state_size(state) != size || state->settings.cells_per_item > 2 || state->items >= UINT32_MAX)
        return PML_DAMAGED;
    state->pages = malloc(((size_t)state->page_count + 1) * sizeof *state->pages);
    state->voters = malloc(((size_t)state->voter_count + 1) * sizeof *state->voters);
    state->neighbours = malloc(((size_t)state->neighbour_count + 1) * sizeof *state->neighbours);
    if (!state->pages || !state->voters || !state->neighbours)
        return PML_NO_MEMORY;
    return read_tables(bytes + STATE_HEAD, state) ? PML_DONE : PML_DAMAGED;
}

void pml_state_free(struct pml_state *state)
{
    free(state->pages);
    free(state->voters);
    free(state->neighbours);
    *state = (struct pml_state){0};
}

/* ---- records ---- */

pml_outcome pml_record_write(const struct pml_record *record, struct pml_bytes *bytes)
{
    uint8_t *at = begin(bytes, &record_kind, RECORD_HEAD + (size_t)record->count * KEPT);
    if (!at)
        return PML_NO_MEMORY;
    memcpy(at + HEAD, record->pack, PML_ID_SIZE);
    pml_put32(at + 24, record->keep);
    pml_put32(at + 28, record->count);
    at += RECORD_HEAD;
    for (size_t i = 0; i < record->count; i++)
        at = put_name(put_name(at, &record->history[i].version), &record->history[i].state);
    return PML_DONE;
}

pml_outcome pml_record_read(const uint8_t *bytes, size_t size, struct pml_record *record, struct pml_message *message)
{
    *record = (struct pml_record){0};
    const pml_outcome begun = begins(bytes, size, &record_kind, RECORD_HEAD, message);
    if (begun != PML_DONE)
        return begun;
    memcpy(record->pack, bytes + HEAD, PML_ID_SIZE);
    record->keep = pml_get32(bytes + 24);
    record->count = pml_get32(bytes + 28);
    if (size - RECORD_HEAD != (uint64_t)record->count * KEPT || record->count == 0 || record->keep == 0)
        return PML_DAMAGED;
    record->history = malloc(record->count * sizeof *record->history);
    if (!record->history)
        return PML_NO_MEMORY;
    const uint8_t *at = bytes + RECORD_HEAD;
    for (size_t i = 0; i < record->count; i++)
        at = get_name(get_name(at, &record->history[i].version), &record->history[i].state);
    return PML_DONE;
}

void pml_record_free(struct pml_record *record)
{
    free(record->history);
    *record = (struct pml_record){0};
}

pml_outcome pml_record_push(struct pml_record *record, const struct pml_kept *kept)
{
    struct pml_kept *history = malloc(((size_t)record->count + 1) * sizeof *history);
    uint32_t count = 1;
    if (!history)
        return PML_NO_MEMORY;
    history[0] = *kept;
    for (uint32_t i = 0; i < record->count; i++)
        if (!pml_name_same(&record->history[i].version, &kept->version))
            history[count++] = record->history[i];
    free(record->history);
    record->history = history;
    record->count = count < record->keep ? count : record->keep;
    return PML_DONE;
}

/* ---- unfinished ones ---- */

pml_outcome pml_building_write(const struct pml_building *building, struct pml_bytes *bytes)
{
    uint8_t *at = begin(bytes, &building_kind, BUILDING);
    if (!at)
        return PML_NO_MEMORY;
    memcpy(at + HEAD, building->inputs, 32);
    pml_put32(at + HEAD + 32, (uint32_t)building->done);
    put_name(at + HEAD + 36, &building->state);
    return PML_DONE;
}

pml_outcome pml_building_read(const uint8_t *bytes, size_t size, struct pml_building *building,
                              struct pml_message *message)
{
    *building = (struct pml_building){0};
    const pml_outcome begun = begins(bytes, size, &building_kind, BUILDING, message);
    if (begun != PML_DONE)
        return begun;
    if (size != BUILDING || pml_get32(bytes + HEAD + 32) > PML_STAGE_NEIGHBOURS)
        return PML_DAMAGED;
    memcpy(building->inputs, bytes + HEAD, 32);
    building->done = (enum pml_stage)pml_get32(bytes + HEAD + 32);
    get_name(bytes + HEAD + 36, &building->state);
    return PML_DONE;
}
