/* SPDX-License-Identifier: Apache-2.0
 * A store of files (SPEC 9), which any web server can hand out. In: a folder that may be anybody's. Nothing is read through
 * a link, and no pointer is believed that was not written like this. The folder is opened anew for whatever is read, so
 * another one may take its place. Files are flushed, many at once, before they have their names, and so are the folders of
 * blobs before a pointer leads to them. */
#define _GNU_SOURCE /* syncfs */
#include "common/bytes.h"
#include "common/files.h"
#include "server/store/store_kind.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN PML_STORE_PATH_SHOWN
#define OPEN_FOLDER (O_RDONLY | O_CLOEXEC | O_DIRECTORY)

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

#ifdef __linux__
enum { FLUSHED_TOGETHER = true };
#else
enum { FLUSHED_TOGETHER = false };
#define syncfs(folder) 0
#endif

/* Moves what waits to its places, once it is on the disk. Returns 0 or an errno. */
static int settle(struct folder_store *store)
{
    char fresh[12], name[PML_NAME_DIGITS + 1];
    if (store->count == 0)
        return 0;
    int error = syncfs(store->folders[NEW]) == 0 ? 0 : errno;
    for (unsigned i = 0; i < store->count && error == 0; i++) {
        sprintf(fresh, "%u", i);
        pml_name_write(&store->waiting[i].name, name);
        if (renameat(store->folders[NEW], fresh, store->folders[store->waiting[i].shelf], name) != 0)
            error = errno;
    }
    store->count = 0;
    store->base.failed = store->base.failed || error != 0; /* what waited is lost, although only a reader may hear it */
    return error;
}

/* One of the store's folders, with all that was put; −1 with errno. */
static int open_inner(struct folder_store *store, int which)
{
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s", store->path, folder_names[which]);
    const int error = length < (int)sizeof path ? settle(store) : ENAMETOOLONG;
    errno = error;
    return error == 0 ? open(path, OPEN_FOLDER | O_NOFOLLOW) : -1;
}

static pml_outcome read_open(int file, size_t most, struct pml_bytes *bytes)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return failure(errno);
    if (!S_ISREG(status.st_mode) || status.st_size < 0 || (uint64_t)status.st_size > most)
        return PML_DAMAGED;
    const size_t size = (size_t)status.st_size;
    bytes->size = 0;
    if (pml_bytes_reserve(bytes, size + 1) != PML_DONE)
        return PML_NO_MEMORY;
    const int error = pml_file_take(file, bytes->bytes, size, &bytes->size);
    bytes->bytes[bytes->size] = 0;
    return error != 0 ? failure(error) : bytes->size == size ? PML_DONE : PML_DAMAGED;
}

/* A whole plain file of at most so many bytes; a zero byte follows them. */
static pml_outcome read_file(int folder, const char *name, size_t most, struct pml_bytes *bytes)
{
    /* O_NONBLOCK: a pipe must not make us wait. */
    const int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return failure(errno);
    const pml_outcome outcome = read_open(file, most, bytes);
    close(file);
    return outcome;
}

/* Whether there is a store: 0 or an errno. */
static int look(struct folder_store *store)
{
    const int folder = open_inner(store, GALLERY);
    if (folder >= 0)
        close(folder);
    return folder >= 0 ? 0 : errno;
}

