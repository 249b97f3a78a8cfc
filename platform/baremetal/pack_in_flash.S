/* SPDX-License-Identifier: Apache-2.0
 * The pack as a file (PRIVATEMAIL_PACK_FILE), among the constants. */
#if defined(__arm__)
    .syntax unified
#endif
    .section .rodata.pack_in_flash, "a"
    .global pack_in_flash
    .type pack_in_flash, %object
pack_in_flash:
    .incbin PRIVATEMAIL_PACK_FILE
pack_in_flash_end:
    .size pack_in_flash, . - pack_in_flash
    .balign 4
    .global pack_in_flash_size
    .type pack_in_flash_size, %object
pack_in_flash_size:
    .word pack_in_flash_end - pack_in_flash
    .size pack_in_flash_size, 4
