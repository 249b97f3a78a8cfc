/* SPDX-License-Identifier: Apache-2.0
 * Places of a slot (SPEC 8.2): their bytes, what is refused, the nearest of them, and the pages of their candidates. */
#include "common/digest.h"
#include "privacy/draws.h"
#include "server/gallery/places.h"
#include "support/support.h"

#include <math.h>
#include <stdlib.h>

enum { HEAD = 32, K = 3 };

void setUp(void)
{
}

void tearDown(void)
{
}

static uint64_t state = 4;

/* Items 10, 13, 16, …; a few coordinates, so that there are ties; pages by the rule. */
static struct pml_places make_places(uint32_t count)
{
    struct pml_places places = {.slot = 5, .dimensions = K, .iterations = 2, .count = count, .page_count = count};
    uint32_t pages = 0;
    size_t items = 0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_places_allocate(&places));
    for (uint32_t i = 0; i < count; i++, items++) {
        places.items[i] = 10 + 3 * (uint64_t)i;
        places.payloads[i] = (uint16_t)(i * 77);
        for (size_t j = 0; j < K; j++)
            places.values[i * K + j] = (float)draw_between(&state, -9, 9) / 4;
        if (!pml_page_begins(places.items[i], items))
            continue;
        places.pages[pages].first = places.items[i];
        places.pages[pages].name.bytes[0] = (uint8_t)(1 + pages);
        pages++;
        items = 0;
    }
    places.page_count = pages;
    return places;
}

static struct pml_bytes write_places(uint32_t count)
{
    struct pml_places places = make_places(count);
    struct pml_bytes bytes = {0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_places_write(&places, &bytes));
    pml_places_free(&places);
    return bytes;
}

static void test_what_is_written_is_read(void)
{
    const uint32_t counts[] = {0, 1, 63, 64, 500};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct pml_places places = make_places(counts[i]), read;
        struct pml_bytes bytes = {0};
        TEST_ASSERT_EQUAL(PML_DONE, pml_places_write(&places, &bytes));
        TEST_ASSERT_EQUAL_UINT64(HEAD + counts[i] * (8 + 4 * K + 2) + places.page_count * 40, bytes.size);
        TEST_ASSERT_EQUAL(PML_DONE, pml_places_read(bytes.bytes, bytes.size, &read, NULL));
        TEST_ASSERT_EQUAL(5, read.slot);
        TEST_ASSERT_EQUAL(K, read.dimensions);
        TEST_ASSERT_EQUAL(2, read.iterations);
        TEST_ASSERT_EQUAL(counts[i], read.count);
        TEST_ASSERT_EQUAL(places.page_count, read.page_count);
        TEST_ASSERT_EQUAL(counts[i] >= 64, read.tree != NULL);
        TEST_ASSERT_EQUAL_MEMORY(places.items, read.items, counts[i] * sizeof *read.items + 1);
        TEST_ASSERT_EQUAL_MEMORY(places.values, read.values, counts[i] * K * sizeof *read.values + 1);
        TEST_ASSERT_EQUAL_MEMORY(places.payloads, read.payloads, counts[i] * sizeof *read.payloads + 1);
        TEST_ASSERT_EQUAL_MEMORY(places.pages, read.pages, places.page_count * sizeof *read.pages + 1);
        pml_places_free(&places);
        pml_places_free(&read);
        pml_bytes_free(&bytes);
    }
}

static void assert_damaged(const struct pml_bytes *bytes, size_t size)
{
    struct pml_places places;
    TEST_ASSERT_EQUAL(PML_DAMAGED, pml_places_read(bytes->bytes, size, &places, NULL));
    pml_places_free(&places);
}

static void assert_damaged_at(const struct pml_bytes *bytes, size_t at, uint8_t value)
{
    const uint8_t was = bytes->bytes[at];
    bytes->bytes[at] = value;
    assert_damaged(bytes, bytes->size);
    bytes->bytes[at] = was;
}

static void test_what_is_not_sound_is_refused(void)
{
    struct pml_bytes bytes = write_places(80);
    const size_t items = HEAD, values = items + 80 * 8, pages = values + 80 * (4 * K + 2);
    for (size_t size = 0; size < bytes.size; size++)
        assert_damaged(&bytes, size);
    assert_damaged_at(&bytes, 0, 'Q');
    assert_damaged_at(&bytes, 11, 1);         /* slot */
    assert_damaged_at(&bytes, 12, 0);         /* k */
    assert_damaged_at(&bytes, 13, 255);       /* k */
    assert_damaged_at(&bytes, 16, 65);        /* T */
    assert_damaged_at(&bytes, 20, 79);        /* n */
    assert_damaged_at(&bytes, 24, 0);         /* p */
    assert_damaged_at(&bytes, 28, 1);         /* not 0 */
    assert_damaged_at(&bytes, items + 8, 10); /* the second item is the first */
    bytes.bytes[values + 2] |= 0x80;
    assert_damaged_at(&bytes, values + 3, 0x7f); /* infinite, or no number */
    assert_damaged_at(&bytes, pages, 9);         /* the first page begins before the first item */
    memcpy(bytes.bytes + pages + 40, bytes.bytes + pages, 8);
    assert_damaged(&bytes, bytes.size); /* two pages begin at the same item */
    pml_bytes_free(&bytes);
}

