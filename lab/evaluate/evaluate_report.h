/* SPDX-License-Identifier: Apache-2.0
 * What evaluate found. */
#ifndef CLI_EVALUATE_REPORT_H
#define CLI_EVALUATE_REPORT_H

#include "evaluate_trials.h"

/* Response alone, at the same ε and with as much that comes down as in the crowd. */
struct evaluate_local {
    unsigned cells;
    double share;
    struct evaluate_result result;
};

struct evaluate_row {
    double epsilon, share; /* as they were asked for */
    unsigned cells;
    struct crowd_promise promise; /* in a crowd */
    struct evaluate_local local;  /* in a crowd */
    struct evaluate_result result;
};

struct evaluate_report {
    const struct evaluate_options *options;
    const struct evaluate_data *data;
    unsigned slots, sketch;
    struct evaluate_row rows[EVALUATE_LIST_MAX * EVALUATE_LIST_MAX];
    size_t row_count;
    struct evaluate_list skipped; /* shares */
    double seconds;
};

void evaluate_report_print(const struct evaluate_report *report);
void evaluate_report_write(const struct evaluate_report *report); /* JSON */

/* Prints a hint on stderr when ranking by sketches loses much of what the answers hold. */
void evaluate_report_hint(const struct evaluate_report *report);

#endif
