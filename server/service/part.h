/* SPDX-License-Identifier: Apache-2.0
 * Parts of an answer (SPEC 3): its header, and what each slot gets. They never change, so the same part may be sent to
 * many at once. */
#ifndef PML_PART_H
#define PML_PART_H

#include "server/gallery/answer_list.h"

#include <stdatomic.h>

/* Counted: pml_part_unref frees it when nobody refers to it any more. */
struct pml_part {
    atomic_uint references;
    size_t size;
    uint8_t bytes[];
};

/* Returns NULL when out of memory. */
struct pml_part *pml_part_copy(const void *bytes, size_t size);

struct pml_part *pml_part_ref(struct pml_part *part); /* returns the part */
void pml_part_unref(struct pml_part *part);           /* NULL does nothing */

/* An answer in parts: its header, then one part per slot of the answer. */
struct pml_parts {
    struct pml_part **parts;
    size_t count;
    uint64_t size; /* bytes of all */
};
void pml_parts_free(struct pml_parts *parts);

#endif
