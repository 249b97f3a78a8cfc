/* SPDX-License-Identifier: Apache-2.0
 * What a test program needs when it runs without any libc, so that one source runs on all of Android's CPUs: Linux'
 * system calls, text, memory. */
#ifndef BARE_SYSTEM_H
#define BARE_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/* The test. `argument`: the program's first, or NULL. Answers the exit code. */
int bare_main(const char *argument);

/* Negative: an error number. */
long bare_call(long number, long a, long b, long c, long d, long e, long f);
long bare_open(const char *path);
long bare_map(void *address, size_t size, int protection, int flags, long file, size_t offset);
long bare_protect(void *address, size_t size, int protection);

enum { BARE_READ = 1, BARE_WRITE = 2, BARE_EXECUTE = 4 };
enum { BARE_PRIVATE = 2, BARE_FIXED = 16, BARE_ANONYMOUS = 32 };

void bare_print(const char *text);
void bare_print_number(size_t number);
int bare_equal(const char *a, const char *b);

/* What libprivatemail.so takes from libc, under libc's names. */
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);
unsigned long getauxval(unsigned long type);
long syscall(long number, ...);
int open(const char *path, int flags, ...); /* makes no files */
long read(int file, void *out, size_t size);
int close(int file);
int *__errno(void);

#endif