static pml_outcome get(struct pml_store *base, enum pml_shelf shelf, const struct pml_name *names, size_t count,
                       pml_blob_fn take, void *context)
{
    struct pml_bytes bytes = {0};
    const int folder = open_inner((struct folder_store *)base, (int)shelf);
    pml_outcome outcome = folder < 0 ? failure(errno) : PML_DONE;
    if (outcome == PML_ABSENT) /* a published copy has no private shelf; or there is no store any more */
        outcome = look((struct folder_store *)base) == 0 ? PML_ABSENT : PML_UNAVAILABLE;
    for (size_t i = 0; i < count && outcome == PML_DONE; i++) {
        char name[PML_NAME_DIGITS + 1];
        pml_name_write(&names[i], name);
        outcome = read_file(folder, name, PML_BLOB_MAX, &bytes);
        if (outcome == PML_DONE)
            outcome = take(context, i, bytes.bytes, bytes.size);
    }
    if (folder >= 0)
        close(folder);
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

/* Appends a name when the text is one of so many digits: an id is half of one. */
static pml_outcome add_name(struct pml_bytes *names, const char *text, size_t digits)
{
    char whole[2 * PML_NAME_DIGITS + 1];
    struct pml_name name;
    if (strlen(text) != digits)
        return PML_DONE; /* a web server's own files */
    snprintf(whole, sizeof whole, "%s%s", text, text);
    return pml_name_read(whole, &name) ? pml_bytes_append(names, &name, sizeof name) : PML_DONE;
}

/* All names in a folder, in order. */
static pml_outcome list(int folder, size_t digits, struct pml_bytes *names)
{
    const int copy = dup(folder); /* which closedir closes */
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    pml_outcome outcome = stream ? PML_DONE : failure(errno);
    if (!stream && copy >= 0)
        close(copy);
    errno = 0;
    for (struct dirent *entry; outcome == PML_DONE && (entry = readdir(stream)); errno = 0)
        outcome = add_name(names, entry->d_name, digits);
    if (outcome == PML_DONE && errno != 0)
        outcome = failure(errno);
    if (stream)
        closedir(stream);
    if (names->size > 0)
        qsort(names->bytes, names->size / PML_NAME_SIZE, PML_NAME_SIZE, pml_name_order);
    return outcome;
}

static pml_outcome packs(struct pml_store *base, const uint8_t *pack, pml_pack_fn take, void *context)
{
    struct pml_bytes names = {0};
    const int folder = open_inner((struct folder_store *)base, GALLERY);
    if (folder < 0)
        return errno == ENOENT ? PML_UNAVAILABLE : failure(errno); /* it was there when the store was opened */
    pml_outcome outcome = pack ? take_pointer(folder, pack, take, context) : list(folder, ID_DIGITS, &names);
    for (size_t at = 0; at < names.size && outcome == PML_DONE; at += PML_NAME_SIZE)
        outcome = take_pointer(folder, names.bytes + at, take, context);
    close(folder);
    pml_bytes_free(&names);
    return outcome;
}

static pml_outcome names_on(struct pml_store *base, enum pml_shelf shelf, pml_name_fn take, void *context)
{
    struct pml_bytes names = {0};
    const int folder = open_inner((struct folder_store *)base, (int)shelf);
    pml_outcome outcome = folder < 0 ? failure(errno) : list(folder, PML_NAME_DIGITS, &names);
    for (size_t at = 0; at < names.size && outcome == PML_DONE; at += PML_NAME_SIZE)
        outcome = take(context, (const struct pml_name *)(names.bytes + at));
    if (folder >= 0)
        close(folder);
    pml_bytes_free(&names);
    return outcome;
}

/* ---- writing ---- */

/* Makes a file in the folder of new ones. Returns 0 or an errno. */
static int write_new(int folder, const char *name, mode_t mode, const uint8_t *bytes, size_t size, bool flushed)
{
    int error = 0;
    const int file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0)
        return errno;
    while (size > 0 && error == 0) {
        const ssize_t written = write(file, bytes, size);
        error = written > 0 || (written < 0 && errno == EINTR) ? 0 : written < 0 ? errno : ENOSPC;
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    if (error == 0 && flushed && fsync(file) != 0)
        error = errno;
    if (close(file) != 0 && error == 0)
        error = errno;
    return error;
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
    int error =
        write_new(store->folders[NEW], fresh, shelf == PML_PRIVATE ? 0600 : 0666, bytes, size, !FLUSHED_TOGETHER);
    if (error == 0) {
        store->waiting[store->count].shelf = shelf;
        store->waiting[store->count++].name = *name;
        error = store->count < BATCH ? 0 : settle(store);
    }
    return error == 0 ? PML_DONE : pml_store_say(store->path, error, message);
}

/* Returns 0, or −1 with errno. Some file systems need no flush of folders, and have none. */
static int flush(int folder)
{
    return fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : -1;
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
        error = flush(folders[i]) == 0 ? 0 : errno;
    if (error == 0)
        error = write_new(folders[NEW], id, 0666, (const uint8_t *)text, (size_t)length, true);
    if (error == 0 && (renameat(folders[NEW], id, folders[GALLERY], id) != 0 || flush(folders[GALLERY]) != 0))
        error = errno;
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
        if (unlinkat(store->folders[shelf], text, 0) != 0 && errno != ENOENT)
            error = errno;
    }
    return error == 0 ? PML_DONE : pml_store_say(store->path, error, message);
}

