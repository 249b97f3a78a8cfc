/* SPDX-License-Identifier: Apache-2.0
 * In: parts of answers. Out: the same parts, as long as there is room for them.
 * Never copies a part, and never frees one that is being sent. */
#include "cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 14 };

struct entry {
    struct entry *chain;         /* of the same bucket */
    struct entry *newer, *older; /* in the order of use */
    struct pml_cache_key key;
    struct pml_part *part;
};

struct pml_cache {
    pthread_mutex_t lock;
    struct entry *buckets[BUCKETS];
    struct entry *newest, *oldest;
    struct pml_cache_counts counts;
};

/* ---- parts ---- */

static struct pml_part *make(const struct pml_bytes *head, const struct pml_bytes *rest, uint32_t count)
{
    struct pml_part *part = malloc(sizeof *part + head->size + rest->size);
    if (!part)
        return NULL;
    atomic_init(&part->holders, 1);
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
    struct pml_part *part = pml_answer_write_slot(&head, slot, candidates->count) == 0
                                ? make(&head, &candidates->bytes, candidates->count)
                                : NULL;
    pml_bytes_free(&head);
    return part;
}

struct pml_part *pml_part_copy(const struct pml_bytes *bytes)
{
    return make(bytes, &(struct pml_bytes){0}, 0);
}

void pml_part_release(struct pml_part *part)
{
    if (part && atomic_fetch_sub(&part->holders, 1) == 1)
        free(part);
}

struct pml_fragment pml_part_candidates(const struct pml_part *part)
{
    uint8_t *start = (uint8_t *)(uintptr_t)part->bytes + part->head; /* nobody writes to it */
    return (struct pml_fragment){part->count, {start, part->size - part->head, part->size - part->head}};
}

/* ---- cache ---- */

struct pml_cache *pml_cache_open(size_t limit)
{
    struct pml_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    pthread_mutex_init(&cache->lock, NULL);
    cache->counts.limit = limit;
    return cache;
}

static bool is_key(const struct pml_cache_key *left, const struct pml_cache_key *right)
{
    return left->store == right->store && left->slot == right->slot && left->cell == right->cell;
}

static struct entry **bucket_of(struct pml_cache *cache, const struct pml_cache_key *key)
{
    uint64_t hash = (uint64_t)(uintptr_t)key->store + ((uint64_t)key->slot << 32 | key->cell);
    hash = (hash ^ hash >> 31) * 0x9E3779B97F4A7C15u;
    return &cache->buckets[hash >> 50];
}

static uint64_t cost(const struct entry *entry)
{
    return sizeof *entry + sizeof *entry->part + entry->part->size;
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

static struct entry *look(struct pml_cache *cache, const struct pml_cache_key *key)
{
    struct entry *entry = *bucket_of(cache, key);
    while (entry && !is_key(&entry->key, key))
        entry = entry->chain;
    return entry;
}

/* Under the lock, as all of these. */
static void drop_oldest(struct pml_cache *cache)
{
    struct entry *entry = cache->oldest, **at = bucket_of(cache, &entry->key);
    while (*at != entry)
        at = &(*at)->chain;
    *at = entry->chain;
    unlink_use(cache, entry);
    cache->counts.bytes -= cost(entry);
    pml_part_release(entry->part);
    free(entry);
}

struct pml_part *pml_cache_find(struct pml_cache *cache, const struct pml_cache_key *key)
{
    struct pml_part *part = NULL;
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = look(cache, key);
    if (entry) {
        unlink_use(cache, entry);
        link_newest(cache, entry);
        part = entry->part;
        atomic_fetch_add(&part->holders, 1);
        cache->counts.hits++;
    } else {
        cache->counts.misses++;
    }
    pthread_mutex_unlock(&cache->lock);
    return part;
}

void pml_cache_keep(struct pml_cache *cache, const struct pml_cache_key *key, struct pml_part *part)
{
    struct entry *entry = malloc(sizeof *entry);
    if (!entry)
        return; /* it is only not kept */
    *entry = (struct entry){.key = *key, .part = part};
    pthread_mutex_lock(&cache->lock);
    /* Two threads may have made the same part at the same time. */
    bool kept = cost(entry) <= cache->counts.limit && !look(cache, key);
    while (kept && cache->counts.bytes + cost(entry) > cache->counts.limit) {
        drop_oldest(cache);
        cache->counts.evictions++;
    }
    if (kept) {
        struct entry **bucket = bucket_of(cache, key);
        entry->chain = *bucket;
        *bucket = entry;
        link_newest(cache, entry);
        atomic_fetch_add(&part->holders, 1);
        cache->counts.bytes += cost(entry);
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
