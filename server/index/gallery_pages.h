/* SPDX-License-Identifier: Apache-2.0
 * Items as private pages (SPEC 8.5): rows, and beside them payloads, so that rows can be loaded without payloads. A page is
 * written only when one of its items changed. */
#ifndef PML_GALLERY_PAGES_H
#define PML_GALLERY_PAGES_H

#include "gallery_items.h"
#include "record.h"

/* All items of a state, which is one of this pack. Returns PML_DONE, or another outcome with a message. Free the items in any
 * case. */
pml_outcome pml_pages_load(struct pml_store *store, const struct pml_state *state, struct pml_items *items,
                           struct pml_message *message);

/* The largest number of a state's items. Returns PML_DONE, or another outcome with a message. */
pml_outcome pml_pages_last(struct pml_store *store, const struct pml_state *state, uint64_t *last,
                           struct pml_message *message);

/* Reads payloads, fastest in ascending order. */
struct pml_payloads {
    struct pml_store *store;
    const struct pml_state *state;
    const struct pml_items *items;
    size_t page, first; /* the one that is loaded, or the number of pages; its first item's index */
    struct pml_bytes bytes;
    size_t at_item, at_byte; /* where the last payload began */
};

void pml_payloads_begin(struct pml_payloads *payloads, struct pml_store *store, const struct pml_state *state,
                        const struct pml_items *items);
void pml_payloads_end(struct pml_payloads *payloads);

/* The payload of the index-th item, which has one. It is valid until the next call. Returns PML_DONE, or another outcome with
 * a message. `context` is a struct pml_payloads. */
pml_outcome pml_payloads_read(void *context, size_t index, const uint8_t **bytes, struct pml_message *message);

struct pml_pages_change {
    const struct pml_state *before; /* its items: */
    const struct pml_items *items_before;
    const struct pml_succession *succession;
    const struct pml_newcomers *newcomers;
    const struct pml_progress *progress; /* may be NULL */
    bool *newcomer_failed;               /* set when the payload of a newcomer could not be read */
};

/* Writes the pages that changed, fills the pages of `state` and the payload sizes of the newcomers. Returns PML_DONE, or
 * another outcome with a message. */
pml_outcome pml_pages_write(struct pml_store *store, const struct pml_pages_change *change, struct pml_items *items,
                            struct pml_state *state, struct pml_message *message);

#endif
