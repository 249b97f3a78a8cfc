/* SPDX-License-Identifier: Apache-2.0
 * The four functions that a freestanding compiler may call, for firmware without a C library. Compile with
 * -fno-tree-loop-distribute-patterns, or the compiler makes each of them call itself. */
#include "memory_functions.h"

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    unsigned char *out = to;
    const unsigned char *in = from;
    while (size--)
        *out++ = *in++;
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    unsigned char *out = to;
    const unsigned char *in = from;
    if (out > in)
        while (size--)
            out[size] = in[size];
    else
        while (size--)
            *out++ = *in++;
    return to;
}

void *memset(void *to, int value, size_t size)
{
    unsigned char *out = to;
    while (size--)
        *out++ = (unsigned char)value;
    return to;
}

int memcmp(const void *left, const void *right, size_t size)
{
    const unsigned char *a = left, *b = right;
    for (; size--; a++, b++)
        if (*a != *b)
            return *a < *b ? -1 : 1;
    return 0;
}
