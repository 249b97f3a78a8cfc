/* SPDX-License-Identifier: Apache-2.0
 * A store of files (SPEC 9), which any web server can hand out. In: a folder that may be anybody's. Nothing is read through
 * a link, and no pointer is believed that was not written like this. The folder is opened anew for whatever is read, so
 * another one may take its place. Files are flushed, many at once, before they have their names, and so are the folders of
 * blobs before a pointer leads to them. */
#define _POSIX_C_SOURCE 200809L
#include "common/bytes.h"
#include "common/system.h"
#include "server/store/store_kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN PML_STORE_PATH_SHOWN

enum { ID_DIGITS = 2 * PML_ID_SIZE, POINTER_MAX = 512, BATCH = 256 };

/* The shelves come first, as in enum pml_shelf. The folder of pointers is made last: with it, the store is there. */
enum { NEW = PML_SHELVES, GALLERY, FOLDERS };
static const char *const folder_names[FOLDERS] = {[PML_PARTS] = "part", [PML_PRIVATE] = "private", "new", "gallery"};
static const char lock_name[] = "lock";

struct folder_store {
    struct pml_store base;
    char *path;
    int lock, folders[FOLDERS]; /* of a writer, like all that follows */
    struct {
        enum pml_shelf shelf;
        struct pml_name name;
    } waiting[BATCH]; /* written as new/0, new/1, …, and not at their places yet */
    unsigned count;
};

/* ---- files ---- */

static pml_outcome failure(int error)
{
    return error == ENOMEM                      ? PML_NO_MEMORY
           : error == ELOOP || error == ENOTDIR ? PML_DAMAGED
           : error == ENOENT                    ? PML_ABSENT
                                                : PML_UNAVAILABLE;
}

/* Moves what waits to its places, once it is on the disk. Returns 0 or an errno. */
static int settle(struct folder_store *store)
{
    char fresh[12], name[PML_NAME_DIGITS + 1];
    if (store->count == 0)
        return 0;
    int error = pml_system_flush_together(store->folders[NEW]);
    for (unsigned i = 0; i < store->count && error == 0; i++) {
        sprintf(fresh, "%u", i);
        pml_name_write(&store->waiting[i].name, name);
        error = pml_system_rename(store->folders[NEW], fresh, store->folders[store->waiting[i].shelf], name);
    }
    store->count = 0;
    store->base.failed = store->base.failed || error != 0; /* what waited is lost, although only a reader may hear it */
    return error;
}

/* Opens one of the store's folders, with all that was put. Returns 0 or an errno. */
static int open_inner(struct folder_store *store, int which, int *folder)
{
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s", store->path, folder_names[which]);
    const int error = length < (int)sizeof path ? settle(store) : ENAMETOOLONG;
    return error == 0 ? pml_system_open_folder(PML_HERE, path, false, folder) : error;
}

static pml_outcome read_open(int file, size_t most, struct pml_bytes *bytes)
{
    struct pml_found found;
    int error = pml_system_look_open(file, &found);
    if (error != 0)
        return failure(error);
    if (found.kind != PML_KIND_FILE || found.size > most)
        return PML_DAMAGED;
    const size_t size = (size_t)found.size;
    bytes->size = 0;
    if (pml_bytes_reserve(bytes, size + 1) != PML_DONE)
        return PML_NO_MEMORY;
    error = pml_system_read(file, bytes->bytes, size, &bytes->size);
    bytes->bytes[bytes->size] = 0;
    return error != 0 ? failure(error) : bytes->size == size ? PML_DONE : PML_DAMAGED;
}

/* A whole plain file of at most so many bytes; a zero byte follows them. */
static pml_outcome read_file(int folder, const char *name, size_t most, struct pml_bytes *bytes)
{
    int file;
    const int error = pml_system_open(folder, name, false, &file);
    if (error != 0)
        return failure(error);
    const pml_outcome outcome = read_open(file, most, bytes);
    pml_system_close(file);
    return outcome;
}

/* Whether there is a store: 0 or an errno. */
static int look(struct folder_store *store)
{
    int folder;
    const int error = open_inner(store, GALLERY, &folder);
    if (error == 0)
        pml_system_close(folder);
    return error;
}

