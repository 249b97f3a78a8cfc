/* SPDX-License-Identifier: Apache-2.0
 * From release to answer. In: a release from anybody, read once. Out: a whole answer, or an outcome and nothing. */
#include "service_state.h"

#include <stdlib.h>

/* ---- what it is ---- */

const pml_pack_info *pml_service_pack(const struct pml_service *service)
{
    return &service->info;
}

const struct pml_name *pml_service_version(const struct pml_service *service)
{
    return &service->version;
}

const struct pml_manifest *pml_service_manifest(const struct pml_service *service)
{
    return &service->manifest;
}

const struct pml_longest *pml_service_longest(const struct pml_service *service)
{
    return &service->longest;
}

const struct pml_part *pml_service_header(const struct pml_service *service)
{
    return service->header;
}

const struct pml_places *pml_service_places(const struct pml_service *service, uint32_t slot)
{
    return service->places ? &service->places[slot]->places : NULL;
}

pml_status pml_service_read(const struct pml_service *service, const void *release, size_t size, pml_release_view *view)
{
    return pml_release_parse(service->pack, release, size, view);
}

static bool serves(const struct pml_service *service, unsigned mechanism)
{
    return service->info.sketch > 0 &&
           (mechanism == PML_GAUSSIAN ? service->embedding != NULL : service->manifest.cells > 0);
}

pml_outcome pml_service_place(const struct pml_service *service, const pml_release_view *view, double *places)
{
    const size_t count = (size_t)service->info.slots * service->info.dimensions;
    if (view->mechanism != PML_GAUSSIAN || !serves(service, PML_GAUSSIAN))
        return PML_REFUSED;
    float *rows = malloc(count * sizeof *rows);
    if (!rows)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        rows[i] = (float)((double)pml_release_value(view, i) * view->step);
    pml_embedding_place(service->embedding->embedding, rows, places);
    free(rows);
    return PML_DONE;
}

/* ---- parts by their names ---- */

/* Parts that are read from the store: their names, and where they go. */
struct missing {
    struct pml_cache *cache;
    struct pml_name *names;
    struct pml_part ***targets;
    size_t count;
};

/* A pml_blob_fn. */
static pml_outcome take_part(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    const struct missing *missing = context;
    struct pml_part *part = pml_part_copy(bytes, size);
    if (!part)
        return PML_NO_MEMORY;
    *missing->targets[index] = part;
    if (missing->cache)
        pml_cache_keep(missing->cache, &missing->names[index], part);
    return PML_DONE;
}

static pml_outcome read_missing(const struct pml_service *service, const struct pml_name *names, size_t count,
                                struct pml_part **parts)
{
    struct missing missing = {service->options.cache, malloc(count * sizeof *missing.names),
                              malloc(count * sizeof *missing.targets), 0};
    pml_outcome outcome = missing.names && missing.targets ? PML_DONE : PML_NO_MEMORY;
    for (size_t i = 0; i < count && outcome == PML_DONE; i++) {
        if (parts[i])
            continue;
        missing.names[missing.count] = names[i];
        missing.targets[missing.count++] = &parts[i];
    }
    if (outcome == PML_DONE)
        outcome = pml_store_get(service->store, PML_PARTS, missing.names, missing.count, take_part, &missing);
    free(missing.names);
    free(missing.targets);
    return outcome;
}

pml_outcome pml_service_fetch(const struct pml_service *service, const struct pml_name *names, size_t count,
                              struct pml_part **parts, bool *touched)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        parts[i] = NULL;
    if (service->options.cache)
        pml_cache_find(service->options.cache, names, count, parts);
    while (found < count && parts[found])
        found++;
    *touched = found < count;
    const pml_outcome outcome = *touched ? read_missing(service, names, count, parts) : PML_DONE;
    for (size_t i = 0; i < count && outcome != PML_DONE; i++) {
        pml_part_unref(parts[i]);
        parts[i] = NULL;
    }
    return outcome;
}

/* ---- answers ---- */

/* The slots that an answer has: all of the pack, or the one that a message of a crowd names (SPEC 3). */
static uint32_t slots_of(const struct pml_service *service, const pml_release_view *view)
{
    return view->mechanism == PML_CROWD ? 1 : service->info.slots;
}

/* The list that a response or crowd release names for a part of its answer. */
static const struct pml_entry *entry_of(const struct pml_service *service, const pml_release_view *view, uint32_t index)
{
    const uint32_t symbol = pml_release_symbol(view, index);
    const size_t cell = view->mechanism == PML_CROWD ? symbol : (size_t)index * service->info.cells + symbol;
    return &service->manifest.parts[cell];
}

