/* SPDX-License-Identifier: Apache-2.0
 * Opens a version of a gallery. In: a store, which may hold anything. Out: a service whose manifest fits the pack and whose
 * places are in memory, or a message. */
#include "service_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- what versions share ---- */

static void drop_embedding(struct service_embedding *shared)
{
    if (!shared || atomic_fetch_sub(&shared->references, 1) != 1)
        return;
    pml_embedding_free(shared->embedding);
    free(shared);
}

static void drop_places(struct service_places *shared)
{
    if (!shared || atomic_fetch_sub(&shared->references, 1) != 1)
        return;
    pml_places_free(&shared->places);
    free(shared);
}

struct pml_service *pml_service_ref(struct pml_service *service)
{
    atomic_fetch_add_explicit(&service->references, 1, memory_order_relaxed);
    return service;
}

void pml_service_unref(struct pml_service *service)
{
    if (!service || atomic_fetch_sub(&service->references, 1) != 1)
        return;
    for (uint32_t slot = 0; service->places && slot < service->info.slots; slot++)
        drop_places(service->places[slot]);
    free(service->places);
    drop_embedding(service->embedding);
    pml_manifest_free(&service->manifest);
    pml_part_unref(service->header);
    pml_part_unref(service->message_header);
    free(service);
}

/* ---- manifest ---- */

struct manifest_reading {
    struct pml_service *service;
    struct pml_message *message;
};

/* A pml_blob_fn. */
static pml_outcome take_manifest(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    const struct manifest_reading *reading = context;
    (void)index;
    return pml_manifest_read(bytes, size, &reading->service->manifest, reading->message);
}

static pml_outcome say_unread(pml_outcome outcome, const char *what, struct pml_message *message)
{
    if (outcome == PML_NO_MEMORY)
        return pml_say_memory(message);
    if (outcome == PML_OTHER_VERSION) /* its reader has said which */
        return outcome;
    pml_say(message, "%s of the gallery %s. %s", what,
            outcome == PML_ABSENT        ? "are not in the store"
            : outcome == PML_UNAVAILABLE ? "cannot be read now"
                                         : "are damaged",
            outcome == PML_UNAVAILABLE ? "Check that the store can be reached, and try again."
                                       : "Index the gallery again (privatemail index).");
    return outcome;
}

static pml_outcome read_manifest(struct pml_service *service, struct pml_message *message)
{
    struct manifest_reading reading = {service, message};
    pml_outcome outcome = pml_store_get(service->store, PML_PARTS, &service->version, 1, take_manifest, &reading);
    if (outcome == PML_DONE && !pml_manifest_fits(&service->manifest, &service->info))
        return pml_say(message,
                       "the gallery was indexed for another pack. Index it with this one (privatemail index).");
    if (outcome == PML_DONE && !pml_longest_sound(&service->manifest, &service->info))
        outcome = PML_DAMAGED;
    return outcome == PML_DONE ? PML_DONE : say_unread(outcome, "the manifests", message);
}

/* ---- places ---- */

/* Slots whose places are read. */
struct reading {
    struct pml_service *service;
    struct pml_name *names;
    uint32_t *slots;
    size_t count;
    struct pml_message *message;
};

/* A pml_blob_fn. */
static pml_outcome take_places(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    const struct reading *reading = context;
    const uint32_t slot = reading->slots[index];
    struct service_places *made = calloc(1, sizeof *made);
    if (!made)
        return PML_NO_MEMORY;
    atomic_init(&made->references, 1);
    reading->service->places[slot] = made;
    const pml_outcome outcome = pml_places_read(bytes, size, &made->places, reading->message);
    if (outcome != PML_DONE)
        return outcome;
    return made->places.slot == slot && made->places.dimensions == reading->service->manifest.dimensions ? PML_DONE
                                                                                                         : PML_DAMAGED;
}

/* The places of another version stay where the name is the same. */
static pml_outcome gather_places(struct reading *reading, const struct pml_service *previous)
{
    struct pml_service *service = reading->service;
    for (uint32_t slot = 0; slot < service->info.slots; slot++) {
        const struct pml_name *name = &service->manifest.places[slot].name;
        if (previous && previous->places && pml_name_same(name, &previous->manifest.places[slot].name)) {
            service->places[slot] = previous->places[slot];
            atomic_fetch_add(&service->places[slot]->references, 1);
            continue;
        }
        reading->names[reading->count] = *name;
        reading->slots[reading->count++] = slot;
    }
    pml_outcome outcome = reading->count == 0 ? PML_DONE
                                              : pml_store_get(service->store, PML_PARTS, reading->names, reading->count,
                                                              take_places, reading);
    for (uint32_t slot = 1; slot < service->info.slots && outcome == PML_DONE; slot++)
        if (service->places[slot]->places.iterations != service->places[0]->places.iterations)
            outcome = PML_DAMAGED;
    return outcome;
}

static pml_outcome read_places(struct pml_service *service, const struct pml_service *previous,
                               struct pml_message *message)
{
    const uint32_t slots = service->info.slots;
    struct reading reading = {.service = service,
                              .names = malloc(slots * sizeof *reading.names),
                              .slots = malloc(slots * sizeof *reading.slots),
                              .message = message};
    service->places = calloc(slots, sizeof(struct service_places *));
    pml_outcome outcome =
        service->places && reading.names && reading.slots ? gather_places(&reading, previous) : PML_NO_MEMORY;
    free(reading.names);
    free(reading.slots);
    return outcome == PML_DONE ? PML_DONE : say_unread(outcome, "the places", message);
}

