/* SPDX-License-Identifier: Apache-2.0
 * Text and an exit code through the debugger or emulator. For tests only: without a debugger each call faults. */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stddef.h>
#include <stdint.h>

void semihosting_text(const char *text);
void semihosting_number(uint32_t value);
void semihosting_hex(const uint8_t *bytes, size_t size);
_Noreturn void semihosting_exit(int status);

#endif
