/* SPDX-License-Identifier: Apache-2.0 */
#include "stack_meter.h"

#include "firmware.h"

enum { PAINT = 0xA5 };

void stack_meter_paint(void)
{
    const unsigned char *here = stack_meter_here();
    /* volatile: a memset would be called, and paint over its own frame */
    for (volatile unsigned char *byte = firmware_stack_limit; byte < here; byte++)
        *byte = PAINT;
}

size_t stack_meter_depth(const unsigned char *top)
{
    const unsigned char *byte = firmware_stack_limit;
    while (byte < top && *byte == PAINT)
        byte++;
    return (size_t)(top - byte);
}
