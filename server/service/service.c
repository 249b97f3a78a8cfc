/* SPDX-License-Identifier: Apache-2.0
 * From release to answer. In: a release from anybody, read once. Out: a whole answer, or an outcome and nothing. */
#include "service.h"

#include "common/message.h"

#include <stdlib.h>
#include <string.h>

struct pml_service {
    const pml_pack *pack;
    pml_pack_info info;
    struct pml_store *store;
    struct pml_embedding *embedding; /* NULL: the store has no places */
    struct pml_cache *cache;         /* or NULL */
    uint32_t nearest;
    struct pml_longest longest;
    atomic_ullong *counts; /* QUERIES and TOUCHED */
};

enum { QUERIES, TOUCHED, COUNTS };

/* ---- opening ---- */

static pml_outcome check_fit(const pml_pack_info *info, const struct pml_store_info *store, struct pml_message *message)
{
    if (memcmp(info->id, store->pack, PML_ID_SIZE) != 0)
        return pml_say(message,
                       "the store was indexed with another pack. Use that pack, or index the gallery with this "
                       "one (privatemail index).");
    if (store->sketch != info->sketch)
        return pml_say(
            message, "the store has sketches of %u bytes, the pack of %u. Index the gallery again (privatemail index).",
            (unsigned)store->sketch, (unsigned)info->sketch);
    if (store->dimensions != 0 && (store->dimensions != info->dimensions || info->anchors == 0))
        return pml_say(message,
                       "the store's places have %u coordinates, which do not fit the pack's anchors. Index the gallery "
                       "again (privatemail index).",
                       (unsigned)store->dimensions);
    return PML_DONE;
}

static pml_outcome measure(struct pml_service *service, struct pml_message *message)
{
    pml_outcome outcome = pml_longest_measure(service->store, &service->info, service->nearest, &service->longest);
    if (outcome == PML_NO_MEMORY)
        return pml_say_memory(message);
    if (outcome != PML_DONE)
        pml_say(message, "the lengths of answers cannot be read from the store. Try again, or index the gallery again "
                         "(privatemail index).");
    return outcome;
}

pml_outcome pml_service_open(struct pml_service **service, const pml_pack *pack, struct pml_store *store,
                             const struct pml_service_options *options, struct pml_message *message)
{
    const struct pml_store_info *stored = pml_store_describe(store);
    struct pml_service *made = calloc(1, sizeof *made);
    *service = NULL;
    if (!made)
        return pml_say_memory(message);
    made->pack = pack;
    made->store = store;
    made->cache = options->cache;
    made->counts = calloc(COUNTS, sizeof *made->counts);
    made->nearest = options->nearest > 0 ? options->nearest : PML_NEAREST_DEFAULT;
    pml_outcome outcome = made->counts ? PML_DONE : pml_say_memory(message);
    if (outcome == PML_DONE && pml_pack_describe(pack, &made->info) != PML_OK)
        outcome = pml_say(message, "the pack is not open. Open it first.");
    if (outcome == PML_DONE)
        outcome = check_fit(&made->info, stored, message);
    if (outcome == PML_DONE && stored->dimensions > 0)
        outcome = pml_embedding_make(&made->embedding, pack, stored->iterations, options->threads, options->progress,
                                     message);
    if (outcome == PML_DONE && options->measure)
        outcome = measure(made, message);
    if (outcome == PML_DONE)
        *service = made;
    else
        pml_service_close(made);
    return outcome;
}

void pml_service_close(struct pml_service *service)
{
    if (!service)
        return;
    pml_embedding_free(service->embedding);
    free(service->counts);
    free(service);
}

const pml_pack_info *pml_service_pack(const struct pml_service *service)
{
    return &service->info;
}

const struct pml_store_info *pml_service_store(const struct pml_service *service)
{
    return pml_store_describe(service->store);
}

const struct pml_longest *pml_service_longest(const struct pml_service *service)
{
    return &service->longest;
}

pml_outcome pml_service_ping(const struct pml_service *service)
{
    return pml_store_ping(service->store);
}

struct pml_service_counts pml_service_count(const struct pml_service *service)
{
    return (struct pml_service_counts){service->counts[QUERIES], service->counts[TOUCHED]};
}

/* ---- reading a release ---- */

pml_status pml_service_read(const struct pml_service *service, const void *release, size_t size, pml_release_view *view)
{
    return pml_release_parse(service->pack, release, size, view);
}

static bool serves_cells(const struct pml_service *service)
{
    return service->info.sketch > 0 && pml_store_cell_lists(pml_store_describe(service->store)) != PML_LISTS_NONE;
}

