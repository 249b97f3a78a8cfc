/* SPDX-License-Identifier: Apache-2.0
 * Names are hashes already, so their first bytes say where they are. */
#include "name_set.h"
#include "server/gallery/little_endian.h"

#include <stdlib.h>

/* Where the name is, or the free place where it would be. */
static struct pml_name *find(const struct pml_name_set *set, const struct pml_name *name)
{
    size_t at = (size_t)pml_get64(name->bytes) & (set->capacity - 1);
    while (!pml_name_none(&set->slots[at]) && !pml_name_same(&set->slots[at], name))
        at = (at + 1) & (set->capacity - 1);
    return &set->slots[at];
}

static pml_outcome grow(struct pml_name_set *set)
{
    const size_t capacity = set->capacity > 0 ? 2 * set->capacity : 64;
    struct pml_name_set grown = {calloc(capacity, sizeof *grown.slots), set->count, capacity};
    if (!grown.slots)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < set->capacity; i++)
        if (!pml_name_none(&set->slots[i]))
            *find(&grown, &set->slots[i]) = set->slots[i];
    free(set->slots);
    *set = grown;
    return PML_DONE;
}

pml_outcome pml_name_set_add(struct pml_name_set *set, const struct pml_name *name)
{
    if (pml_name_none(name))
        return PML_DONE;
    if (2 * set->count >= set->capacity && grow(set) != PML_DONE)
        return PML_NO_MEMORY;
    struct pml_name *place = find(set, name);
    set->count += pml_name_none(place);
    *place = *name;
    return PML_DONE;
}

bool pml_name_set_has(const struct pml_name_set *set, const struct pml_name *name)
{
    return set->capacity > 0 && !pml_name_none(name) && pml_name_same(find(set, name), name);
}

void pml_name_set_free(struct pml_name_set *set)
{
    free(set->slots);
    *set = (struct pml_name_set){0};
}

static pml_outcome take(void *context, const struct pml_name *name)
{
    return pml_name_set_add(context, name);
}

pml_outcome pml_name_set_read(struct pml_name_set *set, struct pml_store *store, enum pml_shelf shelf,
                              struct pml_message *message)
{
    const pml_outcome outcome = pml_store_names(store, shelf, take, set);
    if (outcome == PML_NO_MEMORY)
        return pml_say_memory(message);
    if (outcome != PML_DONE)
        pml_say(message, "the store cannot be read now. Check it, and run the same command again.");
    return outcome;
}
