/* SPDX-License-Identifier: Apache-2.0
 * Reading a store one cell or point at a time. */
#ifndef TEST_STORE_READING_H
#define TEST_STORE_READING_H

#include "server/store/store.h"

/* A pml_take_fn: appends to fragments[index]. */
static inline pml_outcome take_fragment(void *context, size_t index, const struct pml_fragment *candidates)
{
    struct pml_fragment *fragment = (struct pml_fragment *)context + index;
    fragment->count += candidates->count;
    return pml_bytes_append(&fragment->bytes, candidates->bytes.bytes, candidates->bytes.size);
}

static inline pml_outcome read_cell(struct pml_store *store, uint32_t slot, uint32_t cell, struct pml_fragment *found)
{
    const struct pml_cell one = {slot, cell};
    return pml_store_cells(store, &one, 1, take_fragment, found);
}

static inline pml_outcome read_nearest(struct pml_store *store, uint32_t slot, const double *place, uint32_t wanted,
                                       struct pml_fragment *found)
{
    const struct pml_point one = {slot, place};
    return pml_store_nearest(store, &one, 1, wanted, take_fragment, found);
}

/* The sizes of a store, added up per slot and cell. */
enum { SIZED_SLOTS = 8, SIZED_CELLS = 8 };
struct sizes {
    uint64_t calls[SIZED_SLOTS][SIZED_CELLS], counts[SIZED_SLOTS][SIZED_CELLS], bytes[SIZED_SLOTS][SIZED_CELLS];
};

/* A pml_size_fn. */
static inline pml_outcome take_size(void *context, struct pml_cell cell, uint64_t count, uint64_t bytes)
{
    struct sizes *sizes = context;
    if (cell.slot >= SIZED_SLOTS || cell.cell >= SIZED_CELLS)
        return PML_REFUSED;
    sizes->calls[cell.slot][cell.cell]++;
    sizes->counts[cell.slot][cell.cell] += count;
    sizes->bytes[cell.slot][cell.cell] += bytes;
    return PML_DONE;
}

#endif
