/* SPDX-License-Identifier: Apache-2.0
 * There is no C library here: memory.c has these four. scripts/build-wasm.sh gives this to BearSSL as its <string.h>. */
#ifndef PML_WASM_MEMORY_H
#define PML_WASM_MEMORY_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);

#endif
