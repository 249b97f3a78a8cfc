/* SPDX-License-Identifier: Apache-2.0
 * Keeps parts of answers as long as there is room. A part is never copied, and never freed while it is being sent. */
#include "cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 14 };

struct entry {
    struct entry *chain;         /* of the same bucket */
    struct entry *newer, *older; /* in the order of use */
    struct pml_name name;
    struct pml_part *part;
};

struct pml_cache {
    pthread_mutex_t lock;
    struct entry *buckets[BUCKETS];
    struct entry *newest, *oldest;
    struct pml_cache_counts counts;
};

struct pml_cache *pml_cache_open(size_t limit)
{
    struct pml_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    pthread_mutex_init(&cache->lock, NULL);
    cache->counts.limit = limit;
    return cache;
}

/* Any bytes of a name are as good as a hash. */
static struct entry **bucket_of(struct pml_cache *cache, const struct pml_name *name)
{
    uint32_t hash;
    memcpy(&hash, name->bytes, sizeof hash);
    return &cache->buckets[hash % BUCKETS];
}

uint64_t pml_cache_cost(uint64_t size)
{
    return sizeof(struct entry) + sizeof(struct pml_part) + size;
}

static uint64_t cost(const struct entry *entry)
{
    return pml_cache_cost(entry->part->size);
}

static void unlink_use(struct pml_cache *cache, struct entry *entry)
{
    *(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void link_newest(struct pml_cache *cache, struct entry *entry)
{
    entry->newer = NULL;
    entry->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
    cache->newest = entry;
}

/* Under the lock, as all of these. */
static struct entry *look(struct pml_cache *cache, const struct pml_name *name)
{
    struct entry *entry = *bucket_of(cache, name);
    while (entry && !pml_name_same(&entry->name, name))
        entry = entry->chain;
    return entry;
}

static void drop_oldest(struct pml_cache *cache)
{
    struct entry *entry = cache->oldest, **at = bucket_of(cache, &entry->name);
    while (*at != entry)
        at = &(*at)->chain;
    *at = entry->chain;
    unlink_use(cache, entry);
    cache->counts.bytes -= cost(entry);
    pml_part_unref(entry->part);
    free(entry);
}

static void add(struct pml_cache *cache, struct entry *entry)
{
    struct entry **bucket = bucket_of(cache, &entry->name);
    entry->chain = *bucket;
    *bucket = entry;
    link_newest(cache, entry);
    cache->counts.bytes += cost(entry);
}

void pml_cache_find(struct pml_cache *cache, const struct pml_name *names, size_t count, struct pml_part **parts)
{
    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = look(cache, &names[i]);
        parts[i] = entry ? pml_part_ref(entry->part) : NULL;
        cache->counts.hits += entry != NULL;
        cache->counts.misses += entry == NULL;
        if (entry) {
            unlink_use(cache, entry);
            link_newest(cache, entry);
        }
    }
    pthread_mutex_unlock(&cache->lock);
}

void pml_cache_keep(struct pml_cache *cache, const struct pml_name *name, struct pml_part *part)
{
    struct entry *entry = malloc(sizeof *entry);
    if (!entry)
        return; /* it is only not kept */
    *entry = (struct entry){.name = *name, .part = part};
    pthread_mutex_lock(&cache->lock);
    /* Two threads may have made the same part at the same time. */
    const bool kept = cost(entry) <= cache->counts.limit && !look(cache, name);
    while (kept && cache->counts.bytes + cost(entry) > cache->counts.limit) {
        drop_oldest(cache);
        cache->counts.evictions++;
    }
    if (kept) {
        pml_part_ref(part);
        add(cache, entry);
    }
    pthread_mutex_unlock(&cache->lock);
    if (!kept)
        free(entry);
}

struct pml_cache_counts pml_cache_count(struct pml_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    struct pml_cache_counts counts = cache->counts;
    pthread_mutex_unlock(&cache->lock);
    return counts;
}

void pml_cache_close(struct pml_cache *cache)
{
    if (!cache)
        return;
    while (cache->oldest)
        drop_oldest(cache);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}
