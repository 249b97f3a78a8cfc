/* SPDX-License-Identifier: Apache-2.0
 * Finds the kind of store that a URI's scheme names, and calls it. What is read fits its name, or is not handed over; what
 * was opened for reading is not written. */
#include "common/files.h"
#include "common/system.h"
#include "store_kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kinds ---- */

/* The kind, and in *target what follows the colon; NULL with a message. */
static const struct pml_store_kind *find_kind(const char *uri, const char **target, struct pml_message *message)
{
    static const struct pml_store_kind *const kinds[] = {&pml_store_sqlite, &pml_store_postgres, &pml_store_folder};
    const size_t length = strcspn(uri, ":");
    *target = uri[length] == ':' ? uri + length + 1 : "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && **target != 0; i++)
        if (strlen(kinds[i]->scheme) == length && memcmp(uri, kinds[i]->scheme, length) == 0)
            return kinds[i];
    /* only the scheme: behind it there may be a password */
    pml_say(message, "'%.*s' does not name a store. Give sqlite:FILE, postgres:URI or dir:FOLDER.",
            (int)(length < 200 ? length : 200), uri);
    return NULL;
}

pml_outcome pml_store_check(const char *uri, struct pml_message *message)
{
    const char *target;
    return find_kind(uri, &target, message) ? PML_DONE : PML_REFUSED;
}

void pml_store_show(const char *uri, char shown[PML_STORE_SHOWN_MAX])
{
    const char *target;
    const struct pml_store_kind *kind = find_kind(uri, &target, NULL);
    if (kind && kind->show)
        kind->show(target, shown);
    else
        snprintf(shown, PML_STORE_SHOWN_MAX, "%.*s", (int)(kind ? strlen(uri) : strcspn(uri, ":")), uri);
}

pml_outcome pml_store_open(struct pml_store **store, const char *uri, enum pml_store_use use,
                           struct pml_message *message)
{
    const char *target;
    const struct pml_store_kind *kind = find_kind(uri, &target, message);
    *store = NULL;
    if (!kind)
        return PML_REFUSED;
    struct pml_store *made = calloc(1, kind->size);
    if (!made)
        return pml_say_memory(message);
    made->kind = kind;
    made->use = use;
    const pml_outcome outcome = kind->open(made, target, message);
    if (outcome == PML_DONE)
        *store = made;
    else
        pml_store_close(made);
    return outcome;
}

void pml_store_close(struct pml_store *store)
{
    if (store)
        store->kind->close(store);
    free(store);
}

/* ---- reading ---- */

struct proof {
    const struct pml_name *names;
    size_t count, taken;
    pml_blob_fn take;
    void *context;
};

static pml_outcome prove(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    struct proof *proof = context;
    const struct pml_name name = pml_name_of(bytes, size);
    if (!pml_name_same(&name, &proof->names[index]))
        return PML_DAMAGED;
    proof->taken++;
    return proof->take(proof->context, index, bytes, size);
}

pml_outcome pml_store_get(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *names, size_t count,
                          pml_blob_fn take, void *context)
{
    struct proof proof = {names, count, 0, take, context};
    if (count == 0)
        return PML_DONE;
    const pml_outcome outcome = store->kind->get(store, shelf, names, count, prove, &proof);
    return outcome == PML_DONE && proof.taken != count ? PML_ABSENT : outcome;
}

/* Packs come in the order of their ids, each once: a damaged store could otherwise have them without end. */
struct order {
    const uint8_t *wanted; /* or NULL */
    uint8_t last[PML_ID_SIZE];
    bool begun;
    pml_pack_fn take;
    void *context;
};

static pml_outcome take_in_order(void *context, const uint8_t pack[PML_ID_SIZE], const struct pml_pointer *pointer)
{
    struct order *order = context;
    if ((order->begun && memcmp(order->last, pack, PML_ID_SIZE) >= 0) ||
        (order->wanted && memcmp(order->wanted, pack, PML_ID_SIZE) != 0))
        return PML_DAMAGED;
    memcpy(order->last, pack, PML_ID_SIZE);
    order->begun = true;
    return order->take(order->context, pack, pointer);
}

pml_outcome pml_store_packs(struct pml_store *store, pml_pack_fn take, void *context)
{
    struct order order = {.take = take, .context = context};
    return store->kind->packs(store, NULL, take_in_order, &order);
}

static pml_outcome copy_pointer(void *context, const uint8_t pack[PML_ID_SIZE], const struct pml_pointer *pointer)
{
    (void)pack;
    *(struct pml_pointer *)context = *pointer;
    return PML_DONE;
}

pml_outcome pml_store_pointer(struct pml_store *store, const uint8_t pack[PML_ID_SIZE], struct pml_pointer *pointer)
{
    struct order order = {.wanted = pack, .take = copy_pointer, .context = pointer};
    pml_outcome outcome = store->kind->packs(store, pack, take_in_order, &order);
    if (outcome == PML_DONE && !order.begun)
        outcome = PML_ABSENT;
    if (outcome != PML_DONE)
        *pointer = (struct pml_pointer){0};
    return outcome;
}

