/* SPDX-License-Identifier: Apache-2.0
 * What a kind of store brings with it. A new kind is one more of these, and one more line in store.c. */
#ifndef PML_STORE_KIND_H
#define PML_STORE_KIND_H

#include "store.h"

#include <stdbool.h>

/* Kinds put this first into a structure of their own. All of it is set by store.c. */
struct pml_store {
    const struct pml_store_kind *kind;
    enum pml_store_use use;
    bool failed; /* a write did, so what was put may be lost: nothing more is written */
};

/* The functions are those of store.h; `target` is what follows the scheme and its colon. Names are checked, and computed,
 * by store.c alone: `get` hands over what is stored under a name, whatever it is, and passes over what is not there. */
struct pml_store_kind {
    const char *scheme;
    size_t size;                                                       /* of its structure */
    void (*show)(const char *target, char shown[PML_STORE_SHOWN_MAX]); /* NULL: a target has nothing to hide */

    /* What is opened is zero but for the base. Closing also ends what was opened in part, and frees all but the structure. */
    pml_outcome (*open)(struct pml_store *store, const char *target, struct pml_message *message);
    void (*close)(struct pml_store *store);
    pml_outcome (*get)(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *names, size_t count,
                       pml_blob_fn take, void *context);
    pml_outcome (*packs)(struct pml_store *store, const uint8_t *pack, pml_pack_fn take, void *context); /* NULL: all */
    pml_outcome (*put)(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *name, const void *bytes,
                       size_t size, struct pml_message *message);
    pml_outcome (*switch_pointer)(struct pml_store *store, const uint8_t pack[PML_ID_SIZE],
                                  const struct pml_pointer *pointer, struct pml_message *message);
    pml_outcome (*names)(struct pml_store *store, enum pml_shelf shelf, pml_name_fn take, void *context);
    pml_outcome (*remove)(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *names, size_t count,
                          struct pml_message *message);
};

/* A value of a row, or for a statement. */
struct pml_value {
    const void *bytes;
    size_t size;
};

/* A pointer as a row: pack, version, record, building. What is no such row is PML_DAMAGED. */
enum { PML_POINTER_COLUMNS = 4 };
void pml_store_pack_values(const uint8_t pack[PML_ID_SIZE], const struct pml_pointer *pointer,
                           struct pml_value values[PML_POINTER_COLUMNS]);
pml_outcome pml_store_take_pack(const struct pml_value values[PML_POINTER_COLUMNS], pml_pack_fn take, void *context);

/* Takes the writer's lock, a file that is made beside the store. It is free when the descriptor is closed,
 * or its process dies. Returns −1 with a message; `shown` is the store. */
int pml_store_lock(int folder, const char *name, const char *shown, struct pml_message *message);

/* Says that `shown` cannot be written because of an errno; returns the outcome. */
#define PML_STORE_PATH_SHOWN 200 /* characters of a path in a message */
pml_outcome pml_store_say(const char *shown, int error, struct pml_message *message);

extern const struct pml_store_kind pml_store_sqlite, pml_store_postgres, pml_store_folder;

#endif
