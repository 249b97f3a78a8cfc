/* SPDX-License-Identifier: Apache-2.0
 * What map prints when it is done. */
#ifndef CLI_MAP_REPORT_H
#define CLI_MAP_REPORT_H

#include "cli/shared/command.h"
#include "tools/map/look/map_measure.h"

struct map_entry {
    pml_map_method method;
    bool made;
    struct pml_message message; /* why it was not made */
    char *out;                  /* owned; NULL: nothing was written */
    size_t bytes;
    double seconds, perplexity, cost;
    size_t components, landmarks;
    struct pml_map_measures measures;
};

struct map_report {
    size_t rows, features, copies, groups;
    const char *colour;
    uint64_t seed;
    bool measured, all;
    const struct map_entry *entries;
    size_t count;
};

void map_report_print(const struct map_report *report);
void map_report_write(const struct map_report *report); /* as JSON */

#endif