static bool serves_places(const struct pml_service *service)
{
    return service->info.sketch > 0 && service->embedding;
}

pml_outcome pml_service_place(const struct pml_service *service, const pml_release_view *view, double *places)
{
    const size_t count = (size_t)service->info.slots * service->info.dimensions;
    if (view->mechanism != PML_GAUSSIAN || !serves_places(service))
        return PML_ABSENT;
    float *rows = malloc(count * sizeof *rows);
    if (!rows)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        rows[i] = (float)((double)pml_release_value(view, i) * view->step);
    pml_embedding_place(service->embedding, rows, places);
    free(rows);
    return PML_DONE;
}

/* ---- parts ---- */

/* The cells whose parts are read from the store: which they are, and where their parts go. */
struct missing {
    const struct pml_service *service;
    struct pml_cell *cells;
    struct pml_part ***targets;
    size_t count;
};

/* A pml_take_fn. */
static pml_outcome take_cell(void *context, size_t index, const struct pml_fragment *candidates)
{
    const struct missing *missing = context;
    const struct pml_service *service = missing->service;
    struct pml_part *part = pml_part_make(missing->cells[index].slot, candidates);
    *missing->targets[index] = part;
    if (part && service->cache)
        pml_cache_keep(service->cache, service->store, missing->cells[index], part);
    return part ? PML_DONE : PML_NO_MEMORY;
}

/* What the slots get for these cells: the parts that are kept, and all the others in one reading of the store. `parts`
 * are NULL at first; on failure some may be there. */
static pml_outcome cell_parts(const struct pml_service *service, const struct pml_cell *cells, size_t count,
                              struct pml_part **parts, bool *touched)
{
    struct missing missing = {service, malloc(count * sizeof *missing.cells), malloc(count * sizeof *missing.targets),
                              0};
    pml_outcome outcome = missing.cells && missing.targets ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE && service->cache)
        pml_cache_find(service->cache, service->store, cells, count, parts);
    for (size_t i = 0; i < count && outcome == PML_DONE; i++) {
        if (parts[i])
            continue;
        missing.cells[missing.count] = cells[i];
        missing.targets[missing.count++] = &parts[i];
    }
    *touched = missing.count > 0;
    if (outcome == PML_DONE)
        outcome = pml_store_cells(service->store, missing.cells, missing.count, take_cell, &missing);
    free(missing.cells);
    free(missing.targets);
    return outcome;
}

/* The slots that an answer has: all of the pack, or the one that a message of a crowd names (SPEC 3). */
static uint32_t slots_of(const struct pml_service *service, const pml_release_view *view)
{
    return view->mechanism == PML_CROWD ? 1 : service->info.slots;
}

/* The slot of the answer's part `index`, and for response and crowd the cell that the release names in it. */
static struct pml_cell cell_of(const struct pml_service *service, const pml_release_view *view, uint32_t index)
{
    const uint32_t cells = service->info.cells;
    if (view->mechanism == PML_GAUSSIAN)
        return (struct pml_cell){index, 0};
    const uint32_t symbol = pml_release_symbol(view, index);
    return view->mechanism == PML_CROWD ? (struct pml_cell){symbol / cells, symbol % cells}
                                        : (struct pml_cell){index, symbol};
}

static pml_outcome response_parts(const struct pml_service *service, const pml_release_view *view,
                                  struct pml_part **parts, bool *touched)
{
    const uint32_t slots = slots_of(service, view);
    struct pml_cell *cells = malloc(slots * sizeof *cells);
    if (!cells)
        return PML_NO_MEMORY;
    for (uint32_t index = 0; index < slots; index++)
        cells[index] = cell_of(service, view, index);
    pml_outcome outcome = cell_parts(service, cells, slots, parts, touched);
    free(cells);
    return outcome;
}

/* A pml_take_fn. */
static pml_outcome take_nearest(void *context, size_t index, const struct pml_fragment *candidates)
{
    struct pml_part **parts = context;
    parts[index] = pml_part_make((uint32_t)index, candidates);
    return parts[index] ? PML_DONE : PML_NO_MEMORY;
}

static pml_outcome gaussian_parts(const struct pml_service *service, const pml_release_view *view,
                                  struct pml_part **parts)
{
    const size_t slots = service->info.slots, dimensions = service->info.dimensions;
    double *places = malloc(slots * dimensions * sizeof *places);
    struct pml_point *points = malloc(slots * sizeof *points);
    pml_outcome outcome = places && points ? pml_service_place(service, view, places) : PML_NO_MEMORY;
    for (size_t slot = 0; slot < slots && outcome == PML_DONE; slot++)
        points[slot] = (struct pml_point){(uint32_t)slot, places + slot * dimensions};
    if (outcome == PML_DONE)
        outcome = pml_store_nearest(service->store, points, slots, service->nearest, take_nearest, parts);
    free(places);
    free(points);
    return outcome;
}

