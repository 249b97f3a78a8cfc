/* SPDX-License-Identifier: Apache-2.0
 * What a test firmware says, line by line: "ok NAME" or "FAILED NAME" for a check, "figure NAME NUMBER". */
#ifndef FIRMWARE_REPORT_H
#define FIRMWARE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void report_check(bool good, const char *name);
void report_figure(const char *name, size_t value);

/* "ok NAME: GOOD of ALL", or FAILED when they differ or there are none. */
void report_share(size_t good, size_t all, const char *name);

/* "differs: NAME", which of the many that the next share counts. */
void report_case(const char *name);

/* main's result: 0 when no check failed. */
int report_end(void);

#endif
