/* SPDX-License-Identifier: Apache-2.0
 * From release to answer. In: a release's bytes, from anybody. Out: a whole answer, or an error and nothing. */
#include "service.h"

#include "common/message.h"

#include <stdlib.h>
#include <string.h>

struct pml_service {
    const pml_pack *pack;
    pml_pack_info info;
    struct pml_store *store;
    struct pml_embedding *frames; /* NULL: the store has no places */
    struct pml_cache *cache;      /* or NULL */
    uint32_t nearest;
    atomic_ullong *counts; /* QUERIES and TOUCHED */
};

enum { QUERIES, TOUCHED, COUNTS };

/* ---- opening ---- */

static int check_fit(const pml_pack_info *info, const struct pml_store_info *store, struct pml_message *message)
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
    return 0;
}

int pml_service_open(struct pml_service **service, const pml_pack *pack, struct pml_store *store,
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
    int failed = made->counts ? 0 : pml_say_memory(message);
    if (!failed && pml_pack_describe(pack, &made->info) != PML_OK)
        failed = pml_say(message, "the pack is not open. Open it first.");
    if (!failed)
        failed = check_fit(&made->info, stored, message);
    if (!failed && stored->dimensions > 0)
        failed =
            pml_embedding_make(&made->frames, pack, stored->iterations, options->threads, options->progress, message);
    if (failed) {
        pml_service_close(made);
        return failed;
    }
    *service = made;
    return 0;
}

