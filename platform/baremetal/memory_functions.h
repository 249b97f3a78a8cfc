/* SPDX-License-Identifier: Apache-2.0
 * As in <string.h>, which a freestanding compiler does not bring. */
#ifndef MEMORY_FUNCTIONS_H
#define MEMORY_FUNCTIONS_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *left, const void *right, size_t size);

#endif
