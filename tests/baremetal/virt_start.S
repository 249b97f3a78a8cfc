/* SPDX-License-Identifier: Apache-2.0
 * From reset to main on QEMU's virt machine, 64 bits, exception level 1: a stack, vectors allowed, memory zeroed. */
    .section .vectors, "ax"
    .global virt_reset
virt_reset:
    ldr x0, =virt_stack_top
    mov sp, x0
    mov x0, #(3 << 20) /* CPACR_EL1.FPEN */
    msr cpacr_el1, x0
    isb
    ldr x0, =virt_bss_start
    ldr x1, =virt_bss_end
0:  cmp x0, x1
    b.hs 1f
    strb wzr, [x0], #1
    b 0b
1:  bl main
    b firmware_exit
