/* SPDX-License-Identifier: Apache-2.0
 * What a compiler calls for 64-bit numbers on a 32-bit CPU, and for division on one that has none, for a build without
 * the NDK's own support library.
 * In: operands in their range, C's rules. Out: exactly what a 64-bit CPU answers. Never: a branch on an operand of a
 * division. */
#include <stdint.h>

/* Each CPU takes some of them; the test takes all. */
#define HELPER static __attribute__((unused))

/* Bit by bit, so that the time does not tell the operands. Division by zero is undefined in C; here it ends, too. */
HELPER uint64_t divide(uint64_t dividend, uint64_t divisor, uint64_t *remainder)
{
    uint64_t quotient = 0, rest = 0;
    for (int bit = 63; bit >= 0; bit--) {
        rest = rest << 1 | dividend >> 63; /* the dividend's bits from `bit` on at most: it never overflows */
        dividend <<= 1;
        uint64_t borrow = ((~rest & divisor) | ((~rest | divisor) & (rest - divisor))) >> 63;
        uint64_t fits = borrow ^ 1;
        rest -= divisor & (0 - fits);
        quotient = quotient << 1 | fits;
    }
    *remainder = rest;
    return quotient;
}

HELPER uint64_t magnitude(int64_t value)
{
    uint64_t sign = 0 - ((uint64_t)value >> 63);
    return ((uint64_t)value ^ sign) - sign;
}

/* `value` with the sign of `like` */
HELPER uint64_t with_sign(uint64_t value, int64_t like)
{
    uint64_t sign = 0 - ((uint64_t)like >> 63);
    return (value ^ sign) - sign;
}

/* Truncates; the remainder has the dividend's sign. */
HELPER int64_t divide_signed(int64_t dividend, int64_t divisor, int64_t *remainder)
{
    uint64_t rest, quotient = divide(magnitude(dividend), magnitude(divisor), &rest);
    *remainder = (int64_t)with_sign(rest, dividend);
    return (int64_t)with_sign(quotient, dividend ^ divisor);
}

/* ---- doubles: both halves are exact, so their sum is rounded once -------------------------------------------- */

HELPER double double_of_unsigned(uint64_t value)
{
    return (double)(uint32_t)(value >> 32) * 0x1p32 + (double)(uint32_t)value;
}

HELPER double double_of_signed(int64_t value)
{
    return (double)(int32_t)(value >> 32) * 0x1p32 + (double)(uint32_t)value;
}

/* 0 ≤ value < 2^64; what is cut off each time is exact */
HELPER uint64_t unsigned_of_double(double value)
{
    uint32_t high = (uint32_t)(value * 0x1p-32);
    uint32_t low = (uint32_t)(value - (double)high * 0x1p32);
    return (uint64_t)high << 32 | low;
}

HELPER int64_t signed_of_double(double value)
{
    return value < 0 ? (int64_t)(0 - unsigned_of_double(-value)) : (int64_t)unsigned_of_double(value);
}

/* ---- the names that compilers call ----------------------------------------------------------------------------- */

#if defined(__arm__)

double __aeabi_ul2d(uint64_t value)
{
    return double_of_unsigned(value);
}

double __aeabi_l2d(int64_t value)
{
    return double_of_signed(value);
}

uint64_t __aeabi_d2ulz(double value)
{
    return unsigned_of_double(value);
}

int64_t __aeabi_d2lz(double value)
{
    return signed_of_double(value);
}

uint32_t __aeabi_uidiv(uint32_t dividend, uint32_t divisor)
{
    uint64_t rest;
    return (uint32_t)divide(dividend, divisor, &rest);
}

/* The quotient in r0 and the remainder in r1, as the halves of a longer number are returned. */
uint64_t __aeabi_uidivmod(uint32_t dividend, uint32_t divisor)
{
    uint64_t rest, quotient = divide(dividend, divisor, &rest);
    return rest << 32 | quotient;
}

/* ARM's run-time ABI wants the quotient in r0:r1 and the remainder in r2:r3, which C cannot say. */
#define DIVMOD(name, function)                                                                                         \
    __attribute__((naked)) void name(void)                                                                             \
    {                                                                                                                  \
        __asm__("push {r11, lr}\n\t"                                                                                   \
                "sub sp, sp, #16\n\t" /* the fifth argument, a gap, the remainder */                                   \
                "add r12, sp, #8\n\t"                                                                                  \
                "str r12, [sp]\n\t"                                                                                    \
                "bl " #function "\n\t"                                                                                 \
                "ldrd r2, r3, [sp, #8]\n\t"                                                                            \
                "add sp, sp, #16\n\t"                                                                                  \
                "pop {r11, pc}");                                                                                      \
    }

__attribute__((used)) static uint64_t divmod_unsigned(uint64_t dividend, uint64_t divisor, uint64_t *remainder)
{
    return divide(dividend, divisor, remainder);
}

__attribute__((used)) static int64_t divmod_signed(int64_t dividend, int64_t divisor, int64_t *remainder)
{
    return divide_signed(dividend, divisor, remainder);
}

DIVMOD(__aeabi_uldivmod, divmod_unsigned)
DIVMOD(__aeabi_ldivmod, divmod_signed)

#elif defined(__i386__)

uint64_t __udivdi3(uint64_t dividend, uint64_t divisor)
{
    uint64_t rest;
    return divide(dividend, divisor, &rest);
}

uint64_t __umoddi3(uint64_t dividend, uint64_t divisor)
{
    uint64_t rest;
    (void)divide(dividend, divisor, &rest);
    return rest;
}

int64_t __divdi3(int64_t dividend, int64_t divisor)
{
    int64_t rest;
    return divide_signed(dividend, divisor, &rest);
}

int64_t __moddi3(int64_t dividend, int64_t divisor)
{
    int64_t rest;
    (void)divide_signed(dividend, divisor, &rest);
    return rest;
}

#endif
