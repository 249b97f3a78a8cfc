/* SPDX-License-Identifier: Apache-2.0
 * From reset to firmware_start (startup.c) on a RISC-V processor in machine mode. Only the first of several harts runs. */
    .option arch, +zicsr
    .option norelax                 /* relaxed code reads gp, which is not set here */
    .section .vectors, "ax"
    .global firmware_reset
firmware_reset:
    la t0, firmware_trap
    csrw mtvec, t0
#if defined(__riscv_flen)
    li t0, 1 << 13                  /* mstatus.FS: the floating-point unit is on */
    csrs mstatus, t0
    csrw fcsr, zero
#endif
    csrr t0, mhartid
    bnez t0, firmware_park
    la sp, firmware_stack_top
    call firmware_start
firmware_park:
    wfi
    j firmware_park

    .balign 4                       /* mtvec holds no address of 2 bytes */
firmware_trap:
    la sp, firmware_stack_top
    call firmware_fault
    j firmware_park
