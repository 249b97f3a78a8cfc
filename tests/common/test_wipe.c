/* SPDX-License-Identifier: Apache-2.0
 * Features and labels may be a person's: nothing of them is left in memory that is given back. */
#define _POSIX_C_SOURCE 200809L
#include "server/server_support.h"

#if defined(__linux__)
enum { ROWS = 300, COLUMNS = 7, BLOCKS = 16 };

static struct {
    void *memory;
    size_t size;
} blocks[BLOCKS];
static size_t given_back, left;

/* The linker puts these before malloc and free (CMakeLists.txt). */
void *__real_malloc(size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void __wrap_free(void *memory);

/* Of interest are blocks that hold all values; headers and names are smaller. */
void *__wrap_malloc(size_t size)
{
    void *memory = __real_malloc(size);
    for (size_t i = 0; memory && size >= ROWS && size <= ROWS * COLUMNS * sizeof(float) && i < BLOCKS; i++) {
        if (!blocks[i].memory) {
            memset(memory, 0, size);
            blocks[i].memory = memory;
            blocks[i].size = size;
            break;
        }
    }
    return memory;
}

void __wrap_free(void *memory)
{
    for (size_t i = 0; memory && i < BLOCKS; i++) {
        if (blocks[i].memory != memory)
            continue;
        blocks[i].memory = NULL;
        given_back++;
        for (size_t j = 0; j < blocks[i].size; j++)
            left += ((const unsigned char *)memory)[j] != 0;
    }
    __real_free(memory);
}
#endif

void setUp(void)
{
    make_folder();
}

void tearDown(void)
{
    remove_folder();
}

static void test_nothing_is_left(void)
{
#if defined(__linux__)
    static float values[ROWS * COLUMNS];
    static int32_t numbers[ROWS];
    struct pml_features features;
    struct pml_labels labels;
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        values[i] = (float)i + 1.0f;
    for (size_t i = 0; i < ROWS; i++)
        numbers[i] = (int32_t)i + 1;
    TEST_ASSERT_EQUAL(PML_DONE, pml_labels_write(in_folder("labels"), numbers, ROWS, &said));
    for (int spoilt = 0; spoilt < 2; spoilt++) {
        values[ROWS * COLUMNS - 1] = spoilt ? NAN : 1.0f;
        TEST_ASSERT_EQUAL(PML_DONE, pml_features_write(in_folder("features"), values, ROWS, COLUMNS, &said));
        memset(blocks, 0, sizeof blocks);
        given_back = left = 0;
        TEST_ASSERT_EQUAL(spoilt ? PML_REFUSED : PML_DONE, pml_features_read(in_folder("features"), &features, &said));
        TEST_ASSERT_EQUAL(PML_DONE, pml_labels_read(in_folder("labels"), &labels, &said));
        pml_features_free(&features);
        pml_labels_free(&labels);
        TEST_ASSERT_TRUE(given_back >= 2);
        TEST_ASSERT_EQUAL_UINT64(0, left);
    }
#else
    TEST_IGNORE_MESSAGE("only on Linux");
#endif
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_nothing_is_left);
    return UNITY_END();
}
