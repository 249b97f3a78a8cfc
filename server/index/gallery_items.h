/* SPDX-License-Identifier: Apache-2.0
 * The items of a gallery in memory, ascending by number, and how they follow a change. */
#ifndef PML_GALLERY_ITEMS_H
#define PML_GALLERY_ITEMS_H

#include "common/message.h"
#include "common/rows/rows.h"

#include <privatemail_public.h>

/* A zeroed struct is empty and may be freed. */
struct pml_items {
    size_t count;
    uint64_t *numbers;
    int32_t *labels;
    uint32_t *slots;
    uint16_t *payload_sizes;
    struct pml_rows rows;
    int8_t *sketches;
    float *places; /* `dimensions` of each */
    uint32_t sketch, dimensions;
};

/* Room for so many items. Returns PML_DONE or PML_NO_MEMORY; free them in any case. */
pml_outcome pml_items_allocate(struct pml_items *items, size_t count, size_t columns, uint32_t sketch,
                               uint32_t dimensions);
void pml_items_free(struct pml_items *items);

/* Items that come, in any order. An item whose number is there already is replaced. */
struct pml_newcomers {
    const struct pml_rows *rows; /* NULL: nobody comes. Mapped, when the pack has fronts */
    const uint64_t *items;       /* number of each row, all different */
    const int32_t *labels;       /* class of each row; NULL: all 0 */
    const uint32_t *slots;       /* of the pack */
    /* The payload of a row, valid until the next call. Returns PML_DONE, or another outcome with a message. NULL: all are
     * empty. */
    pml_outcome (*payload)(void *context, size_t row, const uint8_t **bytes, size_t *size, struct pml_message *message);
    void *payload_context;
};

#define PML_NOBODY UINT32_MAX

/* Who is who after a change. */
struct pml_succession {
    size_t count;
    uint32_t *was;  /* of each item: its index before, or PML_NOBODY for one that came */
    uint32_t *from; /* of each item that came: its row among the newcomers; else PML_NOBODY */
    size_t added, replaced, removed;
};

/* Removes, then adds. Returns PML_DONE, PML_NO_MEMORY, or PML_REFUSED with a message when a number to be removed is not
 * there or is given twice, or when nobody would be left. Free it in any case. */
pml_outcome pml_succession_make(struct pml_succession *succession, const struct pml_items *before,
                                const struct pml_newcomers *newcomers, const uint64_t *removed, size_t removed_count,
                                struct pml_message *message);
void pml_succession_free(struct pml_succession *succession);

/* The items after a change; payload sizes of newcomers are 0 as yet. Newcomers get sketches, and places when `embedding` is
 * not NULL. Returns PML_DONE, or another outcome with a message. */
struct pml_embedding;
pml_outcome pml_items_follow(struct pml_items *after, const struct pml_items *before,
                             const struct pml_succession *succession, const struct pml_newcomers *newcomers,
                             const pml_pack *pack, const struct pml_embedding *embedding, unsigned threads,
                             struct pml_message *message);

#endif
