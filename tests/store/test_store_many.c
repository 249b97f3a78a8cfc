/* SPDX-License-Identifier: Apache-2.0
 * Stores of every kind with many blobs, and with large ones. */
#define _XOPEN_SOURCE 700
#include "store_support.h"

void setUp(void)
{
    make_stores();
}

void tearDown(void)
{
    remove_stores();
}

static pml_outcome count_name(void *context, const struct pml_name *name)
{
    (void)name;
    ++*(size_t *)context;
    return PML_DONE;
}

static size_t count_names(struct pml_store *store, enum pml_shelf shelf)
{
    size_t count = 0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_names(store, shelf, count_name, &count));
    return count;
}

static void test_ten_thousand_blobs(void)
{
    enum { MANY = 10000 };
    static struct pml_name names[MANY];
    struct taken taken;
    struct pml_store *writer = open_writer("a");
    for (size_t i = 0; i < MANY; i++)
        names[i] = put_blob(writer, PML_PARTS, i, 20 + i % 300);
    put_blob(writer, PML_PRIVATE, 1, 10);
    TEST_ASSERT_EQUAL_UINT64(MANY, count_names(writer, PML_PARTS));
    TEST_ASSERT_EQUAL_UINT64(1, count_names(writer, PML_PRIVATE));
    switch_to(writer, &(struct pml_pointer){.version = names[0]});
    struct pml_store *reader = open_reader("a");
    TEST_ASSERT_EQUAL(PML_DONE, get_names(reader, PML_PARTS, names, MANY, &taken));
    TEST_ASSERT_EQUAL_UINT64(MANY, taken.count);
    free(taken.copy);
    /* what is not there is passed over */
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_remove(writer, PML_PARTS, names, MANY / 2, &said));
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_remove(writer, PML_PARTS, names, MANY / 2 + 1, &said));
    TEST_ASSERT_EQUAL_UINT64(MANY / 2 - 1, count_names(writer, PML_PARTS));
    TEST_ASSERT_EQUAL(PML_ABSENT, get_blob(reader, PML_PARTS, &names[17]));
    TEST_ASSERT_EQUAL(PML_DONE, get_blob(reader, PML_PARTS, &names[MANY - 1]));
    put_blob(writer, PML_PARTS, 17, 20 + 17);
    TEST_ASSERT_EQUAL(PML_DONE, get_blob(writer, PML_PARTS, &names[17]));
    close_store(reader);
    close_store(writer);
}

static void test_large_blobs(void)
{
    enum { LARGE = 50 << 20 };
    struct pml_name names[3];
    struct taken taken;
    struct pml_store *writer = open_writer("a");
    for (size_t i = 0; i < 3; i++)
        names[i] = put_blob(writer, i == 2 ? PML_PRIVATE : PML_PARTS, i, LARGE + i);
    switch_to(writer, &(struct pml_pointer){.version = names[0], .record = names[2]});
    close_store(writer);
    struct pml_store *reader = open_reader("a");
    TEST_ASSERT_EQUAL(PML_DONE, get_names(reader, PML_PARTS, names, 2, &taken));
    TEST_ASSERT_EQUAL_UINT64(2 * LARGE + 1, taken.bytes);
    free(taken.copy);
    TEST_ASSERT_EQUAL(PML_DONE, get_blob(reader, PML_PRIVATE, &names[2]));
    close_store(reader);
    struct pml_name name;
    if (kind != MEMORY)
        return;
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_put(memory_store, PML_PARTS, "", PML_BLOB_MAX + 1, &name, &said));
    assert_said("too large");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_KINDS(test_ten_thousand_blobs, MEMORY);
    RUN_KINDS(test_large_blobs, MEMORY);
    return UNITY_END();
}
