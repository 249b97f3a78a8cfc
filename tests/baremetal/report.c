/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include "firmware.h"
#include "semihosting.h"

static unsigned failures;

void report_check(bool good, const char *name)
{
    failures += !good;
    semihosting_text(good ? "ok " : "FAILED ");
    semihosting_text(name);
    semihosting_text("\n");
}

void report_figure(const char *name, size_t value)
{
    semihosting_text("figure ");
    semihosting_text(name);
    semihosting_text(" ");
    semihosting_number((uint32_t)value);
    semihosting_text("\n");
}

void report_share(size_t good, size_t all, const char *name)
{
    bool full = good == all && all > 0;
    failures += !full;
    semihosting_text(full ? "ok " : "FAILED ");
    semihosting_text(name);
    semihosting_text(": ");
    semihosting_number((uint32_t)good);
    semihosting_text(" of ");
    semihosting_number((uint32_t)all);
    semihosting_text("\n");
}

void report_case(const char *name)
{
    semihosting_text("differs: ");
    semihosting_text(name);
    semihosting_text("\n");
}

int report_end(void)
{
    return failures > 0;
}

void firmware_fault(void)
{
    semihosting_text("FAILED fault\n");
    semihosting_exit(3);
}

void firmware_exit(int status)
{
    semihosting_exit(status);
}
