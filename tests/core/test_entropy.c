/* SPDX-License-Identifier: Apache-2.0
 * The system's entropy: what the system itself gives, and what happens when it refuses, interrupts or is old. The file
 * under test is compiled here, over calls of Linux and Windows that pass through to the system unless a test scripts
 * them; the library's own is not linked then. */
#if defined(__linux__)
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#include "privatemail_platform.h"
#include "support/support.h"

enum { DRAW_SIZE = 32 };

static uint8_t drawn[DRAW_SIZE + 1];

#if defined(__linux__)

enum { PIECE = 5, BROKEN = EIO };

static struct {
    bool scripted;
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
    if (!kernel.scripted)
        return syscall(number, out, size, 0);
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

static void set_up_kernel(void)
{
    memset(&kernel, 0, sizeof kernel);
    kernel.scripted = true;
    kernel.getrandom_bytes = kernel.device_bytes = DRAW_SIZE;
    memset(drawn, 0, sizeof drawn);
}

static void set_up_old_kernel(void)
{
    set_up_kernel();
    kernel.getrandom_bytes = 0;
    kernel.getrandom_error = ENOSYS;
}

/* Asks for 32 bytes, which fails unless all are `expected`; those are there, in order, and none behind them. */
static void draw(size_t expected)
{
    TEST_ASSERT_EQUAL(expected == DRAW_SIZE ? 0 : -1, pml_platform_entropy(NULL, drawn, DRAW_SIZE));
    for (size_t i = 0; i < sizeof drawn; i++)
        TEST_ASSERT_EQUAL_UINT8(i < expected ? i + 1 : 0, drawn[i]);
    TEST_ASSERT_EQUAL(kernel.opens > 0 && !kernel.no_device ? 1 : 0, kernel.closes);
}

static void test_getrandom_by_pieces_and_interrupted(void)
{
    set_up_kernel();
    draw(DRAW_SIZE);
    set_up_kernel();
    kernel.interruptions = 3;
    draw(DRAW_SIZE);
    TEST_ASSERT_EQUAL(0, kernel.opens);
}

/* Only a kernel that is too old has a reason not to answer. */
static void test_another_failure_fails_and_asks_no_device(void)
{
    for (size_t bytes = 0; bytes < DRAW_SIZE; bytes += 9) {
        set_up_kernel();
        kernel.getrandom_bytes = bytes;
        kernel.getrandom_error = EPERM;
        draw(bytes);
        TEST_ASSERT_EQUAL(0, kernel.opens);
    }
}

static void test_an_old_kernel_has_the_device(void)
{
    set_up_old_kernel();
    draw(DRAW_SIZE);
    TEST_ASSERT_EQUAL(1, kernel.getrandoms);
}

static void test_the_device_continues_what_getrandom_began(void)
{
    set_up_old_kernel();
    kernel.getrandom_bytes = 7;
    draw(DRAW_SIZE);
    TEST_ASSERT_EQUAL(1, kernel.opens);
}

static void test_the_device_is_interrupted(void)
{
    set_up_old_kernel();
    kernel.interruptions = 2;
    draw(DRAW_SIZE);
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
        for (size_t bytes = 0; bytes < DRAW_SIZE; bytes += 9) {
            set_up_old_kernel();
            kernel.device_bytes = bytes;
            kernel.device_error = error;
            draw(bytes);
        }
}

static void system_tests(void)
{
    RUN_TEST(test_getrandom_by_pieces_and_interrupted);
    RUN_TEST(test_another_failure_fails_and_asks_no_device);
    RUN_TEST(test_an_old_kernel_has_the_device);
    RUN_TEST(test_the_device_continues_what_getrandom_began);
    RUN_TEST(test_the_device_is_interrupted);
    RUN_TEST(test_no_device_fails);
    RUN_TEST(test_a_device_that_ends_or_breaks_fails);
}

#elif defined(_WIN32)

#include <windows.h>

#include <bcrypt.h>

static struct {
    NTSTATUS refusal; /* not 0: what BCryptGenRandom returns instead of bytes */
    unsigned calls;
} generator;

static NTSTATUS scripted_generator(BCRYPT_ALG_HANDLE algorithm, PUCHAR out, ULONG size, ULONG flags)
{
    generator.calls++;
    return generator.refusal != 0 ? generator.refusal : BCryptGenRandom(algorithm, out, size, flags);
}

#define BCryptGenRandom scripted_generator
#include "../platform/entropy.c"
#undef BCryptGenRandom

static void test_a_generator_that_fails_gives_nothing(void)
{
    generator.refusal = (NTSTATUS)0xC0000001L; /* STATUS_UNSUCCESSFUL */
    TEST_ASSERT_EQUAL(-1, pml_platform_entropy(NULL, drawn, DRAW_SIZE));
    generator.refusal = 0;
    TEST_ASSERT_EQUAL(0, pml_platform_entropy(NULL, drawn, DRAW_SIZE));
    TEST_ASSERT_EQUAL(2, generator.calls);
}

/* A ULONG has 32 bits: one more byte than it counts would be asked for as none, and reported as all. */
static void test_more_than_one_call_can_ask_for_is_refused(void)
{
#if SIZE_MAX > ULONG_MAX
    generator.calls = 0;
    TEST_ASSERT_EQUAL(-1, pml_platform_entropy(NULL, drawn, (size_t)ULONG_MAX + 1));
    TEST_ASSERT_EQUAL(0, generator.calls);
#else
    TEST_IGNORE_MESSAGE("memory is smaller than a ULONG counts");
#endif
}

static void system_tests(void)
{
    RUN_TEST(test_a_generator_that_fails_gives_nothing);
    RUN_TEST(test_more_than_one_call_can_ask_for_is_refused);
}

#else

static void system_tests(void)
{
}

#endif

/* ---- every system, as it is ---- */

void setUp(void)
{
    memset(drawn, 0, sizeof drawn);
#if defined(__linux__)
    memset(&kernel, 0, sizeof kernel);
#elif defined(_WIN32)
    memset(&generator, 0, sizeof generator);
#endif
}

void tearDown(void)
{
}

/* That two draws of 256 bits are equal never happens by chance. */
static void test_every_draw_is_another(void)
{
    enum { DRAWS = 64 };
    static uint8_t draws[DRAWS][DRAW_SIZE + 1];
    memset(draws, 0, sizeof draws);
    for (size_t i = 0; i < DRAWS; i++) {
        TEST_ASSERT_EQUAL(0, pml_platform_entropy(NULL, draws[i], DRAW_SIZE));
        TEST_ASSERT_EQUAL_UINT8(0, draws[i][DRAW_SIZE]);
        for (size_t j = 0; j < i; j++)
            TEST_ASSERT_TRUE(memcmp(draws[i], draws[j], DRAW_SIZE) != 0);
    }
}

/* A value's count has the mean 4096 and the standard deviation 64: ten of them away never happens by chance, but does
 * when a part of the buffer was left as it was. */
static void test_a_large_draw_is_random_to_its_end(void)
{
    enum { LARGE = 1 << 20 };
    static uint8_t bytes[LARGE];
    unsigned counts[256] = {0};
    memset(bytes, 0, sizeof bytes);
    TEST_ASSERT_EQUAL(0, pml_platform_entropy(NULL, bytes, LARGE));
    for (size_t i = 0; i < LARGE; i++)
        counts[bytes[i]]++;
    for (size_t value = 0; value < 256; value++)
        TEST_ASSERT_UINT_WITHIN(640, LARGE / 256, counts[value]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_draw_is_another);
    RUN_TEST(test_a_large_draw_is_random_to_its_end);
    system_tests();
    return UNITY_END();
}
