/* SPDX-License-Identifier: Apache-2.0
 * decode --features: ranks the answers to a crowd's messages. */
#ifndef CLI_DECODE_ANSWERS_H
#define CLI_DECODE_ANSWERS_H

#include "cli/query/query_options.h"

struct decode_answers {
    struct query_arguments query; /* pack, features, row, class and json of it */
    const char *own;              /* what privatize --own-out wrote; NULL: all answers are to own messages */
    const char *scope;
    uint64_t top;
};

/* Ranks the answers in these files by the query, into one list, and prints it. */
exit_code decode_answers(struct decode_answers *arguments, const char *const *paths, size_t count);

#endif