static pml_outcome make_embedding(struct pml_service *service, const struct pml_service *previous,
                                  struct pml_message *message)
{
    const uint32_t iterations = service->places[0]->places.iterations;
    if (previous && previous->embedding && previous->embedding->iterations == iterations) {
        service->embedding = previous->embedding;
        atomic_fetch_add(&service->embedding->references, 1);
        return PML_DONE;
    }
    service->embedding = calloc(1, sizeof *service->embedding);
    if (!service->embedding)
        return pml_say_memory(message);
    atomic_init(&service->embedding->references, 1);
    service->embedding->iterations = iterations;
    return pml_embedding_make(&service->embedding->embedding, service->pack, iterations, service->options.threads,
                              service->options.progress, message);
}

/* ---- lengths and headers ---- */

static pml_outcome measure(struct pml_service *service, struct pml_message *message)
{
    struct pml_longest *longest = &service->longest;
    const struct pml_places **places = malloc(service->info.slots * sizeof(struct pml_places *));
    for (uint32_t slot = 0; places && service->places && slot < service->info.slots; slot++)
        places[slot] = &service->places[slot]->places;
    pml_outcome outcome = places
                              ? pml_longest_measure(&service->manifest, &service->info, service->places ? places : NULL,
                                                    service->options.nearest, longest)
                              : PML_NO_MEMORY;
    free(places);
    if (outcome != PML_DONE)
        return pml_say_memory(message);
    const uint64_t most = service->options.answer_max > 0 ? service->options.answer_max : UINT64_MAX;
    if (longest->message > most || longest->response > most || longest->gaussian > most)
        return pml_say(message,
                       "answers can have more than %llu bytes, which is too long to be sealed. Index the gallery with "
                       "shorter lists or payloads, or serve without --ohttp-key.",
                       (unsigned long long)most);
    return PML_DONE;
}

static struct pml_part *make_header(const struct pml_service *service, uint32_t slots)
{
    struct pml_bytes bytes = {0};
    struct pml_part *header = NULL;
    if (pml_answer_write_header(&bytes, &service->info, slots, service->manifest.items) == PML_DONE)
        header = pml_part_copy(bytes.bytes, bytes.size);
    pml_bytes_free(&bytes);
    return header;
}

static pml_outcome make_headers(struct pml_service *service, struct pml_message *message)
{
    service->header = make_header(service, service->info.slots);
    service->message_header = make_header(service, 1);
    return service->header && service->message_header ? PML_DONE : pml_say_memory(message);
}

/* ---- all ---- */

static pml_outcome open_version(struct pml_service *service, const struct pml_service *previous,
                                struct pml_message *message)
{
    pml_outcome outcome = read_manifest(service, message);
    if (outcome == PML_DONE && service->manifest.dimensions > 0) {
        outcome = read_places(service, previous, message);
        if (outcome == PML_DONE)
            outcome = make_embedding(service, previous, message);
    }
    if (outcome == PML_DONE)
        outcome = measure(service, message);
    return outcome == PML_DONE ? make_headers(service, message) : outcome;
}

static pml_outcome make_service(struct pml_service **service, const pml_pack *pack, struct pml_store *store,
                                const struct pml_service_options *options, struct pml_message *message)
{
    struct pml_service *made = calloc(1, sizeof *made);
    *service = made;
    if (!made)
        return pml_say_memory(message);
    atomic_init(&made->references, 1);
    made->pack = pack;
    made->store = store;
    made->options = *options;
    if (made->options.nearest == 0)
        made->options.nearest = PML_NEAREST_DEFAULT;
    return pml_pack_describe(pack, &made->info) == PML_OK ? PML_DONE
                                                          : pml_say(message, "the pack is not open. Open it first.");
}

/* The version that the pointer names now. */
static pml_outcome read_pointer(struct pml_service *service, struct pml_message *message)
{
    struct pml_pointer pointer = {0};
    const pml_outcome outcome = pml_store_pointer(service->store, service->info.id, &pointer);
    service->version = pointer.version;
    if (outcome == PML_DONE && !pml_name_none(&pointer.version))
        return PML_DONE;
    if (outcome != PML_DONE && outcome != PML_ABSENT)
        return say_unread(outcome, "the pointers", message);
    pml_say(message, "the store has no gallery of this pack. Make one with privatemail index.");
    return PML_ABSENT;
}

static pml_outcome finish(struct pml_service **service, pml_outcome outcome)
{
    if (outcome == PML_DONE) {
        (*service)->options.progress = NULL; /* the caller's; nobody waits for later versions */
        return PML_DONE;
    }
    pml_service_unref(*service);
    *service = NULL;
    return outcome;
}

pml_outcome pml_service_open(struct pml_service **service, const pml_pack *pack, struct pml_store *store,
                             const struct pml_service_options *options, struct pml_message *message)
{
    pml_outcome outcome = make_service(service, pack, store, options, message);
    if (outcome == PML_DONE)
        outcome = read_pointer(*service, message);
    return finish(service, outcome == PML_DONE ? open_version(*service, NULL, message) : outcome);
}

pml_outcome pml_service_next(struct pml_service **next, const struct pml_service *service,
                             const struct pml_name *version, struct pml_message *message)
{
    pml_outcome outcome = make_service(next, service->pack, service->store, &service->options, message);
    if (outcome == PML_DONE)
        (*next)->version = *version;
    return finish(next, outcome == PML_DONE ? open_version(*next, service, message) : outcome);
}
