/* SPDX-License-Identifier: Apache-2.0
 * How long answers can get (SPEC 10.5): public constants of pack and gallery. */
#ifndef PML_LONGEST_H
#define PML_LONGEST_H

#include "server/store/store.h"

/* Bytes of the longest answer to a release of each kind, and of the parts that answers are made of; 0: the server does not
 * serve the kind. */
struct pml_longest {
    uint64_t message;  /* to a message of a crowd */
    uint64_t response; /* to any other response release; the same as `message` for a pack with one slot */
    uint64_t gaussian;
    uint64_t parts; /* of all cells together */
};

/* Measures a store with one reading of its sizes per kind. `nearest` is R of SPEC 6.5. Returns what pml_store_sizes
 * returns. */
pml_outcome pml_longest_measure(struct pml_store *store, const pml_pack_info *pack, uint32_t nearest,
                                struct pml_longest *longest);

/* Bytes of a message of a crowd before it is sealed: the length of its release (SPEC 2). */
size_t pml_longest_message(const pml_pack_info *pack);

/* The longest answer to a release of so many bytes, whatever its kind; 0 when no release of this pack has that length.
 * A release's length is no secret: it depends on nothing but pack and kind. */
uint64_t pml_longest_for(const struct pml_longest *longest, const pml_pack_info *pack, size_t release_size);

#endif
