/* SPDX-License-Identifier: Apache-2.0
 * Where a gallery is stored. There is one interface and one folder per kind of store. The URI's scheme chooses the kind:
 * "sqlite:FILE" or "postgres:URI". */
#ifndef PML_STORE_H
#define PML_STORE_H

#include "candidate.h"
#include "common/message.h"

struct pml_store_info {
    uint8_t pack[PML_ID_SIZE];
    uint64_t items;          /* N */
    uint32_t sketch;         /* L */
    uint32_t dimensions;     /* k of the places; 0: no places, so the store cannot serve the Gaussian */
    uint32_t cells_per_item; /* PML_LISTS_OWN: 1 or 2; else 0 */
    uint32_t iterations;     /* T the places were made with */
    uint32_t share;          /* PML_LISTS_SHARE: F in millionths; else 0 */
    uint64_t digest;         /* of all of it (SPEC 8); whoever begins a store need not know it */
};

/* What the list of a cell holds (SPEC 6.5). NONE: nothing, so the store cannot serve response. OWN: the items whose first
 * cell it is; with two cells per item also those whose second cell it is. SHARE: a chosen share of its slot's items. */
enum pml_cell_lists_kind { PML_LISTS_NONE, PML_LISTS_OWN, PML_LISTS_SHARE };

#define PML_SHARE_UNIT 1000000u /* the share of all */
#define PML_SHARE_MAX (PML_SHARE_UNIT / 2)

enum pml_cell_lists_kind pml_store_cell_lists(const struct pml_store_info *info);

/* Functions with a message return PML_DONE, or another outcome and fill the message. */

/* Whether the URI names a kind of store that exists. */
pml_outcome pml_store_check(const char *uri, struct pml_message *message);

/* Whether what the URI names may hold the stores of several packs. */
bool pml_store_shared(const char *uri);

/* The URI as it may be shown: without a password. */
#define PML_STORE_SHOWN_MAX 300u
void pml_store_show(const char *uri, char shown[PML_STORE_SHOWN_MAX]);

/* ---- reading: any number of threads at the same time ---- */

struct pml_store;

/* Opens a store for reading; refuses stores that are damaged, incomplete or of another version. `pack` is the id of the
 * pack whose store is wanted, for URIs that hold several; NULL means the only one. Returns PML_ABSENT when the URI is
 * right but has no complete store of this pack. */
pml_outcome pml_store_open(struct pml_store **store, const char *uri, const uint8_t *pack, struct pml_message *message);
void pml_store_close(struct pml_store *store);
const struct pml_store_info *pml_store_describe(const struct pml_store *store);

/* Candidates of one slot, encoded one after the other. */
struct pml_fragment {
    uint32_t count;
    struct pml_bytes bytes;
};

/* Is given the candidates for the index-th of the cells or points that were asked for. They are valid until it returns.
 * An outcome other than PML_DONE ends the reading and is its result. */
typedef pml_outcome (*pml_take_fn)(void *context, size_t index, const struct pml_fragment *candidates);

/* A cell of a slot; a point among the places of a slot's items. */
struct pml_cell {
    uint32_t slot, cell;
};
struct pml_point {
    uint32_t slot;
    const double *place;
};

/* Everything that an answer needs, in one call (SPEC 6.5): the items listed in each cell; the `nearest` items nearest
 * to each point. `take` is called once per cell or point, in any order. Both return PML_DONE, PML_NO_MEMORY,
 * PML_UNAVAILABLE, PML_DAMAGED, what `take` returned, or PML_ABSENT when the store has no places. */
pml_outcome pml_store_cells(struct pml_store *store, const struct pml_cell *cells, size_t count, pml_take_fn take,
                            void *context);
pml_outcome pml_store_nearest(struct pml_store *store, const struct pml_point *points, size_t count, uint32_t nearest,
                              pml_take_fn take, void *context);

/* All items in ascending order, one at a time: the index-th candidate alone. Returns what pml_store_cells returns. */
pml_outcome pml_store_items(struct pml_store *store, pml_take_fn take, void *context);

/* How many items the cell lists. */
pml_outcome pml_store_cell_size(struct pml_store *store, struct pml_cell cell, uint64_t *size);

/* How long parts of answers are, without reading them. `take` is called for every cell that lists something, with the
 * number of its candidates and their bytes; or for every item, with its slot, cell 0, 1 and the bytes of its candidate.
 * Returns what pml_store_cells returns. Nothing is proved here: what is read later may be longer if the store is damaged. */
enum pml_sized { PML_SIZED_CELLS, PML_SIZED_ITEMS };
typedef pml_outcome (*pml_size_fn)(void *context, struct pml_cell cell, uint64_t count, uint64_t bytes);
pml_outcome pml_store_sizes(struct pml_store *store, enum pml_sized sized, pml_size_fn take, void *context);

/* Whether the store can be read now. */
pml_outcome pml_store_ping(struct pml_store *store);

/* ---- writing: one thread, and one writer of a store in a process ---- */

struct pml_store_writer;

struct pml_store_item {
    uint32_t slot;
    const uint32_t *cells; /* that list the item, all different; of its slot */
    uint32_t cell_count;   /* OWN: info.cells_per_item; SHARE: any number; NONE: 0 */
    const float *place;    /* info.dimensions numbers, or NULL */
    struct pml_candidate candidate;
};

/* Begins a store, or continues one that was begun from the same inputs (`source`: their hash) and not finished.
 * *done: how many items it already has, always the first ones in the order they are added. What was begun from other
 * inputs is thrown away, and `message` says so although PML_DONE is returned. A finished store is replaced only when
 * `force` is set, and then at once, by pml_store_finish. */
pml_outcome pml_store_begin(struct pml_store_writer **writer, const char *uri, const struct pml_store_info *info,
                            const uint8_t source[32], bool force, uint64_t *done, struct pml_message *message);

/* A fault of an item may be reported as late as at the next checkpoint. */
pml_outcome pml_store_add(struct pml_store_writer *writer, const struct pml_store_item *item,
                          struct pml_message *message);

/* Makes what was added so far durable: after a crash it is still there. After a failure here or in pml_store_add only
 * pml_store_abandon may follow. */
pml_outcome pml_store_checkpoint(struct pml_store_writer *writer, struct pml_message *message);

/* Completes the store and makes it readable. Frees the writer, also on failure. */
pml_outcome pml_store_finish(struct pml_store_writer *writer, struct pml_message *message);

/* Frees the writer and keeps what was made durable for a later pml_store_begin. */
void pml_store_abandon(struct pml_store_writer *writer);

#endif
