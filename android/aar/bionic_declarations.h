/* SPDX-License-Identifier: Apache-2.0
 *
 * The declarations of Android's libc that PrivateMail compiles against when there is no NDK: names, types and numbers
 * of its stable ABI, nothing more than is used. scripts/build-aar.sh gives this file the names of the headers below;
 * what is declared here is listed in libc.symbols, too.
 */
#ifndef BIONIC_DECLARATIONS_H
#define BIONIC_DECLARATIONS_H

#include <stddef.h>

#if !defined(__ANDROID__)
#error "These are the numbers of Android"
#endif

#if defined(__LP64__)
typedef long ssize_t;
#else
typedef int ssize_t;
#endif

/* ---- errno.h ---- */

int *__errno(void);
#define errno (*__errno())
#define ENOENT 2
#define EINTR 4
#define EIO 5
#define EACCES 13
#define EISDIR 21
#define EINVAL 22
#define EFBIG 27
#define ENOSPC 28
#define EROFS 30
#define ENAMETOOLONG 36
#define ENOSYS 38
#define ELOOP 40
#define ESTALE 116
#define EDQUOT 122

/* ---- fcntl.h ---- */

int open(const char *path, int flags, ...);
int openat(int folder, const char *path, int flags, ...);
#define O_RDONLY 0
#define O_WRONLY 01
#define O_RDWR 02
#define O_CREAT 0100
#define O_TRUNC 01000
#define O_CLOEXEC 02000000
#if defined(__arm__) || defined(__aarch64__)
#define O_NOFOLLOW 0100000
#else
#define O_NOFOLLOW 0400000
#endif

/* ---- stdio.h ---- */

int renameat(int from_folder, const char *from, int to_folder, const char *to);

/* ---- string.h ---- */

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);

/* ---- sys/auxv.h ---- */

unsigned long getauxval(unsigned long type);
#define AT_HWCAP 16

/* ---- sys/file.h ---- */

int flock(int file, int operation);
#define LOCK_EX 2

/* ---- sys/syscall.h ---- */

#if defined(__aarch64__)
#define SYS_getrandom 278
#elif defined(__arm__)
#define SYS_getrandom 384
#elif defined(__x86_64__)
#define SYS_getrandom 318
#elif defined(__i386__)
#define SYS_getrandom 355
#else
#error "Android's number of getrandom is not known for this CPU"
#endif

/* ---- unistd.h ---- */

long syscall(long number, ...);
ssize_t read(int file, void *out, size_t size);
ssize_t write(int file, const void *bytes, size_t size);
int fsync(int file);
int close(int file);
int unlinkat(int folder, const char *path, int flags);

#endif
