/* SPDX-License-Identifier: Apache-2.0
 * Parts of answers that are kept in memory, under their names: a part that stands in two versions of a gallery, or in the
 * galleries of two packs, is kept once, and stays good. */
#ifndef PML_CACHE_H
#define PML_CACHE_H

#include "part.h"
#include "server/store/name.h"

struct pml_cache;

/* Keeps parts of at most `limit` bytes together, those used last. For any number of threads. Returns NULL when out of
 * memory. */
struct pml_cache *pml_cache_open(size_t limit);
void pml_cache_close(struct pml_cache *cache);

/* What a part of so many bytes takes of the limit. */
uint64_t pml_cache_cost(uint64_t size);

/* Fills parts[i] with a reference to the part of names[i], or with NULL when it is not kept. */
void pml_cache_find(struct pml_cache *cache, const struct pml_name *names, size_t count, struct pml_part **parts);

/* Keeps a reference to the part, if there is room or room can be made. */
void pml_cache_keep(struct pml_cache *cache, const struct pml_name *name, struct pml_part *part);

struct pml_cache_counts {
    uint64_t hits, misses, evictions, bytes, limit;
};
struct pml_cache_counts pml_cache_count(struct pml_cache *cache);

#endif
