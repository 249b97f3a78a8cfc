/* SPDX-License-Identifier: Apache-2.0
 * Parts of answers: making, counting and freeing them. */
#include "part.h"

#include <stdlib.h>
#include <string.h>

struct pml_part *pml_part_copy(const void *bytes, size_t size)
{
    struct pml_part *part = malloc(sizeof *part + size);
    if (!part)
        return NULL;
    atomic_init(&part->references, 1);
    part->size = size;
    if (size > 0)
        memcpy(part->bytes, bytes, size);
    return part;
}

struct pml_part *pml_part_ref(struct pml_part *part)
{
    atomic_fetch_add_explicit(&part->references, 1, memory_order_relaxed);
    return part;
}

void pml_part_unref(struct pml_part *part)
{
    if (part && atomic_fetch_sub(&part->references, 1) == 1)
        free(part);
}

void pml_parts_free(struct pml_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        pml_part_unref(parts->parts[i]);
    free(parts->parts);
    *parts = (struct pml_parts){0};
}
