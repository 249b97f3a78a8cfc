/* SPDX-License-Identifier: Apache-2.0
 * Memory that ends where the data ends. The file that includes this defines _DEFAULT_SOURCE, for MAP_ANONYMOUS. */
#ifndef TEST_FENCED_H
#define TEST_FENCED_H

#include "support/support.h"

#include <stdlib.h>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

/* Memory whose last byte is the last of a page, with nothing behind it where the system lets us say so. */
struct fenced {
    int8_t *end;
    void *memory;
    size_t size;
};

static inline struct fenced fenced(size_t size)
{
    struct fenced fence;
#if defined(__unix__) || defined(__APPLE__)
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page * page;
    fence.size = pages + page;
    fence.memory = mmap(NULL, fence.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TEST_ASSERT_TRUE(fence.memory != MAP_FAILED);
    fence.end = (int8_t *)fence.memory + pages;
    TEST_ASSERT_EQUAL(0, mprotect(fence.end, page, PROT_NONE));
#else
    fence.size = size;
    fence.memory = malloc(size);
    TEST_ASSERT_NOT_NULL(fence.memory);
    fence.end = (int8_t *)fence.memory + size;
#endif
    return fence;
}

static inline void take_down(struct fenced *fence)
{
#if defined(__unix__) || defined(__APPLE__)
    munmap(fence->memory, fence->size);
#else
    free(fence->memory);
#endif
}

#endif
