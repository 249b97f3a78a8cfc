/* SPDX-License-Identifier: Apache-2.0
 * A libc.so as Android's is called, over the C library of this machine: with it a desktop's Java loads the very
 * libprivatemail.so (x86_64) that goes into an AAR. Android's version of a name forwards to this machine's. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* One @: a version for those who ask for it. With two, our own calls would end here, too. */
#define AS_ANDROID(name) __asm__(".symver bridge_" #name ", " #name "@LIBC")

#define FORWARD(type, name, parameters, arguments)                                                                     \
    AS_ANDROID(name);                                                                                                  \
    type bridge_##name parameters;                                                                                     \
    type bridge_##name parameters                                                                                      \
    {                                                                                                                  \
        return name arguments;                                                                                         \
    }

FORWARD(int, close, (int file), (file))
FORWARD(int, flock, (int file, int operation), (file, operation))
FORWARD(int, fsync, (int file), (file))
FORWARD(int, memcmp, (const void *a, const void *b, size_t size), (a, b, size))
FORWARD(void *, memcpy, (void *to, const void *from, size_t size), (to, from, size))
FORWARD(void *, memmove, (void *to, const void *from, size_t size), (to, from, size))
FORWARD(void *, memset, (void *to, int value, size_t size), (to, value, size))
FORWARD(ssize_t, read, (int file, void *out, size_t size), (file, out, size))
FORWARD(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
FORWARD(size_t, strlen, (const char *text), (text))
FORWARD(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags))
FORWARD(ssize_t, write, (int file, const void *bytes, size_t size), (file, bytes, size))
/* A third or fourth argument that is not there is passed on and not read. */
FORWARD(int, open, (const char *path, int flags, unsigned mode), (path, flags, mode))
FORWARD(int, openat, (int folder, const char *path, int flags, unsigned mode), (folder, path, flags, mode))
FORWARD(long, syscall, (long number, long a, long b, long c), (number, a, b, c))

AS_ANDROID(__errno);
int *bridge___errno(void);
int *bridge___errno(void)
{
    return &errno;
}
