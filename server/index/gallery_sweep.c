/* SPDX-License-Identifier: Apache-2.0
 * First all that is needed is found, then all else goes. */
#include "gallery_sweep.h"
#include "server/gallery/little_endian.h"
#include "server/gallery/manifest.h"
#include "server/gallery/places.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a version needs ---- */

/* Pages of places: 40 bytes each, at the end (SPEC 8.2). */
enum { PLACES_HEAD = 32, PLACES_PAGE = 8 + PML_NAME_SIZE };

struct taking {
    struct pml_name_set *parts;
    struct pml_message *message;
};

static pml_outcome take_places(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    const struct taking *taking = context;
    (void)index;
    const pml_outcome begun = pml_places_begin(bytes, size, taking->message);
    if (begun != PML_DONE || size < PLACES_HEAD)
        return begun != PML_DONE ? begun : PML_DAMAGED;
    const size_t pages = pml_get32(bytes + 24);
    if ((size - PLACES_HEAD) / PLACES_PAGE < pages)
        return PML_DAMAGED;
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < pages && outcome == PML_DONE; i++) {
        struct pml_name name;
        memcpy(name.bytes, bytes + size - (pages - i) * PLACES_PAGE + 8, PML_NAME_SIZE);
        outcome = pml_name_set_add(taking->parts, &name);
    }
    return outcome;
}

static pml_outcome add_manifest(struct pml_store *store, const struct pml_manifest *manifest,
                                struct pml_name_set *parts, struct pml_message *message)
{
    struct taking taking = {parts, message};
    const size_t entries = pml_manifest_entries(manifest), cells = (size_t)manifest->slots * manifest->cells;
    struct pml_name *places = malloc((entries - cells + 1) * sizeof *places);
    size_t unread = 0;
    pml_outcome outcome = places ? PML_DONE : PML_NO_MEMORY;
    for (size_t i = 0; i < entries && outcome == PML_DONE; i++) {
        if (i >= cells && !pml_name_set_has(parts, &manifest->parts[i].name))
            places[unread++] = manifest->parts[i].name;
        outcome = pml_name_set_add(parts, &manifest->parts[i].name);
    }
    for (size_t i = 0; i < unread && outcome == PML_DONE; i++) /* one by one: they may be large */
        outcome = pml_store_get(store, PML_PARTS, &places[i], 1, take_places, &taking);
    free(places);
    return outcome;
}

pml_outcome pml_version_parts(struct pml_store *store, const struct pml_name *version, struct pml_name_set *parts,
                              struct pml_message *message)
{
    struct pml_manifest manifest = {0};
    struct pml_bytes bytes = {0};
    pml_outcome outcome = pml_blob_load(store, PML_PARTS, version, "the manifest of a version", &bytes, message);
    if (outcome == PML_DONE)
        outcome = pml_blob_say(pml_manifest_read(bytes.bytes, bytes.size, &manifest, message),
                               "the manifest of a version", message);
    if (outcome == PML_DONE)
        outcome = pml_blob_say(add_manifest(store, &manifest, parts, message), "a part of a version", message);
    if (outcome == PML_DONE && pml_name_set_add(parts, version) != PML_DONE)
        outcome = pml_say_memory(message);
    pml_manifest_free(&manifest);
    pml_bytes_free(&bytes);
    return outcome;
}

pml_outcome pml_state_blobs(const struct pml_state *state, struct pml_name_set *blobs)
{
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < state->page_count && outcome == PML_DONE; i++) {
        outcome = pml_name_set_add(blobs, &state->pages[i].rows);
        if (outcome == PML_DONE)
            outcome = pml_name_set_add(blobs, &state->pages[i].payloads);
    }
    for (size_t i = 0; i < state->voter_count && outcome == PML_DONE; i++)
        outcome = pml_name_set_add(blobs, &state->voters[i]);
    for (size_t i = 0; i < state->neighbour_count && outcome == PML_DONE; i++)
        outcome = pml_name_set_add(blobs, &state->neighbours[i].name);
    return outcome;
}

/* ---- what all need ---- */

struct needed {
    struct pml_store *store;
    struct pml_name_set blobs[PML_SHELVES];
    struct pml_pointer *pointers; /* of all packs */
    size_t count;
    struct pml_message *message;
};

static pml_outcome take_pointer(void *context, const uint8_t pack[PML_ID_SIZE], const struct pml_pointer *pointer)
{
    struct needed *needed = context;
    struct pml_pointer *grown = realloc(needed->pointers, (needed->count + 1) * sizeof *grown);
    (void)pack;
    if (!grown)
        return PML_NO_MEMORY;
    needed->pointers = grown;
    needed->pointers[needed->count++] = *pointer;
    return PML_DONE;
}

