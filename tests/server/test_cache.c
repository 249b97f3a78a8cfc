/* SPDX-License-Identifier: Apache-2.0
 * Parts of answers that are kept: those used last, as many as there is room for, for any number of threads. */
#include "privacy/draws.h"
#include "server/service/cache.h"
#include "support/support.h"

#include <pthread.h>
#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static struct pml_part *make_part(uint32_t slot, size_t size)
{
    struct pml_fragment fragment = {.count = slot + 1};
    for (size_t i = 0; i < size; i++) {
        const uint8_t byte = (uint8_t)(slot + i);
        TEST_ASSERT_EQUAL(0, pml_bytes_append(&fragment.bytes, &byte, 1));
    }
    struct pml_part *part = pml_part_make(slot, &fragment);
    TEST_ASSERT_NOT_NULL(part);
    pml_bytes_free(&fragment.bytes);
    return part;
}

static struct pml_cell cell_of(uint32_t slot)
{
    return (struct pml_cell){slot, slot % 7};
}

static struct pml_part *find(struct pml_cache *cache, const struct pml_store *store, struct pml_cell cell)
{
    struct pml_part *part;
    pml_cache_find(cache, store, &cell, 1, &part);
    return part;
}

static void keep(struct pml_cache *cache, uint32_t slot, size_t size)
{
    struct pml_part *part = make_part(slot, size);
    pml_cache_keep(cache, NULL, cell_of(slot), part);
    pml_part_unref(part);
}

/* Whether it is there, and then that it is right. */
static bool is_kept(struct pml_cache *cache, uint32_t slot)
{
    struct pml_part *part = find(cache, NULL, cell_of(slot));
    if (!part)
        return false;
    const struct pml_fragment candidates = pml_part_candidates(part);
    TEST_ASSERT_EQUAL_UINT32(slot + 1, candidates.count);
    TEST_ASSERT_TRUE(candidates.bytes.size == 0 || candidates.bytes.bytes[0] == (uint8_t)slot);
    pml_part_unref(part);
    return true;
}

/* [slot, count] and the candidates, as SPEC 3 says. */
static void test_a_part_is_a_slot_of_an_answer(void)
{
    struct pml_part *part = make_part(3, 5);
    static const uint8_t expected[] = {0x82, 3, 4, 3, 4, 5, 6, 7};
    TEST_ASSERT_EQUAL_UINT64(sizeof expected, part->size);
    TEST_ASSERT_EQUAL_MEMORY(expected, part->bytes, sizeof expected);
    TEST_ASSERT_EQUAL_UINT64(5, pml_part_candidates(part).bytes.size);
    pml_part_unref(part);
    pml_part_unref(NULL);
}

static void test_those_used_last_stay(void)
{
    struct pml_cache *cache = pml_cache_open(10 * 1200);
    for (uint32_t slot = 0; slot < 8; slot++)
        keep(cache, slot, 1000);
    TEST_ASSERT_TRUE(is_kept(cache, 0)); /* used again, so 1 goes first */
    for (uint32_t slot = 8; slot < 12; slot++)
        keep(cache, slot, 1000);
    TEST_ASSERT_TRUE(is_kept(cache, 0));
    TEST_ASSERT_FALSE(is_kept(cache, 1));
    TEST_ASSERT_TRUE(is_kept(cache, 11));
    const struct pml_cache_counts counts = pml_cache_count(cache);
    TEST_ASSERT_TRUE(counts.bytes <= counts.limit && counts.bytes > counts.limit / 2);
    TEST_ASSERT_TRUE(counts.hits == 3 && counts.misses == 1 && counts.evictions > 0);
    pml_cache_close(cache);
}

