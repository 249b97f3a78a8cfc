/* SPDX-License-Identifier: Apache-2.0
 * Sets of names: what a store has, or what somebody needs. */
#ifndef PML_NAME_SET_H
#define PML_NAME_SET_H

#include "server/store/store.h"

/* Open addressing; a zeroed struct is empty and may be freed. */
struct pml_name_set {
    struct pml_name *slots; /* no name: free */
    size_t count, capacity; /* a power of two, or 0 */
};

/* Returns PML_DONE or PML_NO_MEMORY. The zero name is no name, and is not added. */
pml_outcome pml_name_set_add(struct pml_name_set *set, const struct pml_name *name);
bool pml_name_set_has(const struct pml_name_set *set, const struct pml_name *name);
void pml_name_set_free(struct pml_name_set *set);

/* Adds all names of a shelf. Returns PML_DONE, or another outcome with a message. */
pml_outcome pml_name_set_read(struct pml_name_set *set, struct pml_store *store, enum pml_shelf shelf,
                              struct pml_message *message);

#endif
