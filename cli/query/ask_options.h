/* SPDX-License-Identifier: Apache-2.0
 * The options of query: to a server, or through a relay. */
#ifndef CLI_ASK_OPTIONS_H
#define CLI_ASK_OPTIONS_H

#include "query_options.h"

struct ask_arguments {
    struct query_arguments query;
    const char *server, *relay; /* with a relay, the server is only asked for its keys, and may be NULL */
    const char *ca, *ohttp_keys, *token, *scope, *resend, *payloads;
    uint64_t top, retries, timeout, most_bytes, wait;
    bool has_wait, idle, plain_http, force;
    char *kept; /* owned: where a cell is kept without --keep */
};

/* Reads and checks all options, and fills in the defaults. Free them after a failure too. */
exit_code ask_options(int argc, char **argv, struct ask_arguments *arguments);
void ask_options_free(struct ask_arguments *arguments);

#endif
