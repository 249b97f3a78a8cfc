/* SPDX-License-Identifier: Apache-2.0
 * Arm's "Semihosting for AArch32 and AArch64", for M-profile processors and 64-bit ones, and the same operations behind
 * RISC-V's own instructions. */
#include "semihosting.h"

enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20, ADP_STOPPED_APPLICATION_EXIT = 0x20026 };

static void call(uintptr_t operation, const void *argument)
{
#if defined(__aarch64__)
    register uintptr_t x0 __asm__("x0") = operation;
    register const void *x1 __asm__("x1") = argument;
    __asm__ volatile("hlt 0xF000" : "+r"(x0) : "r"(x1) : "memory");
#elif defined(__riscv)
    register uintptr_t a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    /* Three instructions of 4 bytes, which must not lie on two pages. */
    __asm__ volatile(".option push\n\t.option norvc\n\t.balign 16\n\t"
                     "slli zero, zero, 0x1f\n\tebreak\n\tsrai zero, zero, 7\n\t.option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
#else
    register uintptr_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
#endif
}

void semihosting_text(const char *text)
{
    call(SYS_WRITE0, text);
}

void semihosting_number(uint32_t value)
{
    char digits[11];
    char *first = digits + sizeof digits - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    semihosting_text(first);
}

void semihosting_hex(const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++)
        semihosting_text((const char[]){digits[bytes[i] >> 4], digits[bytes[i] & 15], '\0'});
}

void semihosting_exit(int status)
{
    const uintptr_t block[] = {ADP_STOPPED_APPLICATION_EXIT, (uintptr_t)status};
    call(SYS_EXIT_EXTENDED, block);
    for (;;)
        __asm__ volatile("");
}
