/* SPDX-License-Identifier: Apache-2.0
 * Parts of answers, and those of them that are kept. What a slot gets for a cell depends on nothing but the gallery, so
 * it is made once and sent many times. */
#ifndef PML_CACHE_H
#define PML_CACHE_H

#include "server/store/store.h"

#include <stdatomic.h>

/* Bytes of an answer that never change; whoever holds one gives it back, the last one frees it. */
struct pml_part {
    atomic_uint holders;
    uint32_t count;    /* candidates */
    size_t head, size; /* bytes before the candidates; of all */
    uint8_t bytes[];
};

/* A slot's part of an answer (SPEC 3): its head, then its candidates. NULL without memory. */
struct pml_part *pml_part_make(uint32_t slot, const struct pml_fragment *candidates);

/* Any bytes. NULL without memory. */
struct pml_part *pml_part_copy(const struct pml_bytes *bytes);
void pml_part_release(struct pml_part *part); /* NULL does nothing */

/* The candidates alone; they live as long as the part. */
struct pml_fragment pml_part_candidates(const struct pml_part *part);

struct pml_cache;

/* Keeps parts of at most `limit` bytes in all, those used last. For any number of threads. NULL without memory. */
struct pml_cache *pml_cache_open(size_t limit);
void pml_cache_close(struct pml_cache *cache);

struct pml_cache_key {
    const struct pml_store *store;
    uint32_t slot, cell;
};

/* The part, held once more; NULL when it is not there. */
struct pml_part *pml_cache_find(struct pml_cache *cache, const struct pml_cache_key *key);

/* Keeps it too, if there is room or can be made; whoever holds it goes on holding it. */
void pml_cache_keep(struct pml_cache *cache, const struct pml_cache_key *key, struct pml_part *part);

struct pml_cache_counts {
    uint64_t hits, misses, evictions, bytes, limit;
};
struct pml_cache_counts pml_cache_count(struct pml_cache *cache);

#endif
