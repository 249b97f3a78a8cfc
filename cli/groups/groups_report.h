/* SPDX-License-Identifier: Apache-2.0
 * What groups prints and lists when it is done. */
#ifndef CLI_GROUPS_REPORT_H
#define CLI_GROUPS_REPORT_H

#include "cli/shared/command.h"
#include "tools/groups/group_measures.h"

#include "common/bytes.h"

struct groups_report {
    const struct pml_groups_options *options;
    const struct pml_groups_result *result;
    const char *method, *laplacian;
    const char *out, *suspects, *gallery_out; /* all but the first may be NULL */
    double nmi;                               /* NAN without labels */
    struct pml_group_cross cross;
};

void groups_report_print(const struct groups_report *report);
void groups_report_write(const struct groups_report *report); /* as JSON */

/* A table of the suspects, one line each, the most suspect one first; with labels if there are some. Returns PML_DONE or
 * PML_NO_MEMORY. */
pml_outcome groups_report_list(const struct pml_groups_result *result, const int32_t *labels, struct pml_bytes *text);

#endif
