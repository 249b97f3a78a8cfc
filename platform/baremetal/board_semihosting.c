/* SPDX-License-Identifier: Apache-2.0
 * Sends to the console of an emulator or debugger, and ends there: a test's board, not a product's. */
#include "board.h"
#include "firmware.h"
#include "semihosting.h"

void board_send(const uint8_t *message, size_t size)
{
    semihosting_text("message ");
    semihosting_hex(message, size);
    semihosting_text("\n");
}

void firmware_fault(void)
{
    semihosting_text("fault\n");
    semihosting_exit(99);
}

/* Statuses are negative, exit codes are bytes. */
void firmware_exit(int status)
{
    semihosting_exit(status < 0 ? -status : status);
}
