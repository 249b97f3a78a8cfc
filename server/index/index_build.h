/* SPDX-License-Identifier: Apache-2.0
 * Fills a store with the items of a gallery: cells, sketches, places. What it computes for an item depends on that item
 * and the pack only (lists of a share on the whole gallery, before it begins), so work may stop and go on anywhere. */
#ifndef PML_INDEX_BUILD_H
#define PML_INDEX_BUILD_H

#include "index_lists.h"
#include "server/embedding/embedding.h"
#include "server/store/store.h"

struct pml_gallery {
    const struct pml_rows *rows; /* as many columns as the pack has features: mapped, when it has fronts */
    const uint64_t *items;       /* number of each row */
    const int32_t *labels;       /* class of each row; NULL: all 0 */
    const uint32_t *slots;       /* slot of each row, of the pack */
    /* The payload of a row, valid until the next call. Returns PML_DONE, or another outcome with a message. NULL: all
     * are empty. */
    pml_outcome (*payload)(void *context, size_t row, const uint8_t **bytes, size_t *size, struct pml_message *message);
    void *payload_context;
    const struct pml_cell_lists *lists; /* PML_LISTS_SHARE: the cells of each row; else NULL */
};

/* How to list and to place items. */
struct pml_index_choice {
    uint32_t cells_per_item; /* 1 or 2; not looked at with a share */
    uint32_t share;          /* in millionths; 0: every item is in the lists of its own cells */
    uint32_t iterations;
};

/* What a store of this gallery is like: without lists when the pack has no cells, without places when it has no
 * anchors. */
struct pml_store_info pml_index_describe(const pml_pack_info *pack, uint64_t items,
                                         const struct pml_index_choice *choice);

/* Adds all items from number `done` on, with a checkpoint every PML_INDEX_BATCH items. `embedding`: NULL when the store has
 * no places. Returns PML_DONE, or another outcome with a message. */
#define PML_INDEX_BATCH 4096u
pml_outcome pml_index_fill(struct pml_store_writer *writer, const struct pml_store_info *info, const pml_pack *pack,
                           const struct pml_embedding *embedding, const struct pml_gallery *gallery, uint64_t done,
                           unsigned threads, const struct pml_progress *progress, struct pml_message *message);

#endif
