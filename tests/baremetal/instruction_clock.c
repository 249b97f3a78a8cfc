/* SPDX-License-Identifier: Apache-2.0
 * The generic timer of 64-bit processors, SysTick of M-profile ones. */
#include "instruction_clock.h"

#if defined(__aarch64__)
static void start(void)
{
}

uint32_t instruction_clock_ticks(void)
{
    uint64_t now;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now));
    return (uint32_t)now;
}

uint32_t instruction_clock_between(uint32_t first, uint32_t second)
{
    return second - first;
}
#else
#define SYSTICK ((volatile uint32_t *)0xE000E010) /* control, start value, value */

static void start(void)
{
    SYSTICK[1] = 0xFFFFFF;
    SYSTICK[2] = 0;
    SYSTICK[0] = 5; /* the processor's clock, no interrupt */
}

uint32_t instruction_clock_ticks(void)
{
    return SYSTICK[2];
}

uint32_t instruction_clock_between(uint32_t first, uint32_t second)
{
    return (first - second) & 0xFFFFFF; /* it counts down */
}
#endif

uint32_t instruction_clock_start(void)
{
    start();
    uint32_t left = 1000000, first = instruction_clock_ticks();
#if defined(__aarch64__)
    __asm__ volatile("1: subs %w0, %w0, #1\n\tb.ne 1b" : "+r"(left) : : "cc");
#else
    __asm__ volatile("1: subs %0, #1\n\tbne 1b" : "+l"(left) : : "cc");
#endif
    return instruction_clock_between(first, instruction_clock_ticks());
}