pml_outcome pml_store_ping(struct pml_store *store)
{
    static const uint8_t none[PML_ID_SIZE];
    struct pml_pointer pointer;
    const pml_outcome outcome = pml_store_pointer(store, none, &pointer);
    return outcome == PML_ABSENT ? PML_DONE : outcome;
}

/* ---- writing ---- */

static pml_outcome check_writer(const struct pml_store *store, struct pml_message *message)
{
    if (store->use != PML_STORE_WRITE)
        return pml_say(message, "the store is open for reading only. Open it for writing.");
    if (store->failed)
        return pml_say(message, "an earlier write to the store failed. Mend what it named, and start again.");
    return PML_DONE;
}

/* Remembers a failure: what a kind has not made durable yet may be lost with it. */
static pml_outcome remember(struct pml_store *store, pml_outcome outcome)
{
    store->failed = store->failed || outcome != PML_DONE;
    return outcome;
}

pml_outcome pml_store_put(struct pml_store *store, enum pml_shelf shelf, const void *bytes, size_t size,
                          struct pml_name *name, struct pml_message *message)
{
    const pml_outcome outcome = check_writer(store, message);
    if (outcome != PML_DONE)
        return outcome;
    if (size > PML_BLOB_MAX)
        return pml_say(message, "a blob of %zu bytes is too large for a store. Keep it below %zu bytes.", size,
                       PML_BLOB_MAX);
    *name = pml_name_of(bytes, size);
    return remember(store, store->kind->put(store, shelf, name, size > 0 ? bytes : "", size, message));
}

pml_outcome pml_store_switch(struct pml_store *store, const uint8_t pack[PML_ID_SIZE],
                             const struct pml_pointer *pointer, struct pml_message *message)
{
    const pml_outcome outcome = check_writer(store, message);
    return outcome == PML_DONE ? remember(store, store->kind->switch_pointer(store, pack, pointer, message)) : outcome;
}

pml_outcome pml_store_names(struct pml_store *store, enum pml_shelf shelf, pml_name_fn take, void *context)
{
    return store->kind->names(store, shelf, take, context);
}

pml_outcome pml_store_remove(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *names, size_t count,
                             struct pml_message *message)
{
    const pml_outcome outcome = check_writer(store, message);
    if (outcome != PML_DONE || count == 0)
        return outcome;
    return remember(store, store->kind->remove(store, shelf, names, count, message));
}

/* ---- for kinds ---- */

void pml_store_pack_values(const uint8_t pack[PML_ID_SIZE], const struct pml_pointer *pointer,
                           struct pml_value values[PML_POINTER_COLUMNS])
{
    values[0] = (struct pml_value){pack, PML_ID_SIZE};
    values[1] = (struct pml_value){&pointer->version, PML_NAME_SIZE};
    values[2] = (struct pml_value){&pointer->record, PML_NAME_SIZE};
    values[3] = (struct pml_value){&pointer->building, PML_NAME_SIZE};
}

pml_outcome pml_store_take_pack(const struct pml_value values[PML_POINTER_COLUMNS], pml_pack_fn take, void *context)
{
    struct pml_pointer pointer;
    struct pml_name *const names[] = {NULL, &pointer.version, &pointer.record, &pointer.building};
    for (size_t i = 0; i < PML_POINTER_COLUMNS; i++) {
        if (!values[i].bytes || values[i].size != (i == 0 ? PML_ID_SIZE : PML_NAME_SIZE))
            return PML_DAMAGED;
        if (i > 0)
            memcpy(names[i], values[i].bytes, PML_NAME_SIZE);
    }
    return take(context, values[0].bytes, &pointer);
}

pml_outcome pml_store_say(const char *shown, int error, struct pml_message *message)
{
    if (error == ENOMEM)
        return pml_say_memory(message);
    pml_say(message, "%.*s: cannot be written (%s): %s.", PML_STORE_PATH_SHOWN, shown, strerror(error),
            pml_file_advice(error));
    return error == EIO || pml_file_is_full(error) ? PML_UNAVAILABLE : PML_REFUSED;
}

int pml_store_lock(int folder, const char *name, const char *shown, struct pml_message *message)
{
    int file;
    int error = pml_system_open_lock(folder, name, &file);
    const bool opened = error == 0;
    if (opened)
        error = pml_system_lock(file, PML_LOCK_OF_FILE, false);
    if (error == 0)
        return file;
    if (error == EWOULDBLOCK)
        pml_say(message, "%.*s: another privatemail index is writing it. Leave it alone until that has ended.",
                PML_STORE_PATH_SHOWN, shown);
    else
        pml_store_say(shown, error, message);
    if (opened)
        pml_system_close(file);
    return -1;
}
