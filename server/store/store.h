/* SPDX-License-Identifier: Apache-2.0
 * Where a gallery lives. One interface, one file a kind; the kind is chosen by the URI's scheme ("sqlite:FILE",
 * "postgres:URI"). */
#ifndef PML_STORE_H
#define PML_STORE_H

#include "candidate.h"
#include "common/npy.h"

struct pml_store_info {
    uint8_t pack[PML_ID_SIZE];
    uint64_t items;          /* N */
    uint32_t sketch;         /* L */
    uint32_t dimensions;     /* k of the places; 0: there are none, and no Gaussian */
    uint32_t cells_per_item; /* PML_LISTS_OWN: 1 or 2; else 0 */
    uint32_t iterations;     /* T the places were made with */
    uint32_t share;          /* PML_LISTS_SHARE: F in millionths; else 0 */
    uint64_t digest;         /* of all of it (SPEC 8); whoever begins a store need not know it */
};

/* What the list of a cell holds (SPEC 6.5). NONE: nothing, so there is no response; OWN: the items whose first cell it
 * is, with two cells an item also those whose second; SHARE: a chosen share of its slot's items. */
enum pml_lists { PML_LISTS_NONE, PML_LISTS_OWN, PML_LISTS_SHARE };

#define PML_SHARE_UNIT 1000000u /* the share of all */
#define PML_SHARE_MAX (PML_SHARE_UNIT / 2)

enum pml_lists pml_store_lists(const struct pml_store_info *info);

/* 0 when the URI names a kind of store there is; else not, with a message. */
int pml_store_check(const char *uri, struct pml_message *message);

/* Whether what the URI names may hold the stores of several packs. */
bool pml_store_shared(const char *uri);

/* The URI as it may be shown: without a password. */
#define PML_STORE_SHOWN_MAX 300u
void pml_store_show(const char *uri, char shown[PML_STORE_SHOWN_MAX]);

/* ---- reading: any number of threads at the same time ---- */

struct pml_store;

/* Opens for reading; refuses stores that are damaged, incomplete or of another version. `pack`: the id of the pack whose
 * store is wanted, for URIs of several; NULL: of the only one. 0, or not with a message; PML_STORE_ABSENT when the URI
 * is right but has no complete store of this pack. */
#define PML_STORE_ABSENT (-4)
int pml_store_open(struct pml_store **store, const char *uri, const uint8_t *pack, struct pml_message *message);
void pml_store_close(struct pml_store *store);
const struct pml_store_info *pml_store_describe(const struct pml_store *store);

/* Candidates of one slot, encoded one after the other. */
struct pml_fragment {
    uint32_t count;
    struct pml_bytes bytes;
};

/* Apart from every pml_status. FAILED: try again later. */
enum { PML_STORE_OK = 0, PML_STORE_NO_MEMORY = -102, PML_STORE_FAILED = -103 };

/* Both append to `fragment`. SPEC 6.5. */
int pml_store_cell(struct pml_store *store, uint32_t slot, uint32_t cell, struct pml_fragment *fragment);
int pml_store_nearest(struct pml_store *store, uint32_t slot, const double *place, uint32_t count,
                      struct pml_fragment *fragment);

/* How many items the cell lists. */
int pml_store_cell_size(struct pml_store *store, uint32_t slot, uint32_t cell, uint64_t *size);

/* 0 when the store answers. */
int pml_store_ping(struct pml_store *store);

/* ---- writing: one thread, and one writer of a store in a process ---- */

struct pml_store_writer;

struct pml_store_item {
    uint32_t slot;
    const uint32_t *cells; /* that list the item, all different; of its slot */
    uint32_t cell_count;   /* OWN: info.cells_per_item; SHARE: any number; NONE: 0 */
    const float *place;    /* info.dimensions numbers, or NULL */
    struct pml_candidate candidate;
};

/* Begins a store, or goes on with one that was begun from the same inputs (`source`: their hash) and not finished.
 * *done: how many items it already has, always the first ones in the order they are added. What was begun from other
 * inputs is thrown away, and `message` says so although 0 is answered. A finished store is only replaced when `force` is
 * set, and then at pml_store_finish, at once. */
int pml_store_begin(struct pml_store_writer **writer, const char *uri, const struct pml_store_info *info,
                    const uint8_t source[32], bool force, uint64_t *done, struct pml_message *message);

/* A fault of an item may be told as late as at the next checkpoint. */
int pml_store_add(struct pml_store_writer *writer, const struct pml_store_item *item, struct pml_message *message);

/* Makes what was added so far durable: after a crash it is still there. After a failure here or in pml_store_add only
 * pml_store_abandon may follow. */
int pml_store_checkpoint(struct pml_store_writer *writer, struct pml_message *message);

/* Complete, flushed, in its place. The writer is gone whatever happens. */
int pml_store_finish(struct pml_store_writer *writer, struct pml_message *message);

/* Gives up, keeps what was made durable for a later begin. */
void pml_store_abandon(struct pml_store_writer *writer);

#endif