static pml_outcome need_state(struct needed *needed, const struct pml_name *name)
{
    struct pml_name_set *blobs = &needed->blobs[PML_PRIVATE];
    struct pml_state state = {0};
    pml_outcome outcome = pml_state_load(needed->store, name, &state, needed->message);
    if (outcome == PML_DONE &&
        (pml_name_set_add(blobs, name) != PML_DONE || pml_state_blobs(&state, blobs) != PML_DONE))
        outcome = pml_say_memory(needed->message);
    pml_state_free(&state);
    return outcome;
}

static pml_outcome need_record(struct needed *needed, const struct pml_name *name)
{
    struct pml_record record = {0};
    pml_outcome outcome = pml_record_load(needed->store, name, &record, needed->message);
    if (outcome == PML_DONE && pml_name_set_add(&needed->blobs[PML_PRIVATE], name) != PML_DONE)
        outcome = pml_say_memory(needed->message);
    for (size_t i = 0; i < record.count && outcome == PML_DONE; i++) {
        outcome =
            pml_version_parts(needed->store, &record.history[i].version, &needed->blobs[PML_PARTS], needed->message);
        if (outcome == PML_DONE)
            outcome = need_state(needed, &record.history[i].state);
    }
    pml_record_free(&record);
    return outcome;
}

static pml_outcome need_building(struct needed *needed, const struct pml_name *name)
{
    struct pml_building building;
    pml_outcome outcome = pml_building_load(needed->store, name, &building, needed->message);
    if (outcome == PML_DONE && pml_name_set_add(&needed->blobs[PML_PRIVATE], name) != PML_DONE)
        outcome = pml_say_memory(needed->message);
    return outcome == PML_DONE ? need_state(needed, &building.state) : outcome;
}

static pml_outcome need_pointer(struct needed *needed, const struct pml_pointer *pointer)
{
    pml_outcome outcome = PML_DONE;
    if (!pml_name_none(&pointer->version))
        outcome = pml_version_parts(needed->store, &pointer->version, &needed->blobs[PML_PARTS], needed->message);
    if (outcome == PML_DONE && !pml_name_none(&pointer->record))
        outcome = need_record(needed, &pointer->record);
    if (outcome == PML_DONE && !pml_name_none(&pointer->building))
        outcome = need_building(needed, &pointer->building);
    return outcome;
}

/* ---- what nobody needs ---- */

struct unneeded {
    const struct pml_name_set *needed;
    struct pml_name *names;
    size_t count, capacity;
};

static pml_outcome take_unneeded(void *context, const struct pml_name *name)
{
    struct unneeded *unneeded = context;
    if (pml_name_set_has(unneeded->needed, name))
        return PML_DONE;
    if (unneeded->count == unneeded->capacity) {
        const size_t capacity = 2 * unneeded->capacity + 64;
        struct pml_name *grown = realloc(unneeded->names, capacity * sizeof *grown);
        if (!grown)
            return PML_NO_MEMORY;
        unneeded->names = grown;
        unneeded->capacity = capacity;
    }
    unneeded->names[unneeded->count++] = *name;
    return PML_DONE;
}

static pml_outcome sweep_shelf(const struct needed *needed, enum pml_shelf shelf, uint64_t *swept)
{
    struct unneeded unneeded = {.needed = &needed->blobs[shelf]};
    pml_outcome outcome = pml_blob_say(pml_store_names(needed->store, shelf, take_unneeded, &unneeded),
                                       "the list of blobs", needed->message);
    if (outcome == PML_DONE && unneeded.count > 0)
        outcome = pml_store_remove(needed->store, shelf, unneeded.names, unneeded.count, needed->message);
    *swept += outcome == PML_DONE ? unneeded.count : 0;
    free(unneeded.names);
    return outcome;
}

pml_outcome pml_gallery_sweep(struct pml_store *store, const struct pml_name *also, uint64_t *swept,
                              struct pml_message *message)
{
    struct needed needed = {.store = store, .message = message};
    *swept = 0;
    pml_outcome outcome = pml_blob_say(pml_store_packs(store, take_pointer, &needed), "the list of packs", message);
    for (size_t i = 0; i < needed.count && outcome == PML_DONE; i++)
        outcome = need_pointer(&needed, &needed.pointers[i]);
    if (outcome == PML_DONE && also && !pml_name_none(also))
        outcome = pml_version_parts(store, also, &needed.blobs[PML_PARTS], message);
    for (int shelf = 0; shelf < PML_SHELVES && outcome == PML_DONE; shelf++)
        outcome = sweep_shelf(&needed, (enum pml_shelf)shelf, swept);
    for (int shelf = 0; shelf < PML_SHELVES; shelf++)
        pml_name_set_free(&needed.blobs[shelf]);
    free(needed.pointers);
    return outcome;
}
