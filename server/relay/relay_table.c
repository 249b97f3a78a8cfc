/* SPDX-License-Identifier: Apache-2.0
 * Open addressing with linear steps, never more than half full. */
#include "relay_table.h"

#include "common/digest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 64 };

static const uint8_t *key_at(struct relay_keys keys, uint32_t index)
{
    return (const uint8_t *)keys.keys + (size_t)index * keys.stride;
}

/* The slot of the key, or the empty one where it would stand. */
static size_t slot_of(const struct relay_table *table, struct relay_keys keys, const uint8_t *key)
{
    size_t slot = pml_digest_string(table->seed, key, RELAY_KEY_SIZE) & (table->size - 1);
    while (table->slots[slot] != 0 && memcmp(key_at(keys, table->slots[slot] - 1), key, RELAY_KEY_SIZE) != 0)
        slot = (slot + 1) & (table->size - 1);
    return slot;
}

pml_outcome relay_table_reserve(struct relay_table *table, struct relay_keys keys, size_t more)
{
    size_t size = table->size > 0 ? table->size : FIRST_SIZE;
    while (size / 2 < table->used + more)
        size *= 2;
    if (size == table->size)
        return PML_DONE;
    struct relay_table larger = {.seed = table->seed, .size = size, .slots = calloc(size, sizeof *larger.slots)};
    if (!larger.slots)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < table->size; i++) {
        if (table->slots[i] != 0)
            relay_table_add(&larger, keys, table->slots[i] - 1);
    }
    free(table->slots);
    *table = larger;
    return PML_DONE;
}

uint32_t relay_table_find(const struct relay_table *table, struct relay_keys keys, const uint8_t *key)
{
    const uint32_t found = table->size > 0 ? table->slots[slot_of(table, keys, key)] : 0;
    return found > 0 ? found - 1 : RELAY_NO_INDEX;
}

void relay_table_add(struct relay_table *table, struct relay_keys keys, uint32_t index)
{
    table->slots[slot_of(table, keys, key_at(keys, index))] = index + 1;
    table->used++;
}

void relay_table_undo(struct relay_table *table, struct relay_keys keys, uint32_t index)
{
    table->slots[slot_of(table, keys, key_at(keys, index))] = 0;
    table->used--;
}

void relay_table_free(struct relay_table *table)
{
    free(table->slots);
    *table = (struct relay_table){.seed = table->seed};
}
