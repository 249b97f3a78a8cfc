/* SPDX-License-Identifier: Apache-2.0 */
#include "base.h"

void pml_wipe(void *memory, size_t size)
{
#if defined(__GNUC__)
    memset(memory, 0, size);
    __asm__ volatile("" : : "r"(memory) : "memory"); /* somebody may read it: the memset stays */
#else
    volatile uint8_t *p = memory;
    for (size_t i = 0; i < size; i++)
        p[i] = 0;
#endif
}

/* Registers that hold a secret get to the stack when a later function saves them. Vectors count where compilers copy
 * with them. */
#if defined(__has_attribute)
#if __has_attribute(zero_call_used_regs) && UINTPTR_MAX > 0xFFFFFFFF
__attribute__((zero_call_used_regs("all")))
#elif __has_attribute(zero_call_used_regs)
__attribute__((zero_call_used_regs("all-gpr")))
#endif
#endif
void pml_wipe_stack(void)
{
    uint8_t below[PML_STACK_WIPED];
    pml_wipe(below, sizeof below);
}
