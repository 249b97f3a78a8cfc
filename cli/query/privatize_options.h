/* SPDX-License-Identifier: Apache-2.0
 * The options of privatize. */
#ifndef CLI_PRIVATIZE_OPTIONS_H
#define CLI_PRIVATIZE_OPTIONS_H

#include "query_options.h"

struct privatize_arguments {
    struct query_arguments query;
    const char *out, *own_out;
    uint64_t repeat;
    bool has_repeat, force, idle;
};

/* Reads and checks all options, and fills in the defaults. */
exit_code privatize_options(int argc, char **argv, struct privatize_arguments *arguments);

#endif
