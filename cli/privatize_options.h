/* SPDX-License-Identifier: Apache-2.0
 * The options of privatize. */
#ifndef CLI_PRIVATIZE_OPTIONS_H
#define CLI_PRIVATIZE_OPTIONS_H

#include "command.h"

#include <privatemail.h>

struct privatize_arguments {
    const char *pack, *pack_id, *features, *labels, *mechanism, *budget, *budget_new, *owner, *out;
    double label, epsilon, delta;
    uint64_t row, value_bytes, repeat;
    uint8_t id[PML_ID_SIZE]; /* of pack_id */
    bool has_label, has_delta, has_value_bytes, has_repeat, force, json;
};

/* Reads and checks them all, and fills in the defaults. −1 to go on, else the exit code. */
int privatize_options(int argc, char **argv, struct privatize_arguments *arguments);

#endif
