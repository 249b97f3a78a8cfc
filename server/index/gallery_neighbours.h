/* SPDX-License-Identifier: Apache-2.0
 * The neighbours of all items and the voters, from version to version (SPEC 8.5). */
#ifndef PML_GALLERY_NEIGHBOURS_H
#define PML_GALLERY_NEIGHBOURS_H

#include "gallery_items.h"
#include "server/lists/index_lists.h"
#include "record.h"

/* As pml_lists_gallery_neighbours describes them. Free `places` in any case. */
struct pml_neighbours {
    uint32_t *places;
    size_t count;
};

struct pml_neighbours_change {
    const struct pml_items *before, *after;
    const struct pml_neighbours *known; /* of the items before; NULL: nothing is */
    const uint32_t *was; /* of each item: its index before, or PML_NOBODY; not looked at when nothing is known */
    uint32_t slots;
    size_t exact, looked_at; /* 0: as index_lists.h says */
    unsigned threads;
    const struct pml_progress *progress; /* may be NULL */
};

/* Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_neighbours_follow(const struct pml_neighbours_change *change, struct pml_neighbours *found);

/* From and to a store; `items` are those of the state. Both return PML_DONE, or another outcome with a message. */
pml_outcome pml_neighbours_load(struct pml_store *store, const struct pml_state *state, const struct pml_items *items,
                                uint32_t slots, struct pml_neighbours *neighbours, struct pml_message *message);
pml_outcome pml_neighbours_save(struct pml_store *store, const struct pml_neighbours *neighbours,
                                const struct pml_items *items, uint32_t slots, struct pml_state *state,
                                struct pml_message *message);

/* Public rows that vote too. Free both in any case. */
struct pml_voters {
    struct pml_rows rows;
    uint32_t *slots; /* that each votes in, or PML_LISTS_NO_SLOT; NULL: each votes in every slot */
};

void pml_voters_free(struct pml_voters *voters);
pml_outcome pml_voters_load(struct pml_store *store, const struct pml_state *state, struct pml_voters *voters,
                            struct pml_message *message);
pml_outcome pml_voters_save(struct pml_store *store, const struct pml_voters *voters, struct pml_state *state,
                            struct pml_message *message);

#endif
