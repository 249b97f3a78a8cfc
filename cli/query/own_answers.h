/* SPDX-License-Identifier: Apache-2.0
 * The answers to the own messages of a bundle: fetched from the relay, opened, ranked. Nothing of them is used before the
 * last tag of the last one is checked. */
#ifndef CLI_OWN_ANSWERS_H
#define CLI_OWN_ANSWERS_H

#include "query_results.h"
#include "sealed_bundle.h"

/* How to rank them; `results` NULL: they are opened and dropped, as a cover's are. */
struct own_answers {
    const struct command *command;
    struct query_results *results;
    const struct private_query *query;
    pml_scope scope;
    size_t top;
    uint64_t size; /* of a sealed answer, as the relay says */
};

/* Waits for all of them. *lost: they will never come; then nothing was printed, and the code is EXIT_OK. */
exit_code own_answers_take(const struct own_answers *own, struct relay_link *link, const struct sealed_bundle *sealed,
                           bool *lost);

#endif
