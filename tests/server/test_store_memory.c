/* SPDX-License-Identifier: Apache-2.0
 * A store in memory answers what every store must. */
#define _XOPEN_SOURCE 700
#include "server/store/store_memory.h"
#include "store_support.h"

static struct pml_store *store;

void setUp(void)
{
    struct pml_store_writer *writer;
    memset(&said, 0, sizeof said);
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_store_memory_make(&store, &writer, &gallery_info, &said), said.text);
    add_items(writer, 0, GALLERY / 2);
    TEST_ASSERT_EQUAL(0, pml_store_checkpoint(writer, &said));
    add_items(writer, GALLERY / 2, GALLERY);
    struct drawn drawn;
    draw_item(3, &drawn);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_add(writer, &drawn.item, &said));
    assert_said("more than 1500 items");
    finish_store(writer);
}

void tearDown(void)
{
    pml_store_close(store);
}

static void test_cells(void)
{
    for (uint32_t slot = 0; slot <= SLOTS; slot++) {
        for (uint32_t cell = 0; cell <= CELLS_A_SLOT; cell++) {
            struct pml_fragment expected = expected_cell(slot, cell), found = {0};
            uint64_t size;
            TEST_ASSERT_EQUAL(0, read_cell(store, slot, cell, &found));
            TEST_ASSERT_TRUE(same_fragment(&expected, &found));
            TEST_ASSERT_EQUAL(0, pml_store_cell_size(store, (struct pml_cell){slot, cell}, &size));
            TEST_ASSERT_EQUAL_UINT64(expected.count, size);
            pml_bytes_free(&expected.bytes);
            pml_bytes_free(&found.bytes);
        }
    }
}

static void test_sizes_are_those_of_the_candidates(void)
{
    assert_sizes(store);
}

static void test_items_are_all_of_them(void)
{
    assert_items(store);
}

static void test_nearest(void)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const double place[3] = {(double)slot - 2.0, 0.25, -1.0};
        struct pml_fragment expected = expected_nearest(slot, place, 40), found = {0};
        TEST_ASSERT_EQUAL(0, read_nearest(store, slot, place, 40, &found));
        TEST_ASSERT_TRUE(expected.count == 40 && same_fragment(&expected, &found));
        pml_bytes_free(&expected.bytes);
        pml_bytes_free(&found.bytes);
    }
}

static void test_description(void)
{
    TEST_ASSERT_EQUAL(0, pml_store_ping(store));
    TEST_ASSERT_EQUAL(0, memcmp(pml_store_describe(store)->pack, gallery_info.pack, PML_ID_SIZE));
    TEST_ASSERT_EQUAL_UINT64(GALLERY, pml_store_describe(store)->items);
    TEST_ASSERT_EQUAL(PML_LISTS_OWN, pml_store_cell_lists(pml_store_describe(store)));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_cells);
    RUN_TEST(test_sizes_are_those_of_the_candidates);
    RUN_TEST(test_items_are_all_of_them);
    RUN_TEST(test_nearest);
    RUN_TEST(test_description);
    return UNITY_END();
}
