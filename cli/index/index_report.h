/* SPDX-License-Identifier: Apache-2.0
 * What `privatemail index` says when it is done. */
#ifndef CLI_INDEX_REPORT_H
#define CLI_INDEX_REPORT_H

#include "cli/shared/pack_file.h"
#include "server/index/gallery_change.h"

struct index_report {
    const char *store; /* as it may be shown */
    const struct pack_file *pack;
    struct pml_change_report change;
    double seconds;
    bool json;
};

void index_report_write(const struct index_report *report);

/* How far the number of items has gone from what it was when the list length was fixed, as a share of that; NaN when there
 * is no length. */
double index_drift(const struct pml_settings *settings, uint64_t items);

/* The share of a slot's items that a list carries. */
double index_share(const struct pml_settings *settings, uint64_t items, uint32_t slots);

#endif