static pml_outcome make_header(const struct pml_service *service, uint32_t slots, struct pml_part **header)
{
    const pml_pack_info *info = &service->info;
    struct pml_bytes bytes = {0};
    *header = pml_answer_write_header(&bytes, info->id, slots, info->sketch,
                                      pml_store_describe(service->store)->items) == PML_DONE
                  ? pml_part_copy(&bytes)
                  : NULL;
    pml_bytes_free(&bytes);
    return *header ? PML_DONE : PML_NO_MEMORY;
}

pml_outcome pml_service_header(const struct pml_service *service, struct pml_part **header)
{
    return make_header(service, service->info.slots, header);
}

pml_outcome pml_service_parts(const struct pml_service *service, const pml_release_view *view, struct pml_parts *parts)
{
    const bool gaussian = view->mechanism == PML_GAUSSIAN;
    const uint32_t slots = slots_of(service, view);
    bool touched = true;
    *parts = (struct pml_parts){0};
    if (!(gaussian ? serves_places(service) : serves_cells(service)))
        return PML_ABSENT;
    parts->parts = calloc((size_t)slots + 1, sizeof *parts->parts);
    if (!parts->parts)
        return PML_NO_MEMORY;
    parts->count = (size_t)slots + 1;
    pml_outcome outcome = make_header(service, slots, &parts->parts[0]);
    if (outcome == PML_DONE)
        outcome = gaussian ? gaussian_parts(service, view, parts->parts + 1)
                           : response_parts(service, view, parts->parts + 1, &touched);
    if (outcome != PML_DONE) {
        pml_parts_free(parts);
        return outcome;
    }
    for (size_t i = 0; i < parts->count; i++)
        parts->size += parts->parts[i]->size;
    service->counts[QUERIES]++;
    service->counts[TOUCHED] += touched;
    return PML_DONE;
}

pml_outcome pml_service_visit(const struct pml_service *service, const pml_release_view *view, pml_slot_fn slot,
                              void *context)
{
    struct pml_parts parts;
    pml_outcome outcome = pml_service_parts(service, view, &parts);
    for (size_t i = 1; i < parts.count && outcome == PML_DONE; i++) {
        const struct pml_fragment candidates = pml_part_candidates(parts.parts[i]);
        outcome = slot(context, cell_of(service, view, (uint32_t)(i - 1)).slot, &candidates);
    }
    pml_parts_free(&parts);
    return outcome;
}

/* ---- one cell ---- */

bool pml_service_has_cell(const struct pml_service *service, struct pml_cell cell)
{
    return cell.slot < service->info.slots && cell.cell < service->info.cells && serves_cells(service);
}

pml_outcome pml_service_cell(const struct pml_service *service, struct pml_cell cell, struct pml_part **part)
{
    bool touched;
    *part = NULL;
    pml_outcome outcome =
        pml_service_has_cell(service, cell) ? cell_parts(service, &cell, 1, part, &touched) : PML_ABSENT;
    if (outcome != PML_DONE) {
        pml_part_unref(*part);
        *part = NULL;
    }
    return outcome;
}

/* ---- all cells ---- */

uint64_t pml_service_parts_cost(const struct pml_service *service)
{
    const uint64_t cells = (uint64_t)service->info.slots * service->info.cells;
    return serves_cells(service) ? service->longest.parts + cells * pml_cache_cost(0) : 0;
}

pml_outcome pml_service_fill_cache(const struct pml_service *service)
{
    enum { AT_ONCE = 64 };
    const uint64_t count = serves_cells(service) ? (uint64_t)service->info.slots * service->info.cells : 0;
    pml_outcome outcome = PML_DONE;
    for (uint64_t first = 0; first < count && outcome == PML_DONE; first += AT_ONCE) {
        struct pml_cell cells[AT_ONCE];
        struct pml_part *parts[AT_ONCE] = {NULL};
        const size_t some = count - first < AT_ONCE ? (size_t)(count - first) : AT_ONCE;
        bool touched;
        for (size_t i = 0; i < some; i++)
            cells[i] = (struct pml_cell){(uint32_t)((first + i) / service->info.cells),
                                         (uint32_t)((first + i) % service->info.cells)};
        outcome = cell_parts(service, cells, some, parts, &touched);
        for (size_t i = 0; i < some; i++)
            pml_part_unref(parts[i]);
    }
    return outcome;
}