void pml_service_close(struct pml_service *service)
{
    if (!service)
        return;
    pml_embedding_free(service->frames);
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

int pml_service_ping(const struct pml_service *service)
{
    return pml_store_ping(service->store);
}

struct pml_service_counts pml_service_count(const struct pml_service *service)
{
    return (struct pml_service_counts){service->counts[QUERIES], service->counts[TOUCHED]};
}

/* ---- answering ---- */

/* Every byte of the release is validated here, and that this store can serve its mechanism. */
static int parse(const struct pml_service *service, const void *release, size_t size, pml_release_view *view)
{
    int status = pml_release_parse(service->pack, release, size, view);
    if (status != PML_OK)
        return status;
    bool served = view->mechanism == PML_GAUSSIAN
                      ? service->frames != NULL
                      : pml_store_lists(pml_store_describe(service->store)) != PML_LISTS_NONE;
    return served && service->info.sketch > 0 ? PML_OK : PML_ERROR_SECTION;
}

static int place_rows(const struct pml_service *service, const void *release, size_t size, double *places)
{
    size_t count = (size_t)service->info.slots * service->info.dimensions;
    float *rows = malloc(count * sizeof *rows);
    if (!rows)
        return PML_STORE_NO_MEMORY;
    int status = pml_release_rows(service->pack, release, size, rows, count);
    if (status == PML_OK && pml_embedding_place(service->frames, rows, places) != 0)
        status = PML_STORE_NO_MEMORY;
    free(rows);
    return status;
}

int pml_service_place(const struct pml_service *service, const void *release, size_t size, double *places)
{
    pml_release_view view;
    int status = parse(service, release, size, &view);
    if (status == PML_OK && view.mechanism != PML_GAUSSIAN)
        status = PML_ERROR_SECTION;
    return status == PML_OK ? place_rows(service, release, size, places) : status;
}

/* What a slot gets for a cell: the part that is kept, or a new one. */
static int cell_part(const struct pml_service *service, uint32_t slot, uint32_t cell, struct pml_part **part,
                     bool *touched)
{
    const struct pml_cache_key key = {service->store, slot, cell};
    struct pml_fragment candidates = {0};
    *part = service->cache ? pml_cache_find(service->cache, &key) : NULL;
    if (*part)
        return PML_OK;
    *touched = true;
    int status = pml_store_cell(service->store, slot, cell, &candidates);
    if (status == PML_STORE_OK && !(*part = pml_part_make(slot, &candidates)))
        status = PML_STORE_NO_MEMORY;
    if (status == PML_STORE_OK && service->cache)
        pml_cache_keep(service->cache, &key, *part);
    pml_bytes_free(&candidates.bytes);
    return status;
}

static int nearest_part(const struct pml_service *service, uint32_t slot, const double *place, struct pml_part **part)
{
    struct pml_fragment candidates = {0};
    int status = pml_store_nearest(service->store, slot, place, service->nearest, &candidates);
    if (status == PML_STORE_OK && !(*part = pml_part_make(slot, &candidates)))
        status = PML_STORE_NO_MEMORY;
    pml_bytes_free(&candidates.bytes);
    return status;
}

static int slot_parts(const struct pml_service *service, const pml_release_view *view, const double *places,
                      struct pml_parts *parts)
{
    bool touched = places != NULL;
    int status = PML_OK;
    for (uint32_t c = 0; c < service->info.slots && status == PML_OK; c++) {
        struct pml_part **part = &parts->parts[parts->count];
        status = places ? nearest_part(service, c, places + (size_t)c * service->info.dimensions, part)
                        : cell_part(service, c, pml_release_symbol(view, c), part, &touched);
        parts->count += status == PML_OK;
        parts->size += status == PML_OK ? (*part)->size : 0;
    }
    if (status == PML_OK) {
        service->counts[QUERIES]++;
        service->counts[TOUCHED] += touched;
    }
    return status;
}

int pml_service_header(const struct pml_service *service, struct pml_part **header)
{
    const pml_pack_info *info = &service->info;
    struct pml_bytes bytes = {0};
    *header = pml_answer_write_header(&bytes, info->id, info->slots, info->sketch,
                                      pml_store_describe(service->store)->items) == 0
                  ? pml_part_copy(&bytes)
                  : NULL;
    pml_bytes_free(&bytes);
    return *header ? PML_OK : PML_STORE_NO_MEMORY;
}

bool pml_service_has_cell(const struct pml_service *service, uint32_t slot, uint32_t cell)
{
    return slot < service->info.slots && cell < service->info.cells && service->info.sketch > 0 &&
           pml_store_lists(pml_store_describe(service->store)) != PML_LISTS_NONE;
}

int pml_service_cell(const struct pml_service *service, uint32_t slot, uint32_t cell, struct pml_part **part)
{
    bool touched = false;
    *part = NULL;
    if (!pml_service_has_cell(service, slot, cell))
        return PML_ERROR_SECTION;
    return cell_part(service, slot, cell, part, &touched);
}

void pml_parts_free(struct pml_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        pml_part_release(parts->parts[i]);
    free(parts->parts);
    *parts = (struct pml_parts){0};
}

int pml_service_parts(const struct pml_service *service, const void *release, size_t size, struct pml_parts *parts)
{
    pml_release_view view;
    double *places = NULL;
    *parts = (struct pml_parts){0};
    int status = parse(service, release, size, &view);
    if (status != PML_OK)
        return status;
    parts->parts = calloc((size_t)service->info.slots + 1, sizeof *parts->parts);
    status = parts->parts ? pml_service_header(service, &parts->parts[0]) : PML_STORE_NO_MEMORY;
    if (status == PML_OK) {
        parts->count = 1;
        parts->size = parts->parts[0]->size;
    }
    if (status == PML_OK && view.mechanism == PML_GAUSSIAN) {
        places = malloc((size_t)service->info.slots * service->info.dimensions * sizeof *places);
        status = places ? place_rows(service, release, size, places) : PML_STORE_NO_MEMORY;
    }
    if (status == PML_OK)
        status = slot_parts(service, &view, places, parts);
    free(places);
    if (status != PML_OK)
        pml_parts_free(parts);
    return status;
}

int pml_service_visit(const struct pml_service *service, const void *release, size_t size, pml_slot_fn slot,
                      void *context)
{
    struct pml_parts parts;
    int status = pml_service_parts(service, release, size, &parts);
    for (size_t i = 1; i < parts.count && status == PML_OK; i++) {
        const struct pml_fragment candidates = pml_part_candidates(parts.parts[i]);
        status = slot(context, (uint32_t)(i - 1), &candidates);
    }
    pml_parts_free(&parts);
    return status;
}

int pml_service_answer(const struct pml_service *service, const void *release, size_t size, struct pml_bytes *answer)
{
    struct pml_parts parts;
    int status = pml_service_parts(service, release, size, &parts);
    for (size_t i = 0; i < parts.count && status == PML_OK; i++) {
        if (pml_bytes_append(answer, parts.parts[i]->bytes, parts.parts[i]->size) != 0)
            status = PML_STORE_NO_MEMORY;
    }
    pml_parts_free(&parts);
    if (status != PML_OK)
        pml_bytes_free(answer);
    return status;
}
