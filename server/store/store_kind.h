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

/* The functions are those of store.h; `place` is what follows the scheme and its colon. finish and abandon free the
 * writer. */
struct pml_store_kind {
    const char *scheme;
    const char *form; /* of a URI, for messages */
    bool shared;      /* one place holds the stores of several packs */

    /* NULL: a place has nothing to hide. */
    void (*show)(const char *place, char shown[PML_STORE_SHOWN_MAX]);

    int (*open)(struct pml_store **store, const char *place, const uint8_t *pack, struct pml_message *message);
    void (*close)(struct pml_store *store);
    int (*cell)(struct pml_store *store, uint32_t slot, uint32_t cell, struct pml_fragment *fragment);
    int (*cell_size)(struct pml_store *store, uint32_t slot, uint32_t cell, uint64_t *size);
    int (*nearest)(struct pml_store *store, uint32_t slot, const double *place, uint32_t count,
                   struct pml_fragment *fragment);
    int (*ping)(struct pml_store *store);

    int (*begin)(struct pml_store_writer **writer, const char *place, const struct pml_store_info *info,
                 const uint8_t source[32], bool force, uint64_t *done, struct pml_message *message);
    int (*add)(struct pml_store_writer *writer, const struct pml_store_item *item, struct pml_message *message);
    int (*checkpoint)(struct pml_store_writer *writer, struct pml_message *message);
    int (*finish)(struct pml_store_writer *writer, struct pml_message *message);
    void (*abandon)(struct pml_store_writer *writer);
};

extern const struct pml_store_kind pml_store_sqlite, pml_store_postgres;

#endif
