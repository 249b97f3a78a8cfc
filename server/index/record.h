/* SPDX-License-Identifier: Apache-2.0
 * What `index` knows about a gallery, as private blobs (SPEC 8.5): the record of a pack, the state of each kept version, and
 * how far an unfinished index has come. */
#ifndef PML_RECORD_H
#define PML_RECORD_H

#include "common/bytes.h"
#include "server/store/store.h"

#include <privatemail_public.h>

/* How items are listed and placed: fixed by the first index. */
struct pml_settings {
    uint32_t list;           /* items per list; 0: items are in the lists of their own cells, or there are none */
    uint32_t cells_per_item; /* 1 or 2; 0 with a list length, or without lists */
    uint32_t iterations;     /* of the places */
    uint64_t fixed_at;       /* items when the list length was fixed */
};

/* Items that follow one another, and their payloads (no name: none of them has one). */
struct pml_state_page {
    uint64_t first; /* item */
    uint32_t items;
    struct pml_name rows, payloads;
};

/* Neighbours of a slot's items; a large slot has several, one after the other. */
struct pml_state_neighbours {
    uint32_t slot;
    struct pml_name name;
};

/* Zeroed structs may be freed. */
struct pml_state {
    uint8_t pack[PML_ID_SIZE];
    uint64_t items;
    struct pml_settings settings;
    uint32_t columns, sketch, dimensions; /* of an item: features, L, k or 0 */
    struct pml_state_page *pages;
    struct pml_name *voters;
    struct pml_state_neighbours *neighbours;
    uint32_t page_count, voter_count, neighbour_count;
};

struct pml_kept {
    struct pml_name version, state;
};

struct pml_record {
    uint8_t pack[PML_ID_SIZE];
    uint32_t keep;            /* versions */
    struct pml_kept *history; /* the current one, then the newest first */
    uint32_t count;
};

enum pml_stage { PML_STAGE_NONE, PML_STAGE_ROWS, PML_STAGE_NEIGHBOURS };

struct pml_building {
    uint8_t inputs[32]; /* digest of what is indexed */
    enum pml_stage done;
    struct pml_name state; /* so far */
};

/* Writing returns PML_DONE or PML_NO_MEMORY; reading also PML_DAMAGED, or PML_OTHER_VERSION with a message. Free what was
 * read in any case. */
pml_outcome pml_state_write(const struct pml_state *state, struct pml_bytes *bytes);
pml_outcome pml_state_read(const uint8_t *bytes, size_t size, struct pml_state *state, struct pml_message *message);
void pml_state_free(struct pml_state *state);
pml_outcome pml_record_write(const struct pml_record *record, struct pml_bytes *bytes);
pml_outcome pml_record_read(const uint8_t *bytes, size_t size, struct pml_record *record, struct pml_message *message);
void pml_record_free(struct pml_record *record);
pml_outcome pml_building_write(const struct pml_building *building, struct pml_bytes *bytes);
pml_outcome pml_building_read(const uint8_t *bytes, size_t size, struct pml_building *building,
                              struct pml_message *message);

/* Puts a version first; it is there once, and what is more than `keep` goes. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_record_push(struct pml_record *record, const struct pml_kept *kept);

/* The same from and to a store. Reading returns PML_DONE, or another outcome with a message. */
pml_outcome pml_state_load(struct pml_store *store, const struct pml_name *name, struct pml_state *state,
                           struct pml_message *message);
pml_outcome pml_record_load(struct pml_store *store, const struct pml_name *name, struct pml_record *record,
                            struct pml_message *message);
pml_outcome pml_building_load(struct pml_store *store, const struct pml_name *name, struct pml_building *building,
                              struct pml_message *message);
pml_outcome pml_state_save(struct pml_store *store, const struct pml_state *state, struct pml_name *name,
                           struct pml_message *message);
pml_outcome pml_record_save(struct pml_store *store, const struct pml_record *record, struct pml_name *name,
                            struct pml_message *message);
pml_outcome pml_building_save(struct pml_store *store, const struct pml_building *building, struct pml_name *name,
                              struct pml_message *message);

/* One blob, appended to `bytes`. Returns PML_DONE, or another outcome with a message that calls it `what`. */
pml_outcome pml_blob_load(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *name, const char *what,
                          struct pml_bytes *bytes, struct pml_message *message);

/* What to say when a blob could not be read; returns the outcome. PML_OTHER_VERSION has its message already. */
pml_outcome pml_blob_say(pml_outcome outcome, const char *what, struct pml_message *message);

#endif