static void test_other_versions_are_named(void)
{
    struct pml_bytes bytes = write_places(80);
    bytes.bytes[4] = 9;
    for (size_t size = 0; size <= bytes.size; size++) {
        struct pml_message message = {""};
        struct pml_places places;
        TEST_ASSERT_EQUAL(size < 8 ? PML_DAMAGED : PML_OTHER_VERSION,
                          pml_places_read(bytes.bytes, size, &places, &message));
        TEST_ASSERT_EQUAL(size < 8, strstr(message.text, "version 9") == NULL);
        pml_places_free(&places);
    }
    pml_bytes_free(&bytes);
}

static double distance(const struct pml_places *places, size_t row, const double *place)
{
    double sum = 0.0;
    for (size_t j = 0; j < K; j++)
        sum += pow((double)places->values[row * K + j] - place[j], 2);
    return sum;
}

/* Whatever the way: no item that is left out is nearer than one that is there, and ties go to smaller items. */
static void assert_nearest(const struct pml_places *places, const double *place, size_t wanted)
{
    struct pml_near *near;
    size_t count, nearer = 0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_places_nearest(places, place, wanted, &near, &count));
    TEST_ASSERT_EQUAL_UINT64(wanted < places->count ? wanted : places->count, count);
    for (size_t i = 1; i < count; i++)
        TEST_ASSERT_TRUE(pml_near_order(&near[i - 1], &near[i]) < 0);
    for (size_t row = 0; row < places->count && count > 0; row++) {
        const struct pml_near own = {distance(places, row, place), places->items[row], 0};
        nearer += pml_near_order(&own, &near[count - 1]) <= 0;
    }
    TEST_ASSERT_EQUAL_UINT64(count, nearer);
    free(near);
}

static void test_the_nearest_are_found(void)
{
    const uint32_t counts[] = {0, 1, 63, 64, 500, 3000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct pml_bytes bytes = write_places(counts[i]);
        struct pml_places places;
        TEST_ASSERT_EQUAL(PML_DONE, pml_places_read(bytes.bytes, bytes.size, &places, NULL));
        for (int asked = 0; asked < 20; asked++) {
            const double place[K] = {(double)draw_between(&state, -9, 9) / 4, (double)draw_between(&state, -9, 9) / 4,
                                     0.3};
            assert_nearest(&places, place, 1);
            assert_nearest(&places, place, 32);
            assert_nearest(&places, place, 1024);
            assert_nearest(&places, place, 1025);
        }
        pml_places_free(&places);
        pml_bytes_free(&bytes);
    }
}

static void test_every_item_is_in_the_page_that_begins_at_it_or_before(void)
{
    struct pml_places places = make_places(2000);
    size_t page = 0, items = 0;
    TEST_ASSERT_TRUE(places.page_count > 2000 / 20 && places.page_count < 2000 / 10);
    for (size_t row = 0; row < places.count; row++) {
        if (page + 1 < places.page_count && places.pages[page + 1].first == places.items[row]) {
            page++;
            items = 0;
        }
        TEST_ASSERT_EQUAL_PTR(&places.pages[page], pml_places_page(&places, places.items[row]));
        TEST_ASSERT_TRUE(++items <= 64);
    }
    TEST_ASSERT_EQUAL_UINT64(places.page_count - 1, page);
    pml_places_free(&places);
}

static void test_pages_begin_where_the_specification_says(void)
{
    for (uint64_t item = 0; item < 1000; item++) {
        const bool drawn = pml_digest_number(0, item) % 16 == 0;
        TEST_ASSERT_TRUE(pml_page_begins(item, 0));
        TEST_ASSERT_EQUAL(drawn, pml_page_begins(item, 1));
        TEST_ASSERT_EQUAL(drawn, pml_page_begins(item, 63));
        TEST_ASSERT_TRUE(pml_page_begins(item, 64));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_what_is_written_is_read);
    RUN_TEST(test_what_is_not_sound_is_refused);
    RUN_TEST(test_other_versions_are_named);
    RUN_TEST(test_the_nearest_are_found);
    RUN_TEST(test_every_item_is_in_the_page_that_begins_at_it_or_before);
    RUN_TEST(test_pages_begin_where_the_specification_says);
    return UNITY_END();
}
