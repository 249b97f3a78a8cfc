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

/* A part that tells its number, and so many bytes in all. */
static struct pml_part *make_part(uint32_t number, size_t size)
{
    uint8_t bytes[5000];
    TEST_ASSERT_TRUE(size >= sizeof number && size <= sizeof bytes);
    memset(bytes, (int)number, size);
    memcpy(bytes, &number, sizeof number);
    struct pml_part *part = pml_part_copy(bytes, size);
    TEST_ASSERT_NOT_NULL(part);
    return part;
}

static uint32_t number_of(const struct pml_part *part)
{
    uint32_t number;
    memcpy(&number, part->bytes, sizeof number);
    return number;
}

static struct pml_name name_of(uint32_t number)
{
    return pml_name_of(&number, sizeof number);
}

static struct pml_part *find(struct pml_cache *cache, const struct pml_name *name)
{
    struct pml_part *part;
    pml_cache_find(cache, name, 1, &part);
    return part;
}

static void keep(struct pml_cache *cache, uint32_t number, size_t size)
{
    struct pml_part *part = make_part(number, size);
    const struct pml_name name = name_of(number);
    pml_cache_keep(cache, &name, part);
    pml_part_unref(part);
}

/* Whether it is there, and then that it is right. */
static bool is_kept(struct pml_cache *cache, uint32_t number)
{
    const struct pml_name name = name_of(number);
    struct pml_part *part = find(cache, &name);
    if (!part)
        return false;
    TEST_ASSERT_EQUAL_UINT32(number, number_of(part));
    TEST_ASSERT_EQUAL_UINT8(number, part->bytes[part->size - 1]);
    pml_part_unref(part);
    return true;
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
    keep(cache, 1, 2000); /* a second one of the same name is not taken */
    const struct pml_name name = name_of(1);
    struct pml_part *part = find(cache, &name);
    TEST_ASSERT_EQUAL_UINT64(1000, part->size);
    pml_cache_close(cache);
    TEST_ASSERT_EQUAL_UINT64(1000, part->size); /* who holds it may go on */
    TEST_ASSERT_EQUAL_UINT32(1, number_of(part));
    pml_part_unref(part);
    pml_cache_close(NULL);
}

static void test_names_differ_in_every_byte(void)
{
    struct pml_cache *cache = pml_cache_open(1 << 20);
    for (uint32_t i = 0; i < PML_NAME_SIZE; i++) {
        struct pml_name name = {{0}};
        name.bytes[i] = 1;
        TEST_ASSERT_NULL(find(cache, &name));
        struct pml_part *part = make_part(i, 4);
        pml_cache_keep(cache, &name, part);
        pml_part_unref(part);
    }
    for (uint32_t i = 0; i < PML_NAME_SIZE; i++) {
        struct pml_name name = {{0}};
        name.bytes[i] = 1;
        struct pml_part *part = find(cache, &name);
        TEST_ASSERT_EQUAL_UINT32(i, number_of(part));
        pml_part_unref(part);
    }
    pml_cache_close(cache);
}

/* All parts of an answer are asked for at once: those that are kept come, in their places. */
static void test_many_are_found_at_once(void)
{
    struct pml_cache *cache = pml_cache_open(1 << 20);
    struct pml_name names[10];
    struct pml_part *parts[10];
    for (uint32_t slot = 0; slot < 10; slot++) {
        names[slot] = name_of(slot);
        if (slot % 3 != 0)
            keep(cache, slot, 4 + slot);
    }
    pml_cache_find(cache, names, 10, parts);
    for (uint32_t slot = 0; slot < 10; slot++) {
        TEST_ASSERT_EQUAL(slot % 3 != 0, parts[slot] != NULL);
        TEST_ASSERT_TRUE(!parts[slot] || number_of(parts[slot]) == slot);
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
    RUN_TEST(test_those_used_last_stay);
    RUN_TEST(test_what_does_not_fit_is_not_kept);
    RUN_TEST(test_names_differ_in_every_byte);
    RUN_TEST(test_many_are_found_at_once);
    RUN_TEST(test_many_threads);
    return UNITY_END();
}