static pml_outcome get(struct pml_store *base, enum pml_shelf shelf, const struct pml_name *names, size_t count,
                       pml_blob_fn take, void *context)
{
    struct pml_bytes bytes = {0};
    int folder;
    const int error = open_inner((struct folder_store *)base, (int)shelf, &folder);
    pml_outcome outcome = error != 0 ? failure(error) : PML_DONE;
    if (outcome == PML_ABSENT) /* a published copy has no private shelf; or there is no store any more */
        outcome = look((struct folder_store *)base) == 0 ? PML_ABSENT : PML_UNAVAILABLE;
    for (size_t i = 0; i < count && outcome == PML_DONE; i++) {
        char name[PML_NAME_DIGITS + 1];
        pml_name_write(&names[i], name);
        outcome = read_file(folder, name, PML_BLOB_MAX, &bytes);
        if (outcome == PML_DONE)
            outcome = take(context, i, bytes.bytes, bytes.size);
    }
    if (error == 0)
        pml_system_close(folder);
    pml_bytes_free(&bytes);
    return outcome;
}

/* ---- pointers ---- */

enum { KEYS = 3 };
static const char *const keys[KEYS] = {"version", "record", "building"};

static void write_id(const uint8_t pack[PML_ID_SIZE], char text[ID_DIGITS + 1])
{
    for (size_t i = 0; i < PML_ID_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", pack[i]);
}

/* The pointer as a file, whose length is returned. */
static int write_pointer(const uint8_t pack[PML_ID_SIZE], const struct pml_pointer *pointer, char text[POINTER_MAX])
{
    const struct pml_name *const names[KEYS] = {&pointer->version, &pointer->record, &pointer->building};
    char id[ID_DIGITS + 1], name[PML_NAME_DIGITS + 1];
    write_id(pack, id);
    int length = sprintf(text, "{\"pack\": \"%s\"", id);
    for (size_t i = 0; i < KEYS; i++) {
        pml_name_write(names[i], name);
        if (i == 0 || !pml_name_none(names[i]))
            length += sprintf(text + length, ", \"%s\": \"%s\"", keys[i], name);
    }
    return length + sprintf(text + length, "}\n");
}

/* What would not be written like this is no pointer. */
static bool read_pointer(const char *text, size_t size, const uint8_t pack[PML_ID_SIZE], struct pml_pointer *pointer)
{
    struct pml_name *const names[KEYS] = {&pointer->version, &pointer->record, &pointer->building};
    char key[16], again[POINTER_MAX];
    for (size_t i = 0; i < KEYS; i++) {
        const int length = sprintf(key, "\"%s\": \"", keys[i]);
        const char *at = strstr(text, key);
        if (!at || !pml_name_read(at + length, names[i]))
            *names[i] = (struct pml_name){{0}};
    }
    return (size_t)write_pointer(pack, pointer, again) == size && memcmp(text, again, size) == 0;
}

static pml_outcome take_pointer(int folder, const uint8_t pack[PML_ID_SIZE], pml_pack_fn take, void *context)
{
    char id[ID_DIGITS + 1];
    struct pml_bytes bytes = {0};
    struct pml_pointer pointer;
    write_id(pack, id);
    pml_outcome outcome = read_file(folder, id, POINTER_MAX - 1, &bytes);
    if (outcome == PML_DONE && !read_pointer((const char *)bytes.bytes, bytes.size, pack, &pointer))
        outcome = PML_DAMAGED;
    if (outcome == PML_DONE)
        outcome = take(context, pack, &pointer);
    pml_bytes_free(&bytes);
    return outcome;
}

/* ---- lists ---- */

struct listing {
    size_t digits;
    struct pml_bytes *names;
};

/* Appends a name when the text is one of so many digits: an id is half of one. */
static int add_name(void *context, const char *text)
{
    const struct listing *listing = context;
    char whole[2 * PML_NAME_DIGITS + 1];
    struct pml_name name;
    if (strlen(text) != listing->digits)
        return 0; /* a web server's own files */
    snprintf(whole, sizeof whole, "%s%s", text, text);
    const bool is_name = pml_name_read(whole, &name);
    return !is_name || pml_bytes_append(listing->names, &name, sizeof name) == PML_DONE ? 0 : ENOMEM;
}

/* All names in a folder, in order. */
static pml_outcome list(int folder, size_t digits, struct pml_bytes *names)
{
    struct listing listing = {digits, names};
    const int error = pml_system_list(folder, add_name, &listing);
    if (names->size > 0)
        qsort(names->bytes, names->size / PML_NAME_SIZE, PML_NAME_SIZE, pml_name_order);
    return error == 0 ? PML_DONE : failure(error);
}

static pml_outcome packs(struct pml_store *base, const uint8_t *pack, pml_pack_fn take, void *context)
{
    struct pml_bytes names = {0};
    int folder;
    const int error = open_inner((struct folder_store *)base, GALLERY, &folder);
    if (error != 0)
        return error == ENOENT ? PML_UNAVAILABLE : failure(error); /* it was there when the store was opened */
    pml_outcome outcome = pack ? take_pointer(folder, pack, take, context) : list(folder, ID_DIGITS, &names);
    for (size_t at = 0; at < names.size && outcome == PML_DONE; at += PML_NAME_SIZE)
        outcome = take_pointer(folder, names.bytes + at, take, context);
    pml_system_close(folder);
    pml_bytes_free(&names);
    return outcome;
}

static pml_outcome names_on(struct pml_store *base, enum pml_shelf shelf, pml_name_fn take, void *context)
{
    struct pml_bytes names = {0};
    int folder;
    const int error = open_inner((struct folder_store *)base, (int)shelf, &folder);
    pml_outcome outcome = error != 0 ? failure(error) : list(folder, PML_NAME_DIGITS, &names);
    for (size_t at = 0; at < names.size && outcome == PML_DONE; at += PML_NAME_SIZE)
        outcome = take(context, (const struct pml_name *)(names.bytes + at));
    if (error == 0)
        pml_system_close(folder);
    pml_bytes_free(&names);
    return outcome;
}

/* ---- writing ---- */

/* Makes a file in the folder of new ones. Returns 0 or an errno. */
static int write_new(int folder, const char *name, bool hidden, const void *bytes, size_t size, bool flushed)
{
    int file;
    int error = pml_system_create(folder, name, hidden, NULL, &file);
    if (error != 0)
        return error;
    error = pml_system_write(file, bytes, size);
    if (error == 0 && flushed)
        error = pml_system_flush(file);
    const int closing = pml_system_close(file);
    return error != 0 ? error : closing;
}

static bool has(int folder, const char *name, const void *bytes, size_t size)
{
    struct pml_bytes found = {0};
    const bool same = read_file(folder, name, size, &found) == PML_DONE && found.size == size &&
                      memcmp(found.bytes, bytes, size) == 0;
    pml_bytes_free(&found);
    return same;
}

static pml_outcome put(struct pml_store *base, enum pml_shelf shelf, const struct pml_name *name, const void *bytes,
                       size_t size, struct pml_message *message)
{
    struct folder_store *store = (struct folder_store *)base;
    char text[PML_NAME_DIGITS + 1], fresh[12];
    pml_name_write(name, text);
    if (has(store->folders[shelf], text, bytes, size))
        return PML_DONE;
    sprintf(fresh, "%u", store->count);
    int error = write_new(store->folders[NEW], fresh, shelf == PML_PRIVATE, bytes, size, !pml_system_flushes_together);
    if (error == 0) {
        store->waiting[store->count].shelf = shelf;
        store->waiting[store->count++].name = *name;
        error = store->count < BATCH ? 0 : settle(store);
    }
    return error == 0 ? PML_DONE : pml_store_say(store->path, error, message);
}

static pml_outcome switch_pointer(struct pml_store *base, const uint8_t pack[PML_ID_SIZE],
                                  const struct pml_pointer *pointer, struct pml_message *message)
{
    struct folder_store *store = (struct folder_store *)base;
    const int *folders = store->folders;
    char text[POINTER_MAX], id[ID_DIGITS + 1];
    const int length = write_pointer(pack, pointer, text);
    write_id(pack, id);
    int error = settle(store);
    for (int i = 0; i < PML_SHELVES && error == 0; i++) /* whatever was put: a writer that was killed may not have */
        error = pml_system_flush(folders[i]);
    if (error == 0)
        error = write_new(folders[NEW], id, false, text, (size_t)length, true);
    if (error == 0)
        error = pml_system_rename(folders[NEW], id, folders[GALLERY], id);
    if (error == 0)
        error = pml_system_flush(folders[GALLERY]);
    return error == 0 ? PML_DONE : pml_store_say(store->path, error, message);
}

static pml_outcome take_away(struct pml_store *base, enum pml_shelf shelf, const struct pml_name *gone, size_t count,
                             struct pml_message *message)
{
    struct folder_store *store = (struct folder_store *)base;
    int error = settle(store);
    for (size_t i = 0; i < count && error == 0; i++) {
        char text[PML_NAME_DIGITS + 1];
        pml_name_write(&gone[i], text);
        error = pml_system_remove(store->folders[shelf], text);
        error = error == ENOENT ? 0 : error;
    }
    return error == 0 ? PML_DONE : pml_store_say(store->path, error, message);
}

/* ---- open and close ---- */

static int remove_new(void *context, const char *name)
{
    const struct folder_store *store = context;
    if (name[0] != '.')
        (void)pml_system_remove(store->folders[NEW], name);
    return 0;
}

/* Removes what a writer that was killed has left, or this one. */
static void sweep(struct folder_store *store)
{
    (void)pml_system_list(store->folders[NEW], remove_new, store);
}

static void close_store(struct pml_store *base)
{
    struct folder_store *store = (struct folder_store *)base;
    if (store->folders[NEW] >= 0)
        sweep(store);
    for (int i = 0; i < FOLDERS; i++)
        if (store->folders[i] >= 0)
            pml_system_close(store->folders[i]);
    if (store->lock >= 0)
        pml_system_close(store->lock);
    free(store->path);
}

/* Returns 0 when it is one of a store's names. */
static int check_name(void *context, const char *name)
{
    bool ours = strcmp(name, lock_name) == 0;
    (void)context;
    for (int i = 0; i < FOLDERS; i++)
        ours = ours || strcmp(name, folder_names[i]) == 0;
    return ours ? 0 : EEXIST;
}

/* A folder is a store when it has one of pointers; one that is empty, or has nothing but what a writer makes first, may
 * become one. */
static pml_outcome check_folder(struct folder_store *store, struct pml_message *message)
{
    int folder;
    if (look(store) == 0 || pml_system_open_folder(PML_HERE, store->path, true, &folder) != 0)
        return PML_DONE;
    const int error = pml_system_list(folder, check_name, NULL);
    pml_system_close(folder);
    return error != EEXIST
               ? PML_DONE
               : pml_say(message, "%.*s: is not a store, and not empty. Name another folder.", SHOWN, store->path);
}

static pml_outcome prepare(struct folder_store *store, int folder, struct pml_message *message)
{
    store->lock = pml_store_lock(folder, lock_name, store->path, message);
    if (store->lock < 0)
        return PML_REFUSED;
    for (int i = 0; i < FOLDERS; i++) {
        const bool hidden = i == PML_PRIVATE || i == NEW;
        int error = pml_system_make_folder(folder, folder_names[i], hidden);
        if (error == 0 || error == EEXIST)
            error = pml_system_open_folder(folder, folder_names[i], false, &store->folders[i]);
        if (error != 0)
            return pml_store_say(store->path, error, message);
    }
    int parent, error = pml_system_flush(folder);
    if (error == 0 && pml_system_open_folder(folder, "..", true, &parent) == 0) { /* where the store has its name */
        error = pml_system_flush(parent);
        pml_system_close(parent);
    }
    if (error != 0)
        return pml_store_say(store->path, error, message);
    sweep(store);
    return PML_DONE;
}

static pml_outcome open_writer(struct folder_store *store, struct pml_message *message)
{
    int folder, error = pml_system_make_folder(PML_HERE, store->path, false);
    if (error != 0 && error != EEXIST)
        return pml_store_say(store->path, error, message);
    pml_outcome outcome = check_folder(store, message);
    if (outcome != PML_DONE)
        return outcome;
    error = pml_system_open_folder(PML_HERE, store->path, true, &folder);
    if (error != 0)
        return pml_store_say(store->path, error, message);
    outcome = prepare(store, folder, message);
    pml_system_close(folder);
    return outcome;
}

static pml_outcome open_reader(struct folder_store *store, struct pml_message *message)
{
    const int error = look(store);
    if (error == 0)
        return PML_DONE;
    pml_say(message, "%.*s: is not a store (%s). Check the name, or make one with privatemail index.", SHOWN,
            store->path, strerror(error));
    return error == ENOENT ? PML_ABSENT : PML_REFUSED;
}

static pml_outcome open_store(struct pml_store *base, const char *target, struct pml_message *message)
{
    struct folder_store *store = (struct folder_store *)base;
    store->lock = -1;
    for (int i = 0; i < FOLDERS; i++)
        store->folders[i] = -1;
    store->path = strdup(target);
    if (!store->path)
        return pml_say_memory(message);
    return base->use == PML_STORE_WRITE ? open_writer(store, message) : open_reader(store, message);
}

const struct pml_store_kind pml_store_folder = {
    .scheme = "dir",
    .size = sizeof(struct folder_store),
    .open = open_store,
    .close = close_store,
    .get = get,
    .packs = packs,
    .put = put,
    .switch_pointer = switch_pointer,
    .names = names_on,
    .remove = take_away,
};