static pml_outcome listed(const struct pml_service *service, const pml_release_view *view, struct pml_part **parts,
                          bool *touched)
{
    const uint32_t slots = slots_of(service, view);
    struct pml_name *names = malloc(slots * sizeof *names);
    if (!names)
        return PML_NO_MEMORY;
    for (uint32_t i = 0; i < slots; i++)
        names[i] = entry_of(service, view, i)->name;
    pml_outcome outcome = pml_service_fetch(service, names, slots, parts, touched);
    for (uint32_t i = 0; i < slots && outcome == PML_DONE; i++) /* lengths were promised from the manifest's sizes */
        outcome = parts[i]->size == entry_of(service, view, i)->size ? PML_DONE : PML_DAMAGED;
    free(names);
    return outcome;
}

pml_outcome pml_service_parts(const struct pml_service *service, const pml_release_view *view, struct pml_parts *parts)
{
    const uint32_t slots = slots_of(service, view);
    bool touched = false;
    *parts = (struct pml_parts){0};
    if (!serves(service, view->mechanism))
        return PML_REFUSED;
    parts->parts = calloc((size_t)slots + 1, sizeof *parts->parts);
    if (!parts->parts)
        return PML_NO_MEMORY;
    parts->count = (size_t)slots + 1;
    parts->parts[0] = pml_part_ref(view->mechanism == PML_CROWD ? service->message_header : service->header);
    const pml_outcome outcome = view->mechanism == PML_GAUSSIAN
                                    ? pml_service_nearest(service, view, parts->parts + 1, &touched)
                                    : listed(service, view, parts->parts + 1, &touched);
    if (outcome != PML_DONE) {
        pml_parts_free(parts);
        return outcome;
    }
    for (size_t i = 0; i < parts->count; i++)
        parts->size += parts->parts[i]->size;
    if (service->options.counts) {
        atomic_fetch_add_explicit(&service->options.counts->queries, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&service->options.counts->touched, touched, memory_order_relaxed);
    }
    return PML_DONE;
}

/* ---- all parts ---- */

uint64_t pml_service_parts_cost(const struct pml_service *service)
{
    const size_t lists = (size_t)service->manifest.slots * service->manifest.cells;
    uint64_t cost = lists * pml_cache_cost(0);
    for (size_t i = 0; i < lists; i++)
        cost += service->manifest.parts[i].size;
    for (uint32_t slot = 0; service->places && slot < service->info.slots; slot++) {
        const struct pml_places *places = &service->places[slot]->places;
        cost += pml_longest_pages(places, &service->info) + places->page_count * pml_cache_cost(0);
    }
    return cost;
}

/* Reads names into the cache, some at a time. */
struct filling {
    const struct pml_service *service;
    struct pml_name names[64];
    size_t count;
};

static pml_outcome flush(struct filling *filling)
{
    struct pml_part *parts[sizeof filling->names / sizeof filling->names[0]];
    bool touched;
    const size_t count = filling->count;
    filling->count = 0;
    const pml_outcome outcome = pml_service_fetch(filling->service, filling->names, count, parts, &touched);
    for (size_t i = 0; i < count; i++)
        pml_part_unref(parts[i]);
    return outcome;
}

static pml_outcome fill(struct filling *filling, const struct pml_name *name)
{
    filling->names[filling->count++] = *name;
    return filling->count == sizeof filling->names / sizeof filling->names[0] ? flush(filling) : PML_DONE;
}

pml_outcome pml_service_fill_cache(const struct pml_service *service)
{
    struct filling filling = {.service = service};
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < (size_t)service->manifest.slots * service->manifest.cells && outcome == PML_DONE; i++)
        outcome = fill(&filling, &service->manifest.parts[i].name);
    for (uint32_t slot = 0; service->places && slot < service->info.slots; slot++) {
        const struct pml_places *places = &service->places[slot]->places;
        for (size_t i = 0; i < places->page_count && outcome == PML_DONE; i++)
            outcome = fill(&filling, &places->pages[i].name);
    }
    return outcome == PML_DONE ? flush(&filling) : outcome;
}

/* ---- one part ---- */

bool pml_service_has(const struct pml_service *service, const struct pml_name *name)
{
    bool found = pml_name_same(name, &service->version);
    for (size_t i = 0; i < pml_manifest_entries(&service->manifest) && !found; i++)
        found = pml_name_same(name, &service->manifest.parts[i].name);
    for (uint32_t slot = 0; service->places && slot < service->info.slots && !found; slot++) {
        const struct pml_places *places = &service->places[slot]->places;
        for (size_t i = 0; i < places->page_count && !found; i++)
            found = pml_name_same(name, &places->pages[i].name);
    }
    return found;
}

pml_outcome pml_service_part(const struct pml_service *service, const struct pml_name *name, struct pml_part **part)
{
    bool touched;
    return pml_service_fetch(service, name, 1, part, &touched);
}
