/* SPDX-License-Identifier: Apache-2.0
 * Where galleries are kept (SPEC 9): blobs under their names, and one pointer per pack. The URI's scheme chooses the kind of
 * store: "sqlite:FILE", "postgres:URI" or "dir:FOLDER". What the blobs mean is server/gallery's matter. */
#ifndef PML_STORE_H
#define PML_STORE_H

#include "common/message.h"
#include "name.h"

#include <privatemail.h>

/* Functions with a message return PML_DONE, or another outcome and fill the message. */

/* Whether the URI names a kind of store that exists. */
pml_outcome pml_store_check(const char *uri, struct pml_message *message);

/* The URI as it may be shown: without a password. */
#define PML_STORE_SHOWN_MAX 300u
void pml_store_show(const char *uri, char shown[PML_STORE_SHOWN_MAX]);

struct pml_store;

/* Readers may be many, at any time. There is one writer at a time: a second one is refused while the first has the store
 * open. A writer makes a store that is not there yet; a reader gets PML_ABSENT with a message then. Stores that are not ours,
 * or of another version, are refused. A writer belongs to one thread, a reader to any number. */
enum pml_store_use { PML_STORE_READ, PML_STORE_WRITE };
pml_outcome pml_store_open(struct pml_store **store, const char *uri, enum pml_store_use use,
                           struct pml_message *message);
void pml_store_close(struct pml_store *store); /* NULL does nothing */

/* A store in memory, for measurements: it is gone when it is closed. Reading by any number of threads once nobody writes.
 * Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_store_memory_open(struct pml_store **store);

/* ---- reading ---- */

/* Parts may be served; private blobs are for index alone. */
enum pml_shelf { PML_PARTS, PML_PRIVATE, PML_SHELVES };

/* Is given the blob of the index-th name. Its bytes are valid until it returns. An outcome other than PML_DONE ends the
 * reading and is its result. */
typedef pml_outcome (*pml_blob_fn)(void *context, size_t index, const uint8_t *bytes, size_t size);

/* All blobs of these names, in one round trip where there is a network. `take` is called once per name, in any order; the same
 * name may be asked for twice. Every blob is proved by its name before `take` sees it. Returns PML_DONE, PML_NO_MEMORY,
 * PML_UNAVAILABLE, PML_ABSENT when one is missing, PML_DAMAGED when the bytes of one do not fit its name, or what `take`
 * returned. A writer sees what it has put. */
pml_outcome pml_store_get(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *names, size_t count,
                          pml_blob_fn take, void *context);

/* Where a pack's gallery is now. Names are zero where there is none (SPEC 8.3). */
struct pml_pointer {
    struct pml_name version, record, building;
};

/* Returns PML_DONE, PML_ABSENT when the store knows nothing of the pack, PML_UNAVAILABLE, PML_DAMAGED or PML_NO_MEMORY. */
pml_outcome pml_store_pointer(struct pml_store *store, const uint8_t pack[PML_ID_SIZE], struct pml_pointer *pointer);

/* Every pack that has a pointer, in the order of ids. Returns as pml_store_get does. */
typedef pml_outcome (*pml_pack_fn)(void *context, const uint8_t pack[PML_ID_SIZE], const struct pml_pointer *pointer);
pml_outcome pml_store_packs(struct pml_store *store, pml_pack_fn take, void *context);

/* Whether the store can be read now. */
pml_outcome pml_store_ping(struct pml_store *store);

/* ---- writing: only what was opened for it ---- */

/* Puts bytes, at most PML_BLOB_MAX, on a shelf and says under which name. What is there already is not written
 * again; other bytes under its name are damage, and give way. */
#define PML_BLOB_MAX ((size_t)1 << 29)
pml_outcome pml_store_put(struct pml_store *store, enum pml_shelf shelf, const void *bytes, size_t size,
                          struct pml_name *name, struct pml_message *message);

/* Makes everything that was put so far durable, then replaces the pointer of the pack, at once and durably. */
pml_outcome pml_store_switch(struct pml_store *store, const uint8_t pack[PML_ID_SIZE],
                             const struct pml_pointer *pointer, struct pml_message *message);

/* All names on a shelf, in any order; taking blobs away, and what is not there is passed over. Nothing may be put between
 * finding out what nobody needs and taking it away, other than by this writer. */
typedef pml_outcome (*pml_name_fn)(void *context, const struct pml_name *name);
pml_outcome pml_store_names(struct pml_store *store, enum pml_shelf shelf, pml_name_fn take, void *context);
pml_outcome pml_store_remove(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *names, size_t count,
                             struct pml_message *message);

#endif
