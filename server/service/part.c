/* SPDX-License-Identifier: Apache-2.0
 * Parts of answers: making, counting and freeing them. */
#include "part.h"

#include <stdlib.h>
#include <string.h>

static struct pml_part *make(const struct pml_bytes *head, const struct pml_bytes *rest, uint32_t count)
{
    struct pml_part *part = malloc(sizeof *part + head->size + rest->size);
    if (!part)
        return NULL;
    atomic_init(&part->references, 1);
    part->count = count;
    part->head = head->size;
    part->size = head->size + rest->size;
    if (head->size > 0)
        memcpy(part->bytes, head->bytes, head->size);
    if (rest->size > 0)
        memcpy(part->bytes + head->size, rest->bytes, rest->size);
    return part;
}

struct pml_part *pml_part_make(uint32_t slot, const struct pml_fragment *candidates)
{
    struct pml_bytes head = {0};
    struct pml_part *part = pml_answer_write_slot(&head, slot, candidates->count) == PML_DONE
                                ? make(&head, &candidates->bytes, candidates->count)
                                : NULL;
    pml_bytes_free(&head);
    return part;
}

struct pml_part *pml_part_copy(const struct pml_bytes *bytes)
{
    return make(bytes, &(struct pml_bytes){0}, 0);
}

struct pml_part *pml_part_ref(struct pml_part *part)
{
    atomic_fetch_add(&part->references, 1);
    return part;
}

void pml_part_unref(struct pml_part *part)
{
    if (part && atomic_fetch_sub(&part->references, 1) == 1)
        free(part);
}

struct pml_fragment pml_part_candidates(const struct pml_part *part)
{
    uint8_t *start = (uint8_t *)(uintptr_t)part->bytes + part->head; /* nobody writes to it */
    return (struct pml_fragment){part->count, {start, part->size - part->head, part->size - part->head}};
}

void pml_parts_free(struct pml_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        pml_part_unref(parts->parts[i]);
    free(parts->parts);
    *parts = (struct pml_parts){0};
}
