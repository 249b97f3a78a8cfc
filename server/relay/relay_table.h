/* SPDX-License-Identifier: Apache-2.0
 * Finds 16-byte keys (tickets, digests of messages, tokens) in an array that grows. The keys may come from somebody who
 * wants the table to be slow, so their places depend on a seed that nobody knows. */
#ifndef RELAY_TABLE_H
#define RELAY_TABLE_H

#include "common/message.h"

#include <stddef.h>
#include <stdint.h>

enum { RELAY_KEY_SIZE = 16 };
#define RELAY_NO_INDEX UINT32_MAX

/* The i-th key stands at `keys` + i·stride, in an array that the caller owns. */
struct relay_keys {
    const void *keys;
    size_t stride;
};

/* A table with nothing but a seed is empty. */
struct relay_table {
    uint64_t seed;
    uint32_t *slots; /* index + 1; 0 is empty */
    size_t size;     /* a power of two, or 0 */
    size_t used;
};

/* Makes room for `more` keys. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome relay_table_reserve(struct relay_table *table, struct relay_keys keys, size_t more);

/* Index of a key, or RELAY_NO_INDEX. */
uint32_t relay_table_find(const struct relay_table *table, struct relay_keys keys, const uint8_t *key);

/* Adds a key that stands at `index` and is not there yet; there must be room. */
void relay_table_add(struct relay_table *table, struct relay_keys keys, uint32_t index);

/* Takes out the key that was added last. */
void relay_table_undo(struct relay_table *table, struct relay_keys keys, uint32_t index);

void relay_table_free(struct relay_table *table);

#endif
