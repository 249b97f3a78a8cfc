/* SPDX-License-Identifier: Apache-2.0
 * What startup.c and the linker scripts offer a firmware. */
#ifndef FIRMWARE_H
#define FIRMWARE_H

/* Places, not objects: only their addresses mean anything. Aligned, or the compiler reads words there byte by byte. */
extern _Alignas(8) unsigned char firmware_stack_limit[], firmware_stack_top[]; /* lowest byte; first byte above */
extern _Alignas(4) unsigned char firmware_flash_start[], firmware_flash_end[]; /* likewise */

/* Called on every exception, and with main's result. Both wait for ever unless the firmware has its own. */
void firmware_fault(void);
void firmware_exit(int status);

#endif
