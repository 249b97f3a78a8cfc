/* SPDX-License-Identifier: Apache-2.0
 * From release to answer. In: a release's bytes, from anybody. Out: a whole answer, or an error and nothing. */
#include "service.h"

#include "messages.h"

#include <stdlib.h>
#include <string.h>

struct pml_service {
    const pml_pack *pack;
    pml_pack_info info;
    struct pml_store *store;
    struct pml_frames *frames; /* NULL: the store has no places */
    uint32_t nearest;
};

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
    made->nearest = options->nearest > 0 ? options->nearest : PML_NEAREST_DEFAULT;
    int failed = 0;
    if (pml_pack_describe(pack, &made->info) != PML_OK)
        failed = pml_say(message, "the pack is not open. Open it first.");
    if (!failed)
        failed = check_fit(&made->info, stored, message);
    if (!failed && stored->dimensions > 0)
        failed = pml_frames_make(&made->frames, pack, stored->iterations, options->threads, options->progress, message);
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
    pml_frames_free(service->frames);
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
    if (status == PML_OK && pml_frames_place(service->frames, rows, places) != 0)
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

static int visit_slots(const struct pml_service *service, const pml_release_view *view, const double *places,
                       pml_slot_fn slot, void *context)
{
    int status = PML_OK;
    for (uint32_t c = 0; c < service->info.slots && status == PML_OK; c++) {
        struct pml_fragment candidates = {0};
        if (view->mechanism == PML_GAUSSIAN)
            status = pml_store_nearest(service->store, c, places + (size_t)c * service->info.dimensions,
                                       service->nearest, &candidates);
        else
            status = pml_store_cell(service->store, c, pml_release_symbol(view, c), &candidates);
        if (status == PML_OK)
            status = slot(context, c, &candidates);
        pml_bytes_free(&candidates.bytes);
    }
    return status;
}

int pml_service_visit(const struct pml_service *service, const void *release, size_t size, pml_slot_fn slot,
                      void *context)
{
    pml_release_view view;
    double *places = NULL;
    int status = parse(service, release, size, &view);
    if (status == PML_OK && view.mechanism == PML_GAUSSIAN) {
        places = malloc((size_t)service->info.slots * service->info.dimensions * sizeof *places);
        status = places ? place_rows(service, release, size, places) : PML_STORE_NO_MEMORY;
    }
    if (status == PML_OK)
        status = visit_slots(service, &view, places, slot, context);
    free(places);
    return status;
}

static int append_slot(void *context, uint32_t slot, const struct pml_fragment *candidates)
{
    struct pml_bytes *answer = context;
    if (pml_answer_write_slot(answer, slot, candidates->count) != 0 ||
        pml_bytes_append(answer, candidates->bytes.bytes, candidates->bytes.size) != 0)
        return PML_STORE_NO_MEMORY;
    return PML_OK;
}

int pml_service_answer(const struct pml_service *service, const void *release, size_t size, struct pml_bytes *answer)
{
    const pml_pack_info *info = &service->info;
    int status = PML_OK;
    if (pml_answer_write_header(answer, info->id, info->slots, info->sketch,
                                pml_store_describe(service->store)->items) != 0)
        status = PML_STORE_NO_MEMORY;
    if (status == PML_OK)
        status = pml_service_visit(service, release, size, append_slot, answer);
    if (status != PML_OK)
        pml_bytes_free(answer);
    return status;
}
