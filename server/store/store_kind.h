/* SPDX-License-Identifier: Apache-2.0
 * What a kind of store brings with it. A new kind is one more of these, and one more line in store.c. */
#ifndef PML_STORE_KIND_H
#define PML_STORE_KIND_H

#include "store.h"

/* Kinds put these first into structures of their own. `kind` is set by store.c, `info` by open and begin. */
struct pml_store {
    const struct pml_store_kind *kind;
    struct pml_store_info info;
};

struct pml_store_writer {
    const struct pml_store_kind *kind;
    struct pml_store_info info;
};

/* What pml_store_cells (cells) or pml_store_nearest (points, how many items nearest to each) asks for. */
struct pml_wanted {
    const struct pml_cell *cells;
    const struct pml_point *points;
    uint32_t nearest;
    size_t count; /* at least 1 */
};

/* The functions are those of store.h; `target` is what follows the scheme and its colon. finish and abandon free the
 * writer. */
struct pml_store_kind {
    const char *scheme;
    const char *form; /* of a URI, for messages */
    bool shared;      /* one target holds the stores of several packs */

    /* NULL: a target has nothing to hide. */
    void (*show)(const char *target, char shown[PML_STORE_SHOWN_MAX]);

    pml_outcome (*open)(struct pml_store **store, const char *target, const uint8_t *pack, struct pml_message *message);
    void (*close)(struct pml_store *store);
    pml_outcome (*read)(struct pml_store *store, const struct pml_wanted *wanted, pml_take_fn take, void *context);
    pml_outcome (*items)(struct pml_store *store, pml_take_fn take, void *context);
    pml_outcome (*cell_size)(struct pml_store *store, struct pml_cell cell, uint64_t *size);
    pml_outcome (*sizes)(struct pml_store *store, enum pml_sized sized, pml_size_fn take, void *context);
    pml_outcome (*ping)(struct pml_store *store);

    pml_outcome (*begin)(struct pml_store_writer **writer, const char *target, const struct pml_store_info *info,
                         const uint8_t source[32], bool force, uint64_t *done, struct pml_message *message);
    pml_outcome (*add)(struct pml_store_writer *writer, const struct pml_store_item *item, struct pml_message *message);
    pml_outcome (*checkpoint)(struct pml_store_writer *writer, struct pml_message *message);
    pml_outcome (*finish)(struct pml_store_writer *writer, struct pml_message *message);
    void (*abandon)(struct pml_store_writer *writer);
};

extern const struct pml_store_kind pml_store_sqlite, pml_store_postgres;

#endif
