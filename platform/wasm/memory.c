/* SPDX-License-Identifier: Apache-2.0
 * The functions that the core takes from outside. With -mbulk-memory, three of the four are one instruction. */
#include "memory.h"

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    return __builtin_memcpy(to, from, size);
}

void *memmove(void *to, const void *from, size_t size)
{
    return __builtin_memmove(to, from, size);
}

void *memset(void *to, int value, size_t size)
{
    return __builtin_memset(to, value, size);
}

int memcmp(const void *a, const void *b, size_t size)
{
    const unsigned char *left = a, *right = b;
    for (size_t i = 0; i < size; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}
