/* SPDX-License-Identifier: Apache-2.0
 * Goes around the example's main (ld --wrap=main) and says how much of the stack the whole firmware used. */
#include "firmware.h"
#include "semihosting.h"
#include "stack_meter.h"

int __real_main(void);
int __wrap_main(void);

int __wrap_main(void)
{
    stack_meter_paint();
    int status = __real_main();
    size_t depth = stack_meter_depth(firmware_stack_top);
    semihosting_text("figure example-stack ");
    semihosting_number((uint32_t)depth);
    semihosting_text("\n");
    return status;
}
