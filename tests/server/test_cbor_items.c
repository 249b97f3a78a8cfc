/* SPDX-License-Identifier: Apache-2.0
 * Items of CBOR: the examples of RFC 8949, and bytes that are no items, or not the shortest. */
#include "server/gallery/cbor_items.h"
#include "support/support.h"

#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* RFC 8949, appendix A, and both sides of every length of a head. */
static const struct {
    uint64_t value;
    size_t size;
    uint8_t head[PML_CBOR_HEAD_MAX];
} numbers[] = {
    {0, 1, {0x00}},
    {1, 1, {0x01}},
    {23, 1, {0x17}},
    {24, 2, {0x18, 0x18}},
    {100, 2, {0x18, 0x64}},
    {255, 2, {0x18, 0xff}},
    {256, 3, {0x19, 0x01, 0x00}},
    {1000, 3, {0x19, 0x03, 0xe8}},
    {65535, 3, {0x19, 0xff, 0xff}},
    {65536, 5, {0x1a, 0x00, 0x01, 0x00, 0x00}},
    {1000000, 5, {0x1a, 0x00, 0x0f, 0x42, 0x40}},
    {4294967295, 5, {0x1a, 0xff, 0xff, 0xff, 0xff}},
    {4294967296, 9, {0x1b, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00}},
    {1000000000000, 9, {0x1b, 0x00, 0x00, 0x00, 0xe8, 0xd4, 0xa5, 0x10, 0x00}},
    {UINT64_MAX, 9, {0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void test_numbers_are_written_as_in_the_standard(void)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        uint8_t room[PML_CBOR_HEAD_MAX];
        struct pml_bytes bytes = {.bytes = room};
        pml_cbor_put_uint(&bytes, numbers[i].value);
        TEST_ASSERT_EQUAL_UINT64(numbers[i].size, bytes.size);
        TEST_ASSERT_EQUAL_UINT64(numbers[i].size, pml_cbor_head_size(numbers[i].value));
        TEST_ASSERT_EQUAL_HEX8_ARRAY(numbers[i].head, room, numbers[i].size);
    }
}

static void test_heads_of_all_kinds_are_read(void)
{
    static const struct {
        uint8_t major;
        enum pml_cbor_kind kind;
    } majors[] = {{0x00, PML_CBOR_UINT}, {0x20, PML_CBOR_NEGATIVE}, {0x80, PML_CBOR_ARRAY}};
    for (size_t i = 0; i < NUMBERS; i++)
        for (size_t j = 0; j < sizeof majors / sizeof *majors; j++) {
            uint8_t bytes[PML_CBOR_HEAD_MAX];
            struct pml_cbor_item item;
            size_t offset = 0;
            memcpy(bytes, numbers[i].head, sizeof bytes);
            bytes[0] |= majors[j].major;
            TEST_ASSERT_TRUE(pml_cbor_next(bytes, numbers[i].size, &offset, &item));
            TEST_ASSERT_EQUAL(majors[j].kind, item.kind);
            TEST_ASSERT_EQUAL_UINT64(numbers[i].value, item.value);
            TEST_ASSERT_EQUAL_UINT64(numbers[i].size, offset);
            /* and not when the last byte is missing */
            offset = 0;
            TEST_ASSERT_FALSE(pml_cbor_next(bytes, numbers[i].size - 1, &offset, &item));
            TEST_ASSERT_EQUAL_UINT64(0, offset);
        }
}

static void test_labels_and_strings_come_back(void)
{
    static const int32_t labels[] = {0, 23, 24, INT32_MAX, -1, -24, -25, INT32_MIN};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        uint8_t room[64];
        struct pml_bytes bytes = {.bytes = room};
        struct pml_cbor_item item;
        size_t offset = 0;
        pml_cbor_put_label(&bytes, labels[i]);
        pml_cbor_put_string(&bytes, "four", 4);
        pml_cbor_put_string(&bytes, NULL, 0);
        TEST_ASSERT_TRUE(pml_cbor_next(room, bytes.size, &offset, &item));
        TEST_ASSERT_EQUAL(labels[i] < 0 ? PML_CBOR_NEGATIVE : PML_CBOR_UINT, item.kind);
        TEST_ASSERT_EQUAL_INT64(labels[i], labels[i] < 0 ? -1 - (int64_t)item.value : (int64_t)item.value);
        TEST_ASSERT_TRUE(pml_cbor_next(room, bytes.size, &offset, &item));
        TEST_ASSERT_EQUAL(PML_CBOR_BYTES, item.kind);
        TEST_ASSERT_EQUAL_UINT64(4, item.value);
        TEST_ASSERT_EQUAL_MEMORY("four", item.string, 4);
        TEST_ASSERT_TRUE(pml_cbor_next(room, bytes.size, &offset, &item));
        TEST_ASSERT_EQUAL_UINT64(0, item.value);
        TEST_ASSERT_EQUAL_UINT64(bytes.size, offset);
        TEST_ASSERT_FALSE(pml_cbor_next(room, bytes.size, &offset, &item));
    }
}

static void test_what_is_no_item_is_refused(void)
{
    static const struct {
        size_t size;
        uint8_t bytes[10];
    } bad[] = {
        {2, {0x18, 0x17}},                                                  /* 23 in two bytes */
        {3, {0x19, 0x00, 0xff}},                                            /* 255 in three */
        {5, {0x1a, 0x00, 0x00, 0xff, 0xff}},                                /* 65535 in five */
        {9, {0x1b, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff}},        /* 2^32 − 1 in nine */
        {2, {0x1c, 0x00}},                                                  /* reserved */
        {1, {0x5f}},                                                        /* without a length */
        {1, {0x9f}},                                                        /* */
        {2, {0x61, 0x61}},                                                  /* text */
        {2, {0xa1, 0x00}},                                                  /* map */
        {2, {0xc0, 0x00}},                                                  /* tag */
        {1, {0xf6}},                                                        /* null */
        {3, {0x43, 0x01, 0x02}},                                            /* a string that is cut short */
        {10, {0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00}}, /* longer than memory */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        /* in a block of its own size, so that a sanitiser sees what is read behind it */
        uint8_t *bytes = malloc(bad[i].size);
        struct pml_cbor_item item;
        size_t offset = 0;
        TEST_ASSERT_NOT_NULL(bytes);
        memcpy(bytes, bad[i].bytes, bad[i].size);
        TEST_ASSERT_FALSE(pml_cbor_next(bytes, bad[i].size, &offset, &item));
        TEST_ASSERT_EQUAL_UINT64(0, offset);
        TEST_ASSERT_EQUAL(PML_CBOR_OTHER, item.kind);
        free(bytes);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_numbers_are_written_as_in_the_standard);
    RUN_TEST(test_heads_of_all_kinds_are_read);
    RUN_TEST(test_labels_and_strings_come_back);
    RUN_TEST(test_what_is_no_item_is_refused);
    return UNITY_END();
}
