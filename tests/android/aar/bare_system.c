/* SPDX-License-Identifier: Apache-2.0 */
#include "bare_system.h"

#include <stdarg.h>

#if defined(__aarch64__)
enum {
    CALL_READ = 63,
    CALL_CLOSE = 57,
    CALL_WRITE = 64,
    CALL_EXIT = 93,
    CALL_OPENAT = 56,
    CALL_MAP = 222,
    CALL_PROTECT = 226,
    MAP_UNIT = 1
};
#define ENTRY "mov x0, sp\n\tbl bare_start"
#elif defined(__arm__)
enum {
    CALL_READ = 3,
    CALL_CLOSE = 6,
    CALL_WRITE = 4,
    CALL_EXIT = 1,
    CALL_OPENAT = 322,
    CALL_MAP = 192,
    CALL_PROTECT = 125,
    MAP_UNIT = 4096
};
#define ENTRY "mov r0, sp\n\tbl bare_start"
#elif defined(__x86_64__)
enum {
    CALL_READ = 0,
    CALL_CLOSE = 3,
    CALL_WRITE = 1,
    CALL_EXIT = 60,
    CALL_OPENAT = 257,
    CALL_MAP = 9,
    CALL_PROTECT = 10,
    MAP_UNIT = 1
};
#define ENTRY "mov %rsp, %rdi\n\tand $-16, %rsp\n\tcall bare_start"
#elif defined(__i386__)
enum {
    CALL_READ = 3,
    CALL_CLOSE = 6,
    CALL_WRITE = 4,
    CALL_EXIT = 1,
    CALL_OPENAT = 295,
    CALL_MAP = 192,
    CALL_PROTECT = 125,
    MAP_UNIT = 4096
};
#define ENTRY "mov %esp, %eax\n\tand $-16, %esp\n\tsub $12, %esp\n\tpush %eax\n\tcall bare_start"
#endif

enum { CURRENT_FOLDER = -100 };

__asm__(".globl _start\n_start:\n\t" ENTRY);

long bare_call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                     x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#elif defined(__arm__)
    register long r7 __asm__("r7") = number, r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c,
                     r3 __asm__("r3") = d, r4 __asm__("r4") = e, r5 __asm__("r5") = f;
    __asm__ volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5) : "memory");
    return r0;
#elif defined(__x86_64__)
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__i386__)
    long result; /* the sixth argument goes into ebp, which the compiler does not lend */
    __asm__ volatile("pushl %7\n\tpushl %%ebp\n\tmovl 4(%%esp), %%ebp\n\tint $0x80\n\tpopl %%ebp\n\taddl $4, %%esp"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e), "m"(f)
                     : "memory");
    return result;
#endif
}

/* What the kernel tells a program at its start: pairs of type and value, the last of type 0. */
static const uintptr_t *auxiliary;

unsigned long getauxval(unsigned long type)
{
    for (const uintptr_t *pair = auxiliary; pair[0] != 0; pair += 2)
        if (pair[0] == type)
            return pair[1];
    return 0;
}

_Noreturn void bare_start(const uintptr_t *stack);
_Noreturn void bare_start(const uintptr_t *stack)
{
    auxiliary = stack + 1 + stack[0] + 1; /* behind the arguments … */
    while (*auxiliary++ != 0)             /* … and the environment */
        ;
    int code = bare_main(stack[0] > 1 ? (const char *)stack[2] : NULL);
    for (;;)
        bare_call(CALL_EXIT, code, 0, 0, 0, 0, 0);
}

long bare_open(const char *path)
{
    return bare_call(CALL_OPENAT, CURRENT_FOLDER, (long)path, 0, 0, 0, 0);
}

long bare_map(void *address, size_t size, int protection, int flags, long file, size_t offset)
{
    return bare_call(CALL_MAP, (long)address, (long)size, protection, flags, file, (long)(offset / MAP_UNIT));
}

long bare_protect(void *address, size_t size, int protection)
{
    return bare_call(CALL_PROTECT, (long)address, (long)size, protection, 0, 0, 0);
}

void bare_print(const char *text)
{
    size_t size = 0;
    while (text[size] != 0)
        size++;
    bare_call(CALL_WRITE, 1, (long)text, (long)size, 0, 0, 0);
}

void bare_print_number(size_t number)
{
    char text[24], *at = text + sizeof text - 1;
    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    bare_print(at);
}

int bare_equal(const char *a, const char *b)
{
    while (*a != 0 && *a == *b)
        a++, b++;
    return *a == *b;
}

/* ---- libc's ---- */

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    for (size_t i = 0; i < size; i++) {
        size_t at = (uintptr_t)out < (uintptr_t)in ? i : size - 1 - i;
        out[at] = in[at];
    }
    return to;
}

void *memset(void *to, int value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)to)[i] = (uint8_t)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
    const uint8_t *x = a, *y = b;
    for (size_t i = 0; i < size; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

int *__errno(void)
{
    static int number;
    return &number;
}

static long told_by_errno(long result)
{
    if (result < 0) {
        *__errno() = (int)-result;
        return -1;
    }
    return result;
}

long syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    va_end(list);
    return told_by_errno(bare_call(number, a, b, c, 0, 0, 0));
}

int open(const char *path, int flags, ...)
{
    return (int)told_by_errno(bare_call(CALL_OPENAT, CURRENT_FOLDER, (long)path, flags, 0, 0, 0));
}

long read(int file, void *out, size_t size)
{
    return told_by_errno(bare_call(CALL_READ, file, (long)out, (long)size, 0, 0, 0));
}

int close(int file)
{
    return (int)told_by_errno(bare_call(CALL_CLOSE, file, 0, 0, 0, 0, 0));
}
