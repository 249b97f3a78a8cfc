/* SPDX-License-Identifier: Apache-2.0
 * What train prints when it is done. */
#ifndef CLI_TRAIN_REPORT_H
#define CLI_TRAIN_REPORT_H

#include "cli/shared/command.h"
#include "tools/train/train_measure.h"

struct train_report {
    const struct pml_train_options *options;
    const struct pml_train_result *result;
    const struct pml_train_measures *measures;
    const char *out, *out_with;      /* the second file, or NULL */
    const char *with;                /* the second modality */
    size_t inputs;                   /* features of the first modality */
    bool root, validated, uncertain; /* uncertain: with --uncertainty */
};

void train_report_print(const struct train_report *report);
void train_report_write(const struct train_report *report); /* as JSON */

#endif
