/* SPDX-License-Identifier: Apache-2.0
 * Counts instructions by the processor's own clock, when the emulator ticks by instructions (qemu -icount shift=0). */
#ifndef INSTRUCTION_CLOCK_H
#define INSTRUCTION_CLOCK_H

#include <stdint.h>

/* Starts the clock. Returns how many of its ticks are two million instructions; 0 where the clock stands still, as it
 * may without -icount. */
uint32_t instruction_clock_start(void);

uint32_t instruction_clock_ticks(void);

/* Ticks from one reading to a later one, less than 2^24 of them. */
uint32_t instruction_clock_between(uint32_t first, uint32_t second);

#endif
