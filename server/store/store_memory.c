/* SPDX-License-Identifier: Apache-2.0
 * A store in memory: lists of blobs, found by the first bytes of their names, and a few pointers. */
#include "store_kind.h"

#include <stdlib.h>
#include <string.h>

enum { CHAINS = 1 << 16 };

struct blob {
    struct blob *next;
    struct pml_name name;
    size_t size;
    uint8_t bytes[];
};

struct place {
    struct place *next; /* with a greater id */
    uint8_t pack[PML_ID_SIZE];
    struct pml_pointer pointer;
};

struct memory_store {
    struct pml_store base;
    struct blob *shelves[PML_SHELVES][CHAINS];
    struct place *places;
};

/* ---- blobs ---- */

/* Where the blob of this name is, or NULL stands where it belongs. */
static struct blob **find(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *name)
{
    struct blob **at = &((struct memory_store *)store)->shelves[shelf][name->bytes[0] << 8 | name->bytes[1]];
    while (*at && !pml_name_same(&(*at)->name, name))
        at = &(*at)->next;
    return at;
}

static void take_one_away(struct blob **at)
{
    struct blob *gone = *at;
    *at = gone->next;
    free(gone);
}

static pml_outcome put(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *name, const void *bytes,
                       size_t size, struct pml_message *message)
{
    struct blob **at = find(store, shelf, name);
    if (*at && (*at)->size == size && memcmp((*at)->bytes, bytes, size) == 0)
        return PML_DONE;
    struct blob *made = malloc(sizeof *made + size);
    if (!made)
        return pml_say_memory(message);
    if (*at)
        take_one_away(at);
    made->next = *at;
    made->name = *name;
    made->size = size;
    memcpy(made->bytes, bytes, size);
    *at = made;
    return PML_DONE;
}

static pml_outcome get(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *names, size_t count,
                       pml_blob_fn take, void *context)
{
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < count && outcome == PML_DONE; i++) {
        const struct blob *blob = *find(store, shelf, &names[i]);
        outcome = blob ? take(context, i, blob->bytes, blob->size) : PML_ABSENT;
    }
    return outcome;
}

static pml_outcome names(struct pml_store *store, enum pml_shelf shelf, pml_name_fn take, void *context)
{
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < CHAINS; i++)
        for (const struct blob *at = ((struct memory_store *)store)->shelves[shelf][i]; at && outcome == PML_DONE;
             at = at->next)
            outcome = take(context, &at->name);
    return outcome;
}

static pml_outcome take_away(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *gone, size_t count,
                             struct pml_message *message)
{
    (void)message;
    for (size_t i = 0; i < count; i++) {
        struct blob **at = find(store, shelf, &gone[i]);
        if (*at)
            take_one_away(at);
    }
    return PML_DONE;
}

/* ---- pointers ---- */

static pml_outcome packs(struct pml_store *store, const uint8_t *pack, pml_pack_fn take, void *context)
{
    pml_outcome outcome = PML_DONE;
    for (const struct place *at = ((struct memory_store *)store)->places; at && outcome == PML_DONE; at = at->next)
        if (!pack || memcmp(at->pack, pack, PML_ID_SIZE) == 0)
            outcome = take(context, at->pack, &at->pointer);
    return outcome;
}

static pml_outcome switch_pointer(struct pml_store *store, const uint8_t pack[PML_ID_SIZE],
                                  const struct pml_pointer *pointer, struct pml_message *message)
{
    struct place **at = &((struct memory_store *)store)->places;
    while (*at && memcmp((*at)->pack, pack, PML_ID_SIZE) < 0)
        at = &(*at)->next;
    if (!*at || memcmp((*at)->pack, pack, PML_ID_SIZE) != 0) {
        struct place *made = malloc(sizeof *made);
        if (!made)
            return pml_say_memory(message);
        made->next = *at;
        memcpy(made->pack, pack, PML_ID_SIZE);
        *at = made;
    }
    (*at)->pointer = *pointer;
    return PML_DONE;
}

/* ---- open and close ---- */

static void close_store(struct pml_store *base)
{
    struct memory_store *store = (struct memory_store *)base;
    for (size_t i = 0; i < PML_SHELVES; i++)
        for (size_t j = 0; j < CHAINS; j++)
            while (store->shelves[i][j])
                take_one_away(&store->shelves[i][j]);
    for (struct place *at = store->places, *next; at; at = next) {
        next = at->next;
        free(at);
    }
}

pml_outcome pml_store_memory_open(struct pml_store **store)
{
    static const struct pml_store_kind memory = {
        .close = close_store,
        .get = get,
        .packs = packs,
        .put = put,
        .switch_pointer = switch_pointer,
        .names = names,
        .remove = take_away,
    };
    struct memory_store *made = calloc(1, sizeof *made);
    *store = made ? &made->base : NULL;
    if (!made)
        return PML_NO_MEMORY;
    made->base.kind = &memory;
    made->base.use = PML_STORE_WRITE;
    return PML_DONE;
}