/* ---- open and close ---- */

/* Removes what a writer that was killed has left, or this one. */
static void sweep(const struct folder_store *store)
{
    DIR *stream = fdopendir(dup(store->folders[NEW]));
    if (stream)
        rewinddir(stream); /* it shares its place with the descriptor */
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (entry->d_name[0] != '.')
            unlinkat(store->folders[NEW], entry->d_name, 0);
    if (stream)
        closedir(stream);
}

static void close_store(struct pml_store *base)
{
    struct folder_store *store = (struct folder_store *)base;
    if (store->folders[NEW] >= 0)
        sweep(store);
    for (int i = 0; i < FOLDERS; i++)
        if (store->folders[i] >= 0)
            close(store->folders[i]);
    if (store->lock >= 0)
        close(store->lock);
    free(store->path);
}

static bool is_ours(const char *name)
{
    bool ours = strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, lock_name) == 0;
    for (int i = 0; i < FOLDERS; i++)
        ours = ours || strcmp(name, folder_names[i]) == 0;
    return ours;
}

/* A folder is a store when it has one of pointers; one that is empty, or has nothing but what a writer makes first, may
 * become one. */
static pml_outcome check_folder(struct folder_store *store, struct pml_message *message)
{
    DIR *stream = look(store) == 0 ? NULL : opendir(store->path);
    bool ours = true;
    for (struct dirent *entry; stream && ours && (entry = readdir(stream));)
        ours = is_ours(entry->d_name);
    if (stream)
        closedir(stream);
    return ours ? PML_DONE
                : pml_say(message, "%.*s: is not a store, and not empty. Name another folder.", SHOWN, store->path);
}

static pml_outcome prepare(struct folder_store *store, int folder, struct pml_message *message)
{
    store->lock = pml_store_lock(folder, lock_name, store->path, message);
    if (store->lock < 0)
        return PML_REFUSED;
    for (int i = 0; i < FOLDERS; i++) {
        const bool hidden = i == PML_PRIVATE || i == NEW;
        if (mkdirat(folder, folder_names[i], hidden ? 0700 : 0777) != 0 && errno != EEXIST)
            return pml_store_say(store->path, errno, message);
        store->folders[i] = openat(folder, folder_names[i], OPEN_FOLDER | O_NOFOLLOW);
        if (store->folders[i] < 0)
            return pml_store_say(store->path, errno, message);
    }
    const int parent = openat(folder, "..", OPEN_FOLDER); /* where the store itself has its name */
    const int error = flush(folder) != 0 ? errno : parent >= 0 && flush(parent) != 0 ? errno : 0;
    if (parent >= 0)
        close(parent);
    if (error != 0)
        return pml_store_say(store->path, error, message);
    sweep(store);
    return PML_DONE;
}

static pml_outcome open_writer(struct folder_store *store, struct pml_message *message)
{
    if (mkdir(store->path, 0777) != 0 && errno != EEXIST)
        return pml_store_say(store->path, errno, message);
    pml_outcome outcome = check_folder(store, message);
    if (outcome != PML_DONE)
        return outcome;
    const int folder = open(store->path, OPEN_FOLDER);
    if (folder < 0)
        return pml_store_say(store->path, errno, message);
    outcome = prepare(store, folder, message);
    close(folder);
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
