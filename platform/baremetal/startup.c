/* SPDX-License-Identifier: Apache-2.0
 * From reset to main on any Cortex-M. The table has the 16 entries of the processor; add your device's interrupts. What
 * comes after the processor's own is the same on RISC-V, whose reset is in startup_riscv.S. */
#include "firmware.h"

#include <stdint.h>

extern uint32_t firmware_data_start[], firmware_data_end[], firmware_bss_start[], firmware_bss_end[];
extern const uint32_t firmware_data_source[];

int main(void);
void firmware_reset(void);
void firmware_start(void);

#if defined(__arm__)
struct vector_table {
    unsigned char *stack;
    void (*handlers[15])(void);
};

__attribute__((section(".vectors"), used)) static const struct vector_table vectors = {
    firmware_stack_top,
    {firmware_reset, firmware_fault, firmware_fault, firmware_fault, firmware_fault, firmware_fault, firmware_fault,
     firmware_fault, firmware_fault, firmware_fault, firmware_fault, firmware_fault, firmware_fault, firmware_fault,
     firmware_fault},
};
#endif

__attribute__((weak)) void firmware_fault(void)
{
    for (;;)
        __asm__ volatile("");
}

__attribute__((weak)) void firmware_exit(int status)
{
    (void)status;
    firmware_fault();
}

/* Not inlined: it may use the floating-point registers that its caller switches on. */
__attribute__((noinline)) void firmware_start(void)
{
    const uint32_t *source = firmware_data_source;
    for (uint32_t *word = firmware_data_start; word < firmware_data_end; word++)
        *word = *source++;
    for (uint32_t *word = firmware_bss_start; word < firmware_bss_end; word++)
        *word = 0;
    firmware_exit(main());
}

#if defined(__arm__)
void firmware_reset(void)
{
#if __ARM_ARCH >= 8 && __ARM_ARCH_ISA_THUMB >= 2 /* Armv8-M Mainline: the processor guards the stack itself */
    __asm__ volatile("msr msplim, %0" : : "r"(firmware_stack_limit));
#endif
#if defined(__ARM_FP)
    /* CPACR: full access to coprocessors 10 and 11, the floating-point unit and, where there are, the vectors. */
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
    __asm__ volatile("dsb\n\tisb" : : : "memory");
#endif
    firmware_start();
}
#endif
