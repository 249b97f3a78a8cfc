/* SPDX-License-Identifier: Apache-2.0
 * Entropy from the operating system. In: a buffer. Out: random bytes in all of it. Fails rather than guess. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "privatemail_platform.h"

#if defined(_WIN32)

/* bcrypt.h uses the types of windows.h and does not include it. */
#include <windows.h>

#include <bcrypt.h>
#include <limits.h>

int pml_platform_entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    if (size > ULONG_MAX)
        return -1;
    return BCryptGenRandom(NULL, out, (ULONG)size, BCRYPT_USE_SYSTEM_PREFERRED_RNG) >= 0 ? 0 : -1;
}

#elif defined(__APPLE__)

#include <stdlib.h>

int pml_platform_entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    arc4random_buf(out, size);
    return 0;
}

#elif defined(__linux__)

/* The system call itself: Android's libc has getrandom() only from API 28, the kernel has it since 3.17. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* For older kernels, which some phones of API 24 have. Unlike getrandom it does not wait for the first seed, but a
 * system has that long before it starts an app. */
static int read_device(uint8_t *out, size_t size)
{
    size_t got = 0;
    int device;
    do
        device = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    while (device < 0 && errno == EINTR);
    if (device < 0)
        return -1;
    while (got < size) {
        ssize_t count = read(device, out + got, size - got);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        got += (size_t)count;
    }
    close(device);
    return got == size ? 0 : -1;
}

int pml_platform_entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    size_t got = 0;
    while (got < size) {
        long count = syscall(SYS_getrandom, out + got, size - got, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == ENOSYS)
            return read_device(out + got, size - got);
        if (count <= 0)
            return -1;
        got += (size_t)count;
    }
    return 0;
}

#else
#error "PrivateMail knows no entropy source here: leave platform/entropy.c out and write the callback yourself"
#endif
