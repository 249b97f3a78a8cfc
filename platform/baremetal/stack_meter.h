/* SPDX-License-Identifier: Apache-2.0
 * How deep the stack went: what is free of it is painted, what has lost the paint was used. A frame's bytes that were
 * never written keep the paint, so a bound needs the compiler's call graph too (scripts/stack_depth.py).
 *
 *     stack_meter_paint();
 *     call();
 *     depth = stack_meter_depth(stack_meter_here());      below the frame this stands in
 *     depth = stack_meter_depth(firmware_stack_top);      in all */
#ifndef STACK_METER_H
#define STACK_METER_H

#include <stddef.h>

static inline const unsigned char *stack_meter_here(void)
{
    const unsigned char *here;
#if defined(__riscv)
    __asm__ volatile("mv %0, sp" : "=r"(here) : : "memory");
#else
    __asm__ volatile("mov %0, sp" : "=r"(here) : : "memory");
#endif
    return here;
}

void stack_meter_paint(void);

/* Bytes from the deepest one used since the last painting up to `top`. */
size_t stack_meter_depth(const unsigned char *top);

#endif
