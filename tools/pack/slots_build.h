/* SPDX-License-Identifier: Apache-2.0
 * Which slot a class and an anchor belong to. */
#ifndef PML_SLOTS_BUILD_H
#define PML_SLOTS_BUILD_H

#include "common/npy.h"
#include "common/rows/rows.h"

struct pml_slot_map {
    size_t classes, slots; /* C and G; C = 0 with one slot */
    int32_t *labels;       /* of the classes, ascending */
    uint32_t *class_slots; /* slot of each class */
    uint32_t *order;       /* rows, slot by slot, within a slot as they came */
    uint32_t *starts;      /* where each slot begins in `order`; starts[slots] = number of rows */
};

/* kind: PML_SLOTS_…; labels may be NULL for one slot; `groups`: wanted slots of kind group, 0 for 128 or one per class.
 * Returns PML_DONE, or another outcome with a message. Free it after a failure too. */
pml_outcome pml_slots_build(struct pml_slot_map *map, const struct pml_rows *rows, const struct pml_labels *labels,
                            int kind, unsigned groups, uint64_t seed, unsigned threads, struct pml_message *message);
void pml_slots_free(struct pml_slot_map *map);

#endif
