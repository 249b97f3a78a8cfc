/* SPDX-License-Identifier: Apache-2.0
 * What pack tells about a pack that it built, as text or as JSON. */
#ifndef CLI_PACK_REPORT_H
#define CLI_PACK_REPORT_H

#include "cli/shared/pack_file.h"
#include "pack_crowd.h"

#include "tools/pack/pack_builder.h"

void pack_report_print(const char *out, const struct pack_file *file, const struct pml_build_report *report,
                       const struct pack_crowd *crowd);
void pack_report_write(const char *out, const struct pack_file *file, const struct pml_build_report *report,
                       const struct pack_crowd *crowd);

#endif
