/* SPDX-License-Identifier: Apache-2.0
 * The system's entropy on Linux when the system refuses, interrupts or is old. The file under test is compiled here,
 * over system calls that the tests script; the library's own is not linked then. */
#if defined(__linux__)
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#include "support.h"

#if defined(__linux__)

enum { SIZE = 32, PIECE = 5, BROKEN = EIO };

static struct {
    size_t getrandom_bytes; /* it gives so many, then fails with getrandom_error */
    int getrandom_error;
    bool no_device;      /* /dev/urandom is missing */
    size_t device_bytes; /* it gives so many, then fails with device_error, or ends when that is 0 */
    int device_error;
    unsigned interruptions; /* of each call, before it works */
    unsigned getrandoms, opens, reads, closes;
    uint8_t given;
} kernel;

static int fail(int error)
{
    errno = error;
    return -1;
}

/* Bytes 1, 2, 3, …, so that the tests see which were written and in which order. */
static ssize_t give(uint8_t *out, size_t size, size_t *left)
{
    size_t count = size < PIECE ? size : PIECE;
    count = count < *left ? count : *left;
    *left -= count;
    for (size_t i = 0; i < count; i++)
        out[i] = ++kernel.given;
    return (ssize_t)count;
}

static long scripted_syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    uint8_t *out = va_arg(list, uint8_t *);
    size_t size = va_arg(list, size_t);
    va_end(list);
    TEST_ASSERT_EQUAL(SYS_getrandom, number);
    if (kernel.getrandoms++ < kernel.interruptions)
        return fail(EINTR);
    ssize_t count = give(out, size, &kernel.getrandom_bytes);
    return count > 0 ? count : fail(kernel.getrandom_error);
}

static int scripted_open(const char *path, int flags)
{
    TEST_ASSERT_EQUAL_STRING("/dev/urandom", path);
    TEST_ASSERT_EQUAL_HEX(O_RDONLY | O_CLOEXEC, flags);
    if (kernel.opens++ < kernel.interruptions)
        return fail(EINTR);
    return kernel.no_device ? fail(ENOENT) : 77;
}

static ssize_t scripted_read(int file, void *out, size_t size)
{
    TEST_ASSERT_EQUAL(77, file);
    if (kernel.reads++ < kernel.interruptions)
        return fail(EINTR);
    ssize_t count = give(out, size, &kernel.device_bytes);
    return count > 0 || kernel.device_error == 0 ? count : fail(kernel.device_error);
}

static int scripted_close(int file)
{
    TEST_ASSERT_EQUAL(77, file);
    kernel.closes++;
    return 0;
}

#define syscall scripted_syscall
#define open scripted_open
#define read scripted_read
#define close scripted_close
#include "../platform/entropy.c"
#undef syscall
#undef open
#undef read
#undef close

static uint8_t drawn[SIZE + 1];

void setUp(void)
{
    memset(&kernel, 0, sizeof kernel);
    kernel.getrandom_bytes = kernel.device_bytes = SIZE;
    memset(drawn, 0, sizeof drawn);
}

void tearDown(void)
{
}

static void set_up_old_kernel(void)
{
    setUp();
    kernel.getrandom_bytes = 0;
    kernel.getrandom_error = ENOSYS;
}

/* Asks for 32 bytes, which fails unless all are `expected`; those are there, in order, and none behind them. */
static void draw(size_t expected)
{
    TEST_ASSERT_EQUAL(expected == SIZE ? 0 : -1, pml_platform_entropy(NULL, drawn, SIZE));
    for (size_t i = 0; i < sizeof drawn; i++)
        TEST_ASSERT_EQUAL_UINT8(i < expected ? i + 1 : 0, drawn[i]);
    TEST_ASSERT_EQUAL(kernel.opens > 0 && !kernel.no_device ? 1 : 0, kernel.closes);
}

static void test_getrandom_by_pieces_and_interrupted(void)
{
    draw(SIZE);
    setUp();
    kernel.interruptions = 3;
    draw(SIZE);
    TEST_ASSERT_EQUAL(0, kernel.opens);
}

/* Only a kernel that is too old has a reason not to answer. */
static void test_another_failure_fails_and_asks_no_device(void)
{
    for (size_t bytes = 0; bytes < SIZE; bytes += 9) {
        setUp();
        kernel.getrandom_bytes = bytes;
        kernel.getrandom_error = EPERM;
        draw(bytes);
        TEST_ASSERT_EQUAL(0, kernel.opens);
    }
}

static void test_an_old_kernel_has_the_device(void)
{
    set_up_old_kernel();
    draw(SIZE);
    TEST_ASSERT_EQUAL(1, kernel.getrandoms);
}

static void test_the_device_continues_what_getrandom_began(void)
{
    set_up_old_kernel();
    kernel.getrandom_bytes = 7;
    draw(SIZE);
    TEST_ASSERT_EQUAL(1, kernel.opens);
}

static void test_the_device_is_interrupted(void)
{
    set_up_old_kernel();
    kernel.interruptions = 2;
    draw(SIZE);
    TEST_ASSERT_EQUAL(3, kernel.opens);
}

static void test_no_device_fails(void)
{
    set_up_old_kernel();
    kernel.no_device = true;
    draw(0);
    TEST_ASSERT_EQUAL(1, kernel.opens);
}

static void test_a_device_that_ends_or_breaks_fails(void)
{
    for (int error = 0; error <= BROKEN; error += BROKEN)
        for (size_t bytes = 0; bytes < SIZE; bytes += 9) {
            set_up_old_kernel();
            kernel.device_bytes = bytes;
            kernel.device_error = error;
            draw(bytes);
        }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_getrandom_by_pieces_and_interrupted);
    RUN_TEST(test_another_failure_fails_and_asks_no_device);
    RUN_TEST(test_an_old_kernel_has_the_device);
    RUN_TEST(test_the_device_continues_what_getrandom_began);
    RUN_TEST(test_the_device_is_interrupted);
    RUN_TEST(test_no_device_fails);
    RUN_TEST(test_a_device_that_ends_or_breaks_fails);
    return UNITY_END();
}

#else

void setUp(void)
{
}

void tearDown(void)
{
}

int main(void)
{
    UNITY_BEGIN();
    return UNITY_END();
}

#endif