static void test_what_does_not_fit_is_not_kept(void)
{
    struct pml_cache *cache = pml_cache_open(5000);
    keep(cache, 1, 1000);
    keep(cache, 2, 5000);
    TEST_ASSERT_TRUE(is_kept(cache, 1));
    TEST_ASSERT_FALSE(is_kept(cache, 2));
    keep(cache, 1, 2000); /* a second one of the same key is not taken */
    struct pml_part *part = find(cache, NULL, cell_of(1));
    TEST_ASSERT_EQUAL_UINT64(1000, pml_part_candidates(part).bytes.size);
    pml_cache_close(cache);
    TEST_ASSERT_EQUAL_UINT64(1003, part->size); /* who holds it may go on */
    TEST_ASSERT_EQUAL_UINT8(1, part->bytes[3]);
    pml_part_unref(part);
    pml_cache_close(NULL);
}

static void test_keys_differ_in_every_field(void)
{
    struct pml_cache *cache = pml_cache_open(1 << 20);
    const struct pml_store *stores = (const struct pml_store *)(uintptr_t)4096;
    const struct {
        const struct pml_store *store;
        struct pml_cell cell;
    } keys[] = {{NULL, {1, 2}}, {stores, {1, 2}}, {NULL, {2, 1}}, {NULL, {1, 3}}, {NULL, {2, 2}}};
    for (size_t i = 0; i < 5; i++) {
        TEST_ASSERT_NULL(find(cache, keys[i].store, keys[i].cell));
        struct pml_part *part = make_part((uint32_t)i, 1);
        pml_cache_keep(cache, keys[i].store, keys[i].cell, part);
        pml_part_unref(part);
    }
    for (size_t i = 0; i < 5; i++) {
        struct pml_part *part = find(cache, keys[i].store, keys[i].cell);
        TEST_ASSERT_EQUAL_UINT32(i + 1, part->count);
        pml_part_unref(part);
    }
    pml_cache_close(cache);
}

/* All parts of an answer are asked for at once: those that are kept come, in their places. */
static void test_many_are_found_at_once(void)
{
    struct pml_cache *cache = pml_cache_open(1 << 20);
    struct pml_cell cells[10];
    struct pml_part *parts[10];
    for (uint32_t slot = 0; slot < 10; slot++) {
        cells[slot] = cell_of(slot);
        if (slot % 3 != 0)
            keep(cache, slot, slot);
    }
    pml_cache_find(cache, NULL, cells, 10, parts);
    for (uint32_t slot = 0; slot < 10; slot++) {
        TEST_ASSERT_EQUAL(slot % 3 != 0, parts[slot] != NULL);
        TEST_ASSERT_TRUE(!parts[slot] || parts[slot]->count == slot + 1);
        pml_part_unref(parts[slot]);
    }
    const struct pml_cache_counts counts = pml_cache_count(cache);
    TEST_ASSERT_TRUE(counts.hits == 6 && counts.misses == 4);
    pml_cache_close(cache);
}

static void *use_often(void *context)
{
    struct pml_cache *cache = context;
    uint64_t state = (uint64_t)(uintptr_t)&state;
    for (size_t i = 0; i < rounds(20000); i++) {
        const uint32_t slot = (uint32_t)draw_below(&state, 40);
        if (!is_kept(cache, slot))
            keep(cache, slot, 200 + 20 * slot);
    }
    return NULL;
}

static void test_many_threads(void)
{
    struct pml_cache *cache = pml_cache_open(12000); /* room for about half */
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        TEST_ASSERT_EQUAL(0, pthread_create(&threads[i], NULL, use_often, cache));
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    const struct pml_cache_counts counts = pml_cache_count(cache);
    TEST_ASSERT_TRUE(counts.bytes <= counts.limit && counts.hits > 0 && counts.evictions > 0);
    TEST_ASSERT_EQUAL_UINT64(4 * rounds(20000), counts.hits + counts.misses);
    pml_cache_close(cache);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_part_is_a_slot_of_an_answer);
    RUN_TEST(test_those_used_last_stay);
    RUN_TEST(test_what_does_not_fit_is_not_kept);
    RUN_TEST(test_keys_differ_in_every_field);
    RUN_TEST(test_many_are_found_at_once);
    RUN_TEST(test_many_threads);
    return UNITY_END();
}
